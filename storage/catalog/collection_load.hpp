#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "storage/catalog/catalog.hpp"
#include "storage/index/row_sorter.hpp"

namespace troupe::storage {

/// Fills a collection that was just made, and its indexes, with documents in the order of their records: pages are
/// written once, and the keys of indexes in their order. Rows have no time and pass no guard of writes, so it is for
/// data that are copied as a whole, before they are of any time (an initial sync's). Nobody else may use the collection
/// until the end; destroying it before leaves a collection that has to be dropped. Keys of unique indexes are not
/// checked. One thread at a time, except for `finishIndex`.
class CollectionLoad {
 public:
  /// `maxKeyBytes`: how much memory the keys may take, but for those of one document. *Blocks.* Errors: ObjectIsBusy;
  /// IllegalOperation: the data of this node have a time, or the collection has documents, is capped, clustered, logged
  /// or a view: it is written to in units of work.
  static StatusWith<std::unique_ptr<CollectionLoad>> begin(Catalog& catalog, const bson::Uuid& collection,
                                                           size_t maxKeyBytes);

  /// *Blocks*, when a page is full. Errors: InvalidIdField; those of keys; the engine's.
  Status add(bson::View document);
  /// There is no room for more keys: the rest is written in units of work, after the end.
  bool isFull() const { return keyBytes_ >= maxKeyBytes_; }
  /// Of the keys that `finishIndex` writes.
  size_t keyBytes() const { return keyBytes_; }

  /// Writes the last page of records, and finds those whose documents came again. *Blocks.* Errors: the engine's.
  Status finishRecords();
  size_t indexes() const { return keys_.size(); }
  /// After `finishRecords`, once for each index: writes its keys. *Blocks.* Several threads may write one each at the
  /// same time, beside nothing else. Errors: the engine's.
  Status finishIndex(size_t index);
  /// When all is finished: removes documents that came again with a later record, as those do that were removed and
  /// inserted while they were read. `unit` has no unit of work open. Errors: WriteConflict and its kin, to be run
  /// again.
  Status removeReplaced(RecoveryUnit& unit);

 private:
  /// Keys of one index, until they are written.
  struct Keys {
    const IndexEntry* index;
    RowSorter rows;
    std::unique_ptr<BulkLoad> load;
  };
  CollectionLoad(CollectionPtr collection, size_t maxKeyBytes);
  Status addKeys(Keys& keys, bson::View document);
  void findReplaced();

  const CollectionPtr collection_;
  const size_t maxKeyBytes_;
  std::unique_ptr<BulkLoad> records_;
  std::vector<Keys> keys_;  ///< that of `_id` first
  size_t keyBytes_ = 0;
  int64_t last_ = 0;  ///< number of the last record
  int64_t bytes_ = 0;
  std::vector<uint32_t> replaced_;  ///< records, in their order
  KeySet scratch_;
  std::string row_, value_;
};

}  // namespace troupe::storage
