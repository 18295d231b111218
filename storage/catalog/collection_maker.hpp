#pragma once
#include <memory>

#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

/// Makes collection objects from catalog entries. Unchanged parts are shared with the previous version: the record
/// store, the state of each index, and whole index entries.
class CollectionMaker {
 public:
  /// `previous` may be null. Tables must exist: NoSuchKey otherwise, InvalidOptions and its like for specs that cannot
  /// be used.
  static StatusWith<CollectionPtr> make(Catalog& catalog, const CatalogEntry& entry, const Collection* previous);
  /// A version of an earlier time, from a row that a snapshot reads (CAT-016). It refuses writes, and while it lives
  /// the reaper keeps its tables, revived when their drop was pending (CAT-026). `latest` may be null.
  /// SnapshotUnavailable when a table is being dropped or is gone.
  static StatusWith<CollectionPtr> remake(Catalog& catalog, const CatalogEntry& entry, const Collection* latest);

 private:
  static StatusWith<std::shared_ptr<Collection>> assemble(Catalog& catalog, const CatalogEntry& entry,
                                                          const Collection* previous);
  static StatusWith<IndexPtr> makeIndex(Catalog& catalog, const CatalogEntry& entry, const IndexMetadata& metadata,
                                        RecordIds kind, const Collection* previous);
  static StatusWith<IndexPtr> makeClusterKey(Catalog& catalog, const Collection& collection);
};

}  // namespace troupe::storage
