#pragma once
#include <string>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// Why the engine could not be opened, and what an operator can do. `code`: of WiredTiger or the system. `text`: what
/// the engine said meanwhile. `reportsDamage`: a line of it says that what was read is not what had been written.
/// Errors: DBPathInUse, OutOfDiskSpace, Unauthorized, TooManyFilesOpen, OperationFailed (memory; a disk that fails),
/// UnsupportedFormat; DataCorruptionDetected and ManualInterventionRequired of damage.
Status openFailure(int code, const std::string& text, bool reportsDamage, const std::string& path);

/// Whether an open failed because of what is on the disk, so that a repair may cut the log.
inline bool isOfDamage(const Status& opened) {
  return opened == ErrorCode::kDataCorruptionDetected || opened == ErrorCode::kManualInterventionRequired;
}

}  // namespace troupe::storage
