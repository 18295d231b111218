#include "storage/oplog/operation_applier.hpp"

#include <string>

#include "storage/catalog/catalog_view.hpp"
#include "storage/catalog/index_builder.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/document_delta.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

namespace {

std::string nameOf(const LoggedOperation& operation) { return std::string(operation.ns); }

Status unlikeTheLog(ErrorCode code, const LoggedOperation& operation, const std::string& finding) {
  return {code,
          "the data of this node are not those of the log: " + finding + " in " + nameOf(operation) +
              ". Save its data directory, empty it and start it again: it then copies the data of another member"};
}

/// The `_id` that an update or a removal names.
StatusWith<bson::Element> idIn(const std::optional<bson::View>& document) {
  const bson::Element id = document ? (*document)["_id"] : bson::Element();
  if (!id.ok()) return Status(ErrorCode::kFailedToParse, "oplog entry: the _id of the document is missing");
  return id;
}

}  // namespace

Status OperationApplier::apply(OperationContext& operation, const OplogEntry& entry, size_t* written) const {
  operation.setWriteMode(WriteMode::kApplied);
  operation.setAppliedTime(entry.opTime.timestamp);
  operation.setReplaying(isReplay());
  RecoveryUnit& unit = operation.recoveryUnit();
  if (entry.operation.kind == OplogKind::kNoop) return Status::OK();
  if (entry.operation.kind == OplogKind::kCommand) {
    TROUPE_ASSIGN(const LoggedCommand command, parseCommand(entry.operation));
    if (const auto* create = std::get_if<LoggedCreateIndex>(&command))
      return buildIndex(unit, entry.operation, *create);
    const auto* build = std::get_if<LoggedIndexBuild>(&command);
    if (build && build->step == LoggedIndexBuild::Step::kCommit) return commitBuild(unit, entry.operation, *build);
    TROUPE_TRY(clearTheWay(unit, entry.operation, command));
    return inUnit(unit, entry.operation, command);
  }
  WriteUnitOfWork work(unit);
  size_t unasked = 0;
  TROUPE_TRY(applyDocument(unit, entry.operation, written ? *written : unasked));
  return work.commit();
}

Status OperationApplier::commitScanned(OperationContext& operation, const OplogEntry& entry,
                                       IndexBuilder& scanned) const {
  operation.setWriteMode(WriteMode::kApplied);
  operation.setAppliedTime(entry.opTime.timestamp);
  const Status done = scanned.commit(operation.recoveryUnit());
  // Its indexes are not there as they were scanned: gone, or ready since an attempt before this one.
  return done == ErrorCode::kIndexBuildAborted ? apply(operation, entry) : done;
}

Status OperationApplier::inUnit(RecoveryUnit& unit, const LoggedOperation& operation,
                                const LoggedCommand& command) const {
  WriteUnitOfWork work(unit);
  TROUPE_TRY(applyCommand(unit, operation, command));
  return work.commit();
}

Status OperationApplier::applyWithin(RecoveryUnit& unit, const LoggedOperation& operation) const {
  if (operation.kind == OplogKind::kNoop) return Status::OK();
  size_t unasked = 0;
  if (operation.kind != OplogKind::kCommand) return applyDocument(unit, operation, unasked);
  TROUPE_ASSIGN(const LoggedCommand command, parseCommand(operation));
  return applyCommand(unit, operation, command);
}

Status OperationApplier::applyDocument(RecoveryUnit& unit, const LoggedOperation& operation, size_t& written) const {
  if (!operation.uuid)
    return {ErrorCode::kFailedToParse, "oplog entry: the UUID of the collection is missing for " + nameOf(operation)};
  TROUPE_ASSIGN(CatalogView* const view, CatalogView::open(catalog_, unit));
  TROUPE_ASSIGN(const CollectionPtr collection, view->find(*operation.uuid));
  if (!collection) return missing(unlikeTheLog(ErrorCode::kNamespaceNotFound, operation, "the collection is missing"));
  if (operation.kind == OplogKind::kInsert) return insert(unit, *collection, operation.object, written);
  if (operation.kind == OplogKind::kUpdate) return update(unit, *collection, operation, written);
  return remove(unit, *collection, operation.object);
}

/// What has been inserted already is replaced: later entries bring it back to where it was. That is the rule where the
/// data may be later than the log, and the exception elsewhere. The documents of a capped collection are in the order
/// of their inserts: one that stayed in its place would come before those that a replay removes and inserts again.
Status OperationApplier::insert(RecoveryUnit& unit, const Collection& collection, bson::View document,
                                size_t& written) const {
  written += document.size();
  if (isReplay() && collection.isCapped()) TROUPE_TRY(remove(unit, collection, document));
  if (isReplay()) return collection.put(unit, document, RecordId()).status();
  return collection.putNew(unit, document).status();
}

Status OperationApplier::update(RecoveryUnit& unit, const Collection& collection, const LoggedOperation& operation,
                                size_t& written) const {
  TROUPE_ASSIGN(const bson::Element id, idIn(operation.other));
  TROUPE_ASSIGN(const auto record, collection.findById(unit, id));
  if (!record) {
    // A later entry removes the document. Without it the delta says nothing; the whole of it may still be needed.
    if (isReplay() && !isDelta(operation.object)) return insert(unit, collection, operation.object, written);
    return missing(unlikeTheLog(ErrorCode::kNoSuchKey, operation, "an updated document is missing"));
  }
  TROUPE_ASSIGN(auto cursor, collection.records().cursor(unit));
  TROUPE_ASSIGN(const bool found, cursor.seekExact(*record));
  if (!found) return unlikeTheLog(ErrorCode::kNoSuchKey, operation, "the record of an _id is missing");
  const bson::Document before(cursor.document());
  if (!isDelta(operation.object)) {
    written += operation.object.size();
    return collection.updateAt(unit, cursor, before, operation.object);
  }
  TROUPE_ASSIGN(const bson::Document after,
                applyDelta(before, operation.object, isReplay() ? kMaxReplayedSize : kMaxDeltaResult));
  written += after.bytes().size();
  return collection.updateAt(unit, cursor, before, after);
}

Status OperationApplier::remove(RecoveryUnit& unit, const Collection& collection, bson::View named) const {
  TROUPE_ASSIGN(const bson::Element id, idIn(named));
  TROUPE_ASSIGN(const auto record, collection.findById(unit, id));
  if (!record) return Status::OK();  // a removal is repeated where a batch is
  bson::Document document;
  TROUPE_TRY(collection.find(unit, *record, [&](bson::View found) { document = bson::Document(found); }).status());
  return collection.remove(unit, *record, document);
}

}  // namespace troupe::storage
