#pragma once
#include "supervisors/daemon/extension.hpp"

namespace troupe::supervisors {

/// All of `main` of a daemon: parses the command line (`trouped --help`), serves until it is told to stop, and returns
/// the exit code of the process.
///
///     int main(int argc, char** argv) {
///       return troupe::supervisors::runDaemon(argc, argv, {.services = {primaryOnly<Lease>("leases",
///       "config.leases")}});
///     }
int runDaemon(int argc, char** argv, Extension extension = {});

}  // namespace troupe::supervisors
