#include "storage/engine/open_failure.hpp"

#include <wiredtiger.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace troupe::storage {
namespace {

bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

Status openFailure(int code, const std::string& text, bool reportsDamage, const std::string& path) {
  std::string cause = text.empty() ? wiredtiger_strerror(code) : text;
  std::ranges::replace(cause, '\n', ' ');
  const std::string directory = "the data directory " + path;
  if (code == EBUSY) {
    return {ErrorCode::kDBPathInUse, directory + " is in use by another process; stop it or choose another directory"};
  }
  if (code == ENOSPC || mentions(cause, std::strerror(ENOSPC))) {
    return {ErrorCode::kOutOfDiskSpace,
            "no space left for " + directory + "; free some space, about 100 MiB for the journal, and start again"};
  }
  if (code == EACCES || code == EPERM || mentions(cause, std::strerror(EACCES))) {
    return {ErrorCode::kUnauthorized, directory + " may not be written; give the server's user that right: " + cause};
  }
  // None of these two is damage: a repair that took them for it would cut the log.
  for (const int limit : {EMFILE, ENFILE}) {
    if (code == limit || mentions(cause, std::strerror(limit)))
      return {ErrorCode::kTooManyFilesOpen,
              directory + " needs more open files than are allowed; raise the limit with `ulimit -n`: " + cause};
  }
  if (code == ENOMEM || mentions(cause, std::strerror(ENOMEM))) {
    return {ErrorCode::kOperationFailed, "no memory left to open " + directory + "; free some and start again"};
  }
  // Nor is what the disk does not give now: it may on another try, or from a copy on another disk.
  for (const int failing : {EIO, EROFS, EDQUOT, ESTALE, ETIMEDOUT}) {
    if (code == failing || mentions(cause, std::strerror(failing)))
      return {ErrorCode::kOperationFailed, "the disk of " + directory +
                                               " fails; copy the directory to another one and start there, restore a "
                                               "backup, or resync from another member: " +
                                               cause};
  }
  if (reportsDamage) {
    return {ErrorCode::kDataCorruptionDetected, directory +
                                                    " is damaged; restore a backup or resync from another member, or "
                                                    "start with --repair: " +
                                                    cause};
  }
  if (mentions(cause, "unsupported") || mentions(cause, "requires") || code == ENOTSUP) {
    return {ErrorCode::kUnsupportedFormat,
            directory + " was written by another version of the engine; start that version: " + cause};
  }
  return {ErrorCode::kManualInterventionRequired,
          directory + " is damaged; restore a backup or resync from another member: " + cause};
}

}  // namespace troupe::storage
