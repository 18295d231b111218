#pragma once
#include <span>
#include <vector>

#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"  // what commands work with
#include "supervisors/tree/service.hpp"

namespace troupe::supervisors {

/// What others add to the daemon; docs/extending.md builds one.
struct Extension {
  std::vector<Service> services;                     ///< on every node, under /node/services
  std::span<const commands::Command> commands = {};  ///< for drivers; static
};

/// All of `main` of a daemon: parses the command line (`trouped --help`), serves until it is told to stop, and returns
/// the exit code of the process. Once in a process.
///
///     int main(int argc, char** argv) {
///       return troupe::supervisors::runDaemon(argc, argv, {.services = {primaryOnly<Lease>("leases",
///       "config.leases")}});
///     }
int runDaemon(int argc, char** argv, Extension extension = {});

}  // namespace troupe::supervisors
