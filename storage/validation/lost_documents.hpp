#pragma once
#include <cstdint>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/catalog/collection.hpp"

namespace troupe::storage {

/// Documents that an index knows and the records lack.
struct MissingRecords {
  int64_t count = 0;
  std::vector<bson::Document> first;  ///< keys of the first few in the index
};
/// *Blocks.* The index must be sound. It tells of all documents that it holds: neither a sparse nor a partial one knows
/// of the others.
StatusWith<MissingRecords> missingRecords(RecoveryUnit& unit, const Collection& collection, const IndexEntry& index);

/// Empties an index and fills it from the records. Keys that a unique index holds already stay out: validation names
/// them. Opens units of work of its own. *Blocks.*
Status rebuildIndex(RecoveryUnit& unit, const Collection& collection, const IndexEntry& index);

}  // namespace troupe::storage
