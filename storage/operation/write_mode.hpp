#pragma once
#include <cstdint>

namespace troupe::storage {

/// How the log of operations treats what an operation writes.
enum class WriteMode : uint8_t {
  kReplicated,     ///< stamped, logged, and only with the right to write
  kUnreplicated,   ///< of this node's own tables only: neither stamped nor fenced
  kFromMigration,  ///< as replicated; observers see that the documents only move between shards
  kApplied,        ///< each with a given time: it and the log entry come from the node that wrote first
  kAside,          ///< a row beside another unit's writes, at the time that `timeAside` gave (write_slots.hpp)
};

}  // namespace troupe::storage
