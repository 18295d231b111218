#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "messaging/errors/status.hpp"

namespace troupe::supervisors {

/// Files of a member of a local replica set, with absolute paths.
struct MemberFiles {
  std::string data;    ///< its data directory
  std::string log;     ///< of the daemon
  std::string errors;  ///< what it writes to standard error: why it did not start
  std::string pid;     ///< its process id; left behind by a kill
};

/// The process that serves a data directory, by its file of the process id. A number that another process has got since
/// is none: the process must have been started on that data directory.
std::optional<pid_t> runningMember(const MemberFiles& files);

/// Starts a program that outlives this process and its terminal, with the data directory among its arguments, and notes
/// its process id. Errors: InternalError, FileNotOpen.
Status startMember(const std::vector<std::string>& arguments, const MemberFiles& files);

/// Sends a signal to a member and waits for its end; gives whether it was running. Errors: InternalError,
/// ExceededTimeLimit.
StatusWith<bool> endMember(const MemberFiles& files, int signal, std::chrono::milliseconds patience);

/// The last line that a member has written to standard error; empty: none.
std::string lastError(const MemberFiles& files);

}  // namespace troupe::supervisors
