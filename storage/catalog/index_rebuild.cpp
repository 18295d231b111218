#include "storage/catalog/index_rebuild.hpp"

#include "storage/catalog/catalog_publish.hpp"
#include "storage/catalog/collection_maker.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

Status IndexRebuild::start(RecoveryUnit& unit) {
  for (const IndexPtr& index : collection_->indexes())
    if (!index->ready)
      return {ErrorCode::kBackgroundOperationInProgressForNamespace,
              "the index " + index->spec.name + " of " + collection_->ns().toString() + " is being built"};
  WriteUnitOfWork work(unit);
  CatalogEntry entry = collection_->toEntry();
  entry.indexes.clear();
  for (const IndexPtr& index : collection_->indexes()) {
    TROUPE_ASSIGN(auto made, createIndexTable(catalog_, unit, entry.ns, index->spec, std::nullopt));
    entry.indexes.push_back(std::move(made));
  }
  TROUPE_ASSIGN(auto next, CollectionMaker::make(catalog_, entry, collection_.get()));
  TROUPE_TRY(work.commit());
  next_ = std::move(next);
  last_ = RecordId();
  return Status::OK();
}

/// Multikey flags gather in the state of the new indexes, and are written with their places.
Status IndexRebuild::indexOne(RecoveryUnit& unit, const RecordId& id, bson::View document) const {
  KeySet keys;
  for (const IndexPtr& index : next_->indexes()) {
    if (!index->covers(document)) continue;
    TROUPE_TRY(index->access->generator()
                   .generate(document, keys, keyLimits(unit))
                   .withContext("the record " + id.toString() + " in the index " + index->spec.name));
    if (keys.multikey) index->state->setVisible(keys.paths);
    TROUPE_TRY(index->access->insertKeys(unit, keys, id, {.isNew = false}));
  }
  return Status::OK();
}

StatusWith<bool> IndexRebuild::step(RecoveryUnit& unit, int maxDocuments) {
  WriteUnitOfWork work(unit);
  RecordId last = last_;
  TROUPE_ASSIGN(auto cursor, collection_->records().cursor(unit));
  TROUPE_ASSIGN(bool found, cursor.seekBehind(last));
  for (int documents = 0; found && documents < maxDocuments; ++documents) {
    last = cursor.id();
    TROUPE_TRY(indexOne(unit, last, cursor.document()));
    TROUPE_ASSIGN(found, cursor.next());
  }
  cursor.save();
  TROUPE_TRY(work.commit());
  last_ = last;
  return !found;
}

StatusWith<CollectionPtr> IndexRebuild::commit(RecoveryUnit& unit) {
  WriteUnitOfWork work(unit);
  TROUPE_ASSIGN(auto published, publishVersion(catalog_, unit, next_->toEntry(), collection_));
  for (const IndexPtr& old : collection_->indexes()) dropTableOnCommit(catalog_, unit, old->ident, old->access);
  TROUPE_TRY(work.commit());
  next_.reset();
  return published;
}

Status IndexRebuild::abort(RecoveryUnit& unit) {
  if (!next_) return Status::OK();
  WriteUnitOfWork work(unit);
  for (const IndexPtr& index : next_->indexes()) dropTableOnCommit(catalog_, unit, index->ident, index->access);
  TROUPE_TRY(work.commit());
  next_.reset();
  return Status::OK();
}

}  // namespace troupe::storage
