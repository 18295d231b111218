#pragma once
#include <cstdint>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/catalog/collection.hpp"

namespace troupe::storage {

/// Documents that the `_id` index knows and the records lack.
struct MissingRecords {
  int64_t count = 0;
  std::vector<bson::Document> first;  ///< keys of the first few
};
/// *Blocks.* The collection must have an `_id` index that is sound.
StatusWith<MissingRecords> missingRecords(RecoveryUnit& unit, const Collection& collection);

/// Empties an index and fills it from the records. Keys that a unique index holds already stay out: validation names
/// them. Opens units of work of its own. *Blocks.*
Status rebuildIndex(RecoveryUnit& unit, const Collection& collection, const IndexEntry& index);

}  // namespace troupe::storage
