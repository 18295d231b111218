#pragma once
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

/// The number of the log's file in which the last checkpoint of the metadata lies; 0 where the turtle file names none.
uint32_t checkpointInLog(const std::string& directory);

}  // namespace troupe::storage
