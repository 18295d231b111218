#pragma once
#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

/// Makes all indexes of a collection anew from its documents: into new tables, which take the places of the old ones in
/// one step. Until then the collection has its old indexes, also after a crash, after which the next start removes the
/// new tables. For a node that stands alone: other members do not hear of it. Used by one thread at a time, by a caller
/// that holds the collection's exclusive lock throughout; every call opens its own units of work on `unit`, which must
/// have none open. Each may fail with WriteConflict, to be called again.
class IndexRebuild {
 public:
  /// `collection`: its latest version.
  IndexRebuild(Catalog& catalog, CollectionPtr collection) : catalog_(catalog), collection_(std::move(collection)) {}

  /// Makes the tables. Errors: BackgroundOperationInProgressForNamespace (an index is being built).
  Status start(RecoveryUnit& unit);
  /// Indexes up to `maxDocuments` more; true at the end. Errors: DuplicateKey and errors of keys: only `abort` may
  /// follow.
  StatusWith<bool> step(RecoveryUnit& unit, int maxDocuments);
  /// Puts the new tables in place, after the last step. Returns the collection's next version.
  StatusWith<CollectionPtr> commit(RecoveryUnit& unit);
  /// Drops the new tables. Nothing to do before `start` and after `commit`.
  Status abort(RecoveryUnit& unit);

 private:
  Status indexOne(RecoveryUnit& unit, const RecordId& id, bson::View document) const;

  Catalog& catalog_;
  const CollectionPtr collection_;
  CollectionPtr next_;  ///< with the new tables, not published; null when there are none
  RecordId last_;
};

}  // namespace troupe::storage
