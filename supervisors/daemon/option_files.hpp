#pragma once
#include "messaging/errors/status.hpp"
#include "supervisors/daemon/options.hpp"

namespace troupe::supervisors {

/// Checks the files that options name, before anything is opened: the folders of the log file and of the process id's
/// file exist (they are not created), both can be written, the key file and the certificates can be used. Main thread.
/// Errors: InvalidOptions, with the name of the option.
Status checkFiles(const Options& options);

/// Only the log file of these.
Status checkLogFile(const Options& options);

}  // namespace troupe::supervisors
