#include "storage/sessions/session_tables.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "messaging/errors/invariant.hpp"
#include "storage/keys/key_string.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/sessions/retryable_writes.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

namespace {

/// Has the writes of its scope carry a given time, as those of an applier do: they take no slots and are not logged.
class AtTimeOfEntry {
 public:
  AtTimeOfEntry(OperationContext& operation, bson::Timestamp time)
      : operation_(operation), mode_(operation.writeMode()), time_(operation.appliedTime()) {
    operation_.setWriteMode(WriteMode::kApplied);
    operation_.setAppliedTime(time);
  }
  ~AtTimeOfEntry() {
    operation_.setWriteMode(mode_);
    operation_.setAppliedTime(time_);
  }
  AtTimeOfEntry(const AtTimeOfEntry&) = delete;

 private:
  OperationContext& operation_;
  const WriteMode mode_;
  const std::optional<bson::Timestamp> time_;
};

/// Two that put documents of a session beside each other would each miss what the other has done.
void requireAlone(const OperationContext& operation, bson::View session) {
  const bool applies = operation.writeMode() == WriteMode::kApplied;
  const bool has = operation.retryable && operation.retryable->session().bytes() == session.bytes();
  invariant(applies || has, "records are put by the operation that has the session, or from the log");
}

/// `_id` of a session's document: an element is a part of a document.
bson::Document keyOf(bson::View session) { return bson::doc("_id", session); }

StatusWith<bson::Document> documentAt(const Collection& collection, RecoveryUnit& unit, const RecordId& id) {
  bson::Document found;
  TROUPE_TRY(collection.find(unit, id, [&](bson::View document) { found = bson::Document(document); }).status());
  return found;
}

bool isOfFamily(const bson::Element& session, bson::View parent) {
  if (!session.is(bson::Type::kDocument)) return false;
  for (const bson::Element& part : parent)
    if (!session.asDocument()[part.name()].identical(part)) return false;
  return true;
}

/// Of a session's or an image's document.
bson::Timestamp timeOf(bson::View document) {
  const bson::Element last = document["lastWriteOpTime"];
  const bson::Element time = last.is(bson::Type::kDocument) ? last.asDocument()["ts"] : document["ts"];
  return time.is(bson::Type::kTimestamp) ? time.asTimestamp() : bson::Timestamp();
}

}  // namespace

/// By a hash, for the times of a session may lie evenly apart: the same on every member, and without a count.
bool SessionTables::startsRecord(bson::Timestamp time) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  const uint64_t mixed = time.asUint64() * kFactor;
  return (mixed ^ mixed >> 32) * kFactor < UINT64_MAX / kVersionsOfARecord;
}

Status SessionTables::putDocument(RecoveryUnit& unit, const Namespace& ns, bson::Document document,
                                  bson::Timestamp time, Place& place) const {
  const CollectionPtr collection = catalog_.find(ns);
  if (!collection) return {ErrorCode::kNamespaceNotFound, "the collection " + ns.toString() + " has been dropped"};
  requireAlone(*unit.operation(), document["_id"].asDocument());
  const AtTimeOfEntry at(*unit.operation(), time);
  std::optional<RecordCursor> stands;
  if (place.document.empty()) TROUPE_TRY(locate(*collection, unit, document["_id"], place, stands));
  const bool isThere = place.id.ok();
  if (isThere && timeOf(place.document) >= time) return Status::OK();
  if (isThere && !startsRecord(time)) {
    // Where it was looked for just now the cursor still stands on it.
    TROUPE_TRY(stands ? collection->updateAt(unit, *stands, place.document, document)
                      : collection->update(unit, place.id, place.document, document));
  } else {
    stands.reset();
    if (isThere) TROUPE_TRY(collection->remove(unit, place.id, place.document));
    TROUPE_ASSIGN(place.id, collection->insert(unit, document));
  }
  place.document = std::move(document);
  return Status::OK();
}

/// A record that was guessed right spares the way through the index.
Status SessionTables::locate(const Collection& collection, RecoveryUnit& unit, const bson::Element& session,
                             Place& place, std::optional<RecordCursor>& stands) {
  TROUPE_ASSIGN(stands, collection.records().cursor(unit));
  const RecordId guess = std::exchange(place.id, {});
  bool found = false;
  if (guess.ok()) {
    TROUPE_ASSIGN(found, stands->seekExact(guess));
    found = found && stands->document()["_id"].identical(session);
  }
  if (!found) {
    TROUPE_ASSIGN(const auto record, collection.findById(unit, session));
    if (!record) return Status::OK();
    TROUPE_ASSIGN(found, stands->seekExact(*record));
    if (!found) return {ErrorCode::kInternalError, "the index of _id names a record that is not there; run validate"};
  }
  place = {stands->id(), bson::Document(stands->document())};
  return Status::OK();
}

Status SessionTables::put(RecoveryUnit& unit, const SessionRecord& record, Place& place) const {
  return putDocument(unit, transactionsNamespace(), record.toDocument(), record.lastWrite.timestamp, place);
}

Status SessionTables::put(RecoveryUnit& unit, const ImageRecord& record, Place& place) const {
  return putDocument(unit, imagesNamespace(), record.toDocument(), record.time, place);
}

StatusWith<bson::Document> SessionTables::findIn(RecoveryUnit& unit, const Namespace& ns, bson::View session) const {
  const CollectionPtr collection = catalog_.find(ns);
  if (!collection) return bson::Document();
  const bson::Document key = keyOf(session);
  TROUPE_ASSIGN(const auto record, collection->findById(unit, key["_id"]));
  if (!record) return bson::Document();
  return documentAt(*collection, unit, *record);
}

StatusWith<bson::Document> SessionTables::find(RecoveryUnit& unit, bson::View session) const {
  return findIn(unit, transactionsNamespace(), session);
}

StatusWith<int64_t> SessionTables::highestNumber(RecoveryUnit& unit, bson::View parent) const {
  TROUPE_ASSIGN(const bson::Document found, find(unit, parent));
  TROUPE_ASSIGN(const int64_t ofChild, highestNumberOfChildren(unit, parent));
  if (found.empty()) return ofChild;
  TROUPE_ASSIGN(const SessionRecord record, SessionRecord::parse(found));
  return std::max(record.txnNumber, ofChild);
}

/// Children {id, uid, txnNumber, txnUUID} lie behind their parent in the index of `_id`, in the order of the numbers,
/// also those of the greatest number.
StatusWith<int64_t> SessionTables::highestNumberOfChildren(RecoveryUnit& unit, bson::View parent) const {
  constexpr int64_t kNone = -1;
  const CollectionPtr collection = catalog_.find(transactionsNamespace());
  if (!collection || !collection->idIndex()) return kNone;
  bson::Builder last;
  last.appendAll(parent).append("txnNumber", std::numeric_limits<int64_t>::max()).append("txnUUID", bson::MaxKey{});
  const bson::Document id = last.finish();
  const bson::Document wanted = keyOf(id);
  key_string::Builder key;
  key.append(wanted["_id"]);
  TROUPE_ASSIGN(IndexCursor cursor, collection->idIndex()->access->cursor(unit, /*forward=*/false));
  TROUPE_ASSIGN(const bool isThere, cursor.seek(key.bytes(), /*inclusive=*/true));
  if (!isThere) return kNone;
  TROUPE_ASSIGN(const bson::Document before, documentAt(*collection, unit, cursor.id()));
  return isOfFamily(before["_id"], parent) ? before["_id"].asDocument()["txnNumber"].toInt64(kNone) : kNone;
}

StatusWith<std::vector<bson::Document>> SessionTables::childrenOf(RecoveryUnit& unit, bson::View parent,
                                                                  int64_t number) const {
  std::vector<bson::Document> children;
  const CollectionPtr collection = catalog_.find(transactionsNamespace());
  if (!collection || !collection->idIndex()) return children;
  bson::Builder first;
  first.appendAll(parent).append("txnNumber", number);
  const bson::Document id = first.finish();
  const bson::Document wanted = keyOf(id);
  key_string::Builder key;
  key.append(wanted["_id"]);
  TROUPE_ASSIGN(IndexCursor cursor, collection->idIndex()->access->cursor(unit, /*forward=*/true));
  TROUPE_ASSIGN(bool isThere, cursor.seek(key.bytes(), /*inclusive=*/true));
  while (isThere) {
    TROUPE_ASSIGN(const bson::Document record, documentAt(*collection, unit, cursor.id()));
    const bson::Element found = record["_id"];
    if (!isOfFamily(found, parent) || found.asDocument()["txnNumber"].toInt64(-1) != number) break;
    children.emplace_back(found.asDocument());
    TROUPE_ASSIGN(isThere, cursor.next());
  }
  return children;
}

StatusWith<bson::Document> SessionTables::findImage(RecoveryUnit& unit, bson::View session) const {
  return findIn(unit, imagesNamespace(), session);
}

}  // namespace troupe::storage
