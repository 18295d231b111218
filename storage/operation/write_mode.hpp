#pragma once
#include <cstdint>

namespace troupe::storage {

/// How the log of operations treats what an operation writes.
enum class WriteMode : uint8_t {
  kReplicated,     ///< stamped, logged, and only with the right to write
  kUnreplicated,   ///< this node's own: neither stamped nor fenced
  kFromMigration,  ///< as replicated; observers see that the documents only move between shards
  kApplied,        ///< the times and the log entry come from the node that wrote first
};

}  // namespace troupe::storage
