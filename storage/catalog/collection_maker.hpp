#pragma once
#include <memory>

#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

/// Makes collection objects from catalog entries. What did not change is shared with the previous version: the record
/// store, the state of each index, and whole index entries.
class CollectionMaker {
 public:
  /// `previous` may be null. Tables must exist: NoSuchKey otherwise, InvalidOptions and its like for specs that cannot
  /// be used.
  static StatusWith<CollectionPtr> make(Catalog& catalog, const CatalogEntry& entry, const Collection* previous);

 private:
  static StatusWith<IndexPtr> makeIndex(Catalog& catalog, const CatalogEntry& entry, const IndexMetadata& metadata,
                                        const Collection* previous);
};

}  // namespace troupe::storage
