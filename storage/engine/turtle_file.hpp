#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "messaging/errors/status.hpp"

namespace troupe::storage {

/// Looks at the engine's first file, WiredTiger.turtle, before the engine does. It says where the engine's metadata
/// begin and how they are to be read, has no checksum, and is taken at its word: without it the engine would begin
/// anew beside the tables that are there, and it reads metadata by the format that the file names into variables of its
/// stack, whatever their size. All other damage the engine finds itself. A directory without tables needs no such file.
/// Requires the directory lock. Errors: ManualInterventionRequired (it is missing), DataCorruptionDetected.
Status checkTurtleFile(const std::string& directory);

/// A place in the engine's log: number of the file, and bytes within it.
struct LogPlace {
  uint32_t file = 0;
  size_t offset = 0;
};
/// From where on a recovery reads the log, as the file says; its beginning where it does not.
LogPlace checkpointInLog(const std::string& directory);

}  // namespace troupe::storage
