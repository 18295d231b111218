#include "storage/catalog/collection.hpp"

#include <algorithm>

#include "messaging/errors/invariant.hpp"
#include "storage/catalog/catalog_changes.hpp"
#include "storage/keys/key_string.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/write_slots.hpp"
#include "storage/sessions/retryable_writes.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {
namespace {

bool isApplied(const RecoveryUnit& unit) {
  return unit.operation() && unit.operation()->writeMode() == WriteMode::kApplied;
}

/// An index that is not ready may be under construction by a scan beside us, and may never be: it refuses no write, and
/// what counts are the duplicates that are there when its build commits. What is applied was unique where it was
/// written: entries that are applied side by side, or again, may meet in between.
IndexAccess::WriteOptions writeOptions(const RecoveryUnit& unit, const IndexEntry& index) {
  return {.checkUnique = !isApplied(unit),
          .building = !index.ready,
          .isNew = index.ready,
          .suspects = index.ready ? nullptr : &index.state->suspects};
}

/// What a unit of work removes from a capped collection at most, beyond as much as it adds itself, in documents and in
/// bytes, whichever is reached first; but as many documents as it adds in any case. A collection may be
/// far over its limits: collMod has lowered them, or a document of 16 MB takes the place of a hundred thousand. All of
/// it in one transaction would hold its thread for minutes, where no kill or deadline is looked at, and might not fit
/// the engine's cache; then every later insert would fail likewise. A thousand documents take some ten milliseconds.
constexpr int64_t kSurplusDocuments = 1000;
constexpr int64_t kSurplusBytes = int64_t{4} << 20;

std::optional<int32_t> statementOf(const RecoveryUnit& unit) {
  return unit.operation() ? unit.operation()->statementId(0) : std::nullopt;
}

/// The writers of a capped collection take turns: two of them would remove the same oldest documents. Work whose locks
/// another operation holds has no locker.
void requireAlone(const RecoveryUnit& unit, const Namespace& ns) {
  OperationContext* const operation = unit.operation();
  if (!operation || operation->lockerId() == 0) return;
  const std::string name = ns.toString();
  const auto isHeld = [&](const ResourceId& resource) { return operation->locker()->modeOf(resource) == LockMode::kX; };
  invariant(
      isHeld(ResourceId::collection(name)) || isHeld(ResourceId::database(ns.db())) || isHeld(ResourceId::global()),
      "an insert into a capped collection holds its exclusive lock");
}

}  // namespace

KeyLimits keyLimits(const RecoveryUnit& unit) {
  if (isApplied(unit)) return KeyLimits::none();
  return {.operation = unit.operation()};
}

Status keysOf(const IndexEntry& index, bson::View document, const KeyLimits& limits, Unindexable unindexable,
              KeySet& out) {
  Status made = index.access->generator().generate(document, out, limits);
  if (unindexable == Unindexable::kRefused || !KeyGenerator::isUnindexable(made)) return made;
  out.clear();
  return Status::OK();
}

Status keysToAdd(const RecoveryUnit& unit, const IndexEntry& index, bson::View document, KeySet& out) {
  const bool mayLack = isApplied(unit) && (!index.ready || unit.operation()->isReplaying());
  const Unindexable unindexable = mayLack ? Unindexable::kHasNoKeys : Unindexable::kRefused;
  return keysOf(index, document, keyLimits(unit), unindexable, out);
}

Status keysToRemove(const IndexEntry& index, bson::View document, KeySet& out) {
  return keysOf(index, document, KeyLimits::none(), Unindexable::kHasNoKeys, out);
}

MultikeyPaths IndexState::paths(size_t fields) const {
  MultikeyPaths paths(fields);
  for (size_t i = 0; i < fields; ++i) paths[i] = path(i);
  return paths;
}

bool IndexState::durable(const MultikeyPaths& paths) const {
  if (!durable_.load(std::memory_order_acquire)) return false;
  for (size_t i = 0; i < paths.size(); ++i)
    if (paths[i] & ~durablePaths_[i].load(std::memory_order_acquire)) return false;
  return true;
}

void IndexState::setVisible(const MultikeyPaths& paths) {
  for (size_t i = 0; i < paths.size(); ++i) paths_[i].fetch_or(paths[i], std::memory_order_acq_rel);
  multikey_.store(true, std::memory_order_release);
}

void IndexState::setDurable(const MultikeyPaths& paths) {
  setVisible(paths);
  for (size_t i = 0; i < paths.size(); ++i) durablePaths_[i].fetch_or(paths[i], std::memory_order_acq_rel);
  durable_.store(true, std::memory_order_release);
}

const IndexEntry* Collection::findIndex(std::string_view name) const {
  for (const auto& index : indexes_)
    if (index->spec.name == name) return index.get();
  return nullptr;
}

const IndexEntry* Collection::findIndexByKey(bson::View keyPattern) const {
  for (const auto& index : indexes_)
    if (index->spec.key.view() == keyPattern) return index.get();
  return nullptr;
}

Status Collection::checkWritable(const RecoveryUnit& unit) const {
  if (superseded()) [[unlikely]]
    return {ErrorCode::kWriteConflict, "the catalog changed: a later version of " + ns_.toString() + " exists"};
  if (records_ && records_->kind() == RecordIds::kTimes) [[unlikely]]
    return {ErrorCode::kIllegalOperation, ns_.toString() + " is the log of the replica set: only the server writes it"};
  const bool isClients = unit.operation() && unit.operation()->origin() == OperationOrigin::kClient;
  if (isClients && ns_.isStateOfMember()) [[unlikely]]
    return {ErrorCode::kIllegalOperation, ns_.toString() + " is state of this member: only the server writes it"};
  return Status::OK();
}

Status Collection::noteMultikey(RecoveryUnit& unit, const IndexEntry& index, const KeySet& keys) const {
  if (!keys.multikey || index.state->durable(keys.paths)) return Status::OK();
  index.state->setVisible(keys.paths);
  const CatalogChanges* changes = CatalogChanges::in(unit);
  if (changes && changes->touches(catalogId_)) {
    // The row is this unit's own, not committed yet: another transaction could not write it.
    TROUPE_TRY(durable_->setMultikey(unit, catalogId_, index.spec.name, keys.paths));
    unit.onCommit([state = index.state, paths = keys.paths](auto) { state->setDurable(paths); });
    return Status::OK();
  }
  TROUPE_TRY(durable_->setMultikeyAside(unit, catalogId_, index.spec.name, keys.paths));
  index.state->setDurable(keys.paths);
  return Status::OK();
}

Status Collection::indexDocument(RecoveryUnit& unit, const IndexEntry& index, const RecordId& id, bson::View document,
                                 KeySet& scratch, Origin origin) const {
  if (!index.covers(document)) return Status::OK();
  TROUPE_TRY(keysToAdd(unit, index, document, scratch));
  TROUPE_TRY(noteMultikey(unit, index, scratch));
  IndexAccess::WriteOptions options = writeOptions(unit, index);
  options.isNew = options.isNew && origin == Origin::kNew;
  return index.access->insertKeys(unit, scratch, id, options);
}

RecordId Collection::clusteredId(const bson::Element& id) const {
  key_string::Builder key;
  key.append(id, collator());
  return RecordId(std::string(key.bytes()));
}

StatusWith<RecordId> Collection::insertRecord(RecoveryUnit& unit, bson::View document) const {
  if (!clusterKey_) return records_->insert(unit, document.bytes());
  RecordId id = clusteredId(document["_id"]);
  Status status = records_->insertAt(unit, id, document.bytes());
  if (status == ErrorCode::kDuplicateKey) {
    KeySet key;
    TROUPE_TRY(clusterKey_->access->generator().generate(document, key));
    return clusterKey_->access->duplicateKeyError(key.keys.front());
  }
  TROUPE_TRY(status);
  return id;
}

StatusWith<RecordId> Collection::insertDocument(RecoveryUnit& unit, bson::View document, KeySet& scratch,
                                                Origin origin) const {
  TROUPE_ASSIGN(RecordId id, insertRecord(unit, document));
  for (const auto& index : indexes_) TROUPE_TRY(indexDocument(unit, *index, id, document, scratch, origin));
  return id;
}

StatusWith<RecordId> Collection::insertByKey(RecoveryUnit& unit, bson::View document, KeySet& scratch) const {
  if (clusterKey_) return insertDocument(unit, document, scratch);
  TROUPE_ASSIGN(const RecordId id, records_->reserveId(unit));
  TROUPE_TRY(indexDocument(unit, *idIndex_, id, document, scratch));
  const Status added = records_->insertAt(unit, id, document.bytes());
  if (added == ErrorCode::kDuplicateKey)  // not what `putNew` may mend: the record is another document's
    return Status(ErrorCode::kInternalError,
                  "the number of a new record of " + ns_.toString() + " is taken; run validate");
  TROUPE_TRY(added);
  for (const auto& index : indexes_)
    if (index.get() != idIndex_) TROUPE_TRY(indexDocument(unit, *index, id, document, scratch));
  return id;
}

StatusWith<RecordId> Collection::insert(RecoveryUnit& unit, bson::View document) const {
  return insertFrom(unit, document, Origin::kNew);
}

StatusWith<RecordId> Collection::insertCopy(RecoveryUnit& unit, bson::View document) const {
  return insertFrom(unit, document, Origin::kCopied);
}

StatusWith<RecordId> Collection::insertFrom(RecoveryUnit& unit, bson::View document, Origin origin) const {
  TROUPE_TRY(checkWritable(unit));
  TROUPE_ASSIGN(const WriteSlots slots, reserveSlots(unit, ns_, 1));
  TROUPE_TRY(slots.stamp(unit, 0));
  KeySet scratch;
  TROUPE_ASSIGN(const RecordId id, insertDocument(unit, document, scratch, origin));
  if (!observers_.empty()) TROUPE_TRY(tellInserted(unit, {&document, 1}, {&id, 1}, slots));
  if (options_.capped) TROUPE_TRY(trimCapped(unit, {&document, 1}, id));
  return id;
}

/// All records, then all keys of one index after the other: each table is visited once.
Status Collection::insertTogether(RecoveryUnit& unit, std::span<const bson::View> documents,
                                  std::span<RecordId> ids) const {
  TROUPE_TRY(records_->insertMany(unit, documents, ids));
  KeySet scratch;
  for (const auto& index : indexes_)
    for (size_t i = 0; i < documents.size(); ++i)
      TROUPE_TRY(indexDocument(unit, *index, ids[i], documents[i], scratch));
  return Status::OK();
}

Status Collection::insertMany(RecoveryUnit& unit, std::span<const bson::View> documents,
                              std::span<RecordId> ids) const {
  if (documents.empty()) return Status::OK();
  TROUPE_TRY(checkWritable(unit));
  TROUPE_ASSIGN(const WriteSlots slots, reserveSlots(unit, ns_, documents.size()));
  std::vector<RecordId> own;
  if (ids.empty()) {
    own.resize(documents.size());
    ids = own;
  }
  if (clusterKey_ || slots.hasTimes()) {
    KeySet scratch;
    for (size_t i = 0; i < documents.size(); ++i) {
      TROUPE_TRY(slots.stamp(unit, i));
      TROUPE_ASSIGN(ids[i], insertDocument(unit, documents[i], scratch));
    }
  } else {
    TROUPE_TRY(insertTogether(unit, documents, ids));
  }
  if (!observers_.empty()) TROUPE_TRY(tellInserted(unit, documents, ids, slots));
  return options_.capped ? trimCapped(unit, documents, ids[documents.size() - 1]) : Status::OK();
}

Status Collection::tellInserted(RecoveryUnit& unit, std::span<const bson::View> documents,
                                std::span<const RecordId> ids, const WriteSlots& slots) const {
  std::vector<int32_t> statements;
  const OperationContext* operation = unit.operation();
  for (size_t i = 0; i < documents.size(); ++i) {
    const auto statement = operation ? operation->statementId(i) : std::nullopt;
    if (!statement) break;
    statements.push_back(*statement);
  }
  const InsertOperation inserted{.documents = documents, .ids = ids, .slots = slots, .statements = statements};
  for (WriteObserver* observer : observers_) TROUPE_TRY(observer->onInsert(unit, *this, inserted));
  return Status::OK();
}

Status Collection::update(RecoveryUnit& unit, const RecordId& id, bson::View before, bson::View after) const {
  TROUPE_ASSIGN(const OpTime slot, prepareUpdate(unit, id, before, after));
  TROUPE_TRY(records_->update(unit, id, after.bytes(), before.size()));
  return tellUpdated(unit, id, before, after, slot);
}

StatusWith<RecordId> Collection::put(RecoveryUnit& unit, bson::View document, const RecordId& guess) const {
  TROUPE_ASSIGN(auto cursor, records_->cursor(unit));
  bool found = false;
  if (guess.ok()) {
    TROUPE_ASSIGN(found, cursor.seekExact(guess));
    found = found && cursor.document()["_id"].identical(document["_id"]);
  }
  if (!found) {
    TROUPE_ASSIGN(const auto id, findById(unit, document["_id"]));
    if (!id) return insert(unit, document);
    TROUPE_ASSIGN(found, cursor.seekExact(*id));
    if (!found)
      return Status(ErrorCode::kInternalError, "the index of _id names a record that is not there; run validate");
  }
  const bson::Document before(cursor.document());
  TROUPE_TRY(updateAt(unit, cursor, before, document));
  return cursor.id();
}

Status Collection::updateAt(RecoveryUnit& unit, RecordCursor& at, bson::View before, bson::View after) const {
  TROUPE_ASSIGN(const OpTime slot, prepareUpdate(unit, at.id(), before, after));
  TROUPE_TRY(records_->update(unit, at, after.bytes()));
  return tellUpdated(unit, at.id(), before, after, slot);
}

StatusWith<RecordId> Collection::putNew(RecoveryUnit& unit, bson::View document) const {
  if (!hasIdKey()) return put(unit, document, RecordId());
  TROUPE_TRY(checkWritable(unit));
  TROUPE_ASSIGN(const WriteSlots slots, reserveSlots(unit, ns_, 1));
  TROUPE_TRY(slots.stamp(unit, 0));
  KeySet scratch;
  auto inserted = insertByKey(unit, document, scratch);
  if (inserted.status() == ErrorCode::kDuplicateKey) return put(unit, document, RecordId());
  if (!inserted.isOK()) return inserted;
  if (!observers_.empty()) TROUPE_TRY(tellInserted(unit, {&document, 1}, {&*inserted, 1}, slots));
  if (options_.capped) TROUPE_TRY(trimCapped(unit, {&document, 1}, *inserted));
  return inserted;
}

Status Collection::tellUpdated(RecoveryUnit& unit, const RecordId& id, bson::View before, bson::View after,
                               const OpTime& slot) const {
  if (observers_.empty()) return Status::OK();
  const UpdateOperation updated{.id = id,
                                .before = before,
                                .after = after,
                                .slot = slot,
                                .statement = statementOf(unit),
                                .images = imagesOf(unit, false, statementOf(unit))};
  for (WriteObserver* observer : observers_) TROUPE_TRY(observer->onUpdate(unit, *this, updated));
  return Status::OK();
}

/// The same for the whole of a write: neither the session's wish nor the options change within it.
ImagePlan Collection::imagesOf(const RecoveryUnit& unit, bool removes, std::optional<int32_t> statement) const {
  if (!writesAreReplicated(unit)) return {};
  ImageNeeds needs{.removes = removes, .records = options_.recordPreImages};
  const OperationContext& operation = *unit.operation();
  if (operation.retryable && statement) {
    needs.retry = operation.retryImage;
    needs.aside = operation.retryable->keepsImagesAside();
  }
  return planImages(needs);
}

StatusWith<OpTime> Collection::prepareUpdate(RecoveryUnit& unit, const RecordId& id, bson::View before,
                                             bson::View after) const {
  TROUPE_TRY(checkWritable(unit));
  if (options_.capped && !isApplied(unit) && after.size() > before.size() &&
      records_->dataBytes() + after.size() - before.size() > options_.cappedSize)
    return Status(ErrorCode::kCannotGrowDocumentInCappedNamespace,
                  "Cannot change the size of a document in a capped collection: " + std::to_string(before.size()) +
                      " != " + std::to_string(after.size()));
  if (clusterKey_ && clusteredId(after["_id"]) != id)
    return Status(ErrorCode::kImmutableField, "the _id of a document in a clustered collection cannot change");
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, ns_, imagesOf(unit, false, statementOf(unit)).slots));
  KeySet oldKeys, newKeys;
  // Nearly every update leaves `_id` as it is, byte for byte, and with it the entry of its index.
  const IndexEntry* unchanged = before["_id"].identical(after["_id"]) ? idIndex_ : nullptr;
  for (const auto& index : indexes_) {
    if (index.get() == unchanged) continue;
    oldKeys.clear();
    newKeys.clear();
    if (index->covers(before)) TROUPE_TRY(keysToRemove(*index, before, oldKeys));
    if (index->covers(after)) TROUPE_TRY(keysToAdd(unit, *index, after, newKeys));
    TROUPE_TRY(noteMultikey(unit, *index, newKeys));
    TROUPE_TRY(index->access->updateKeys(unit, oldKeys, newKeys, id, writeOptions(unit, *index)));
  }
  return slot;
}

Status Collection::removeKeys(RecoveryUnit& unit, const RecordId& id, bson::View document) const {
  KeySet keys;
  for (const auto& index : indexes_) {
    if (!index->covers(document)) continue;
    TROUPE_TRY(keysToRemove(*index, document, keys));
    TROUPE_TRY(index->access->removeKeys(unit, keys, id, writeOptions(unit, *index)));
  }
  return Status::OK();
}

Status Collection::remove(RecoveryUnit& unit, const RecordId& id, bson::View document) const {
  return removeAt(unit, id, document, statementOf(unit));
}

Status Collection::removeAt(RecoveryUnit& unit, const RecordId& id, bson::View document,
                            std::optional<int32_t> statement) const {
  TROUPE_TRY(checkWritable(unit));
  const ImagePlan images = imagesOf(unit, true, statement);
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, ns_, images.slots));
  TROUPE_TRY(removeKeys(unit, id, document));
  TROUPE_TRY(records_->remove(unit, id, document.size()));
  const RemoveOperation removed{.id = id, .document = document, .slot = slot, .statement = statement, .images = images};
  for (WriteObserver* observer : observers_) TROUPE_TRY(observer->onRemove(unit, *this, removed));
  return Status::OK();
}

bool Collection::exceedsCap() const {
  return options_.capped && (records_->dataBytes() > options_.cappedSize ||
                             (options_.cappedMax > 0 && records_->count() > options_.cappedMax));
}

/// An insert removes at least as much as it adds, so that a collection within its limits stays within them.
Status Collection::trimCapped(RecoveryUnit& unit, std::span<const bson::View> added, const RecordId& newest) const {
  int64_t bytes = 0;
  for (const bson::View& document : added) bytes += document.size();
  const int64_t documents = static_cast<int64_t>(added.size());
  return removeOldest(unit, newest, documents, bytes).status();
}

StatusWith<int64_t> Collection::trim(RecoveryUnit& unit) const {
  RecordId newest;
  {
    TROUPE_ASSIGN(auto last, records_->cursor(unit, false));
    TROUPE_ASSIGN(const bool found, last.next());
    if (!found) return int64_t{0};
    newest = last.id();
  }
  return removeOldest(unit, newest, 0, 0);
}

/// Members remove what the primary's log says, no more. One cursor goes on behind each removed document: a new one
/// would walk over all that this unit of work has removed before.
StatusWith<int64_t> Collection::removeOldest(RecoveryUnit& unit, const RecordId& newest, int64_t documents,
                                             int64_t bytes) const {
  if (isApplied(unit)) return int64_t{0};
  requireAlone(unit, ns_);
  if (!exceedsCap()) return int64_t{0};
  TROUPE_ASSIGN(auto oldest, records_->cursor(unit));
  int64_t count = 0, removed = 0;
  const auto mayRemoveMore = [&] {
    return count < documents || (count < documents + kSurplusDocuments && removed < bytes + kSurplusBytes);
  };
  for (; mayRemoveMore() && exceedsCap(); ++count) {
    TROUPE_ASSIGN(const bool found, oldest.next());
    if (!found || oldest.id() >= newest) break;
    const bson::Document document(oldest.document());
    TROUPE_TRY(removeAt(unit, oldest.id(), document, std::nullopt));
    removed += document.view().size();
  }
  return removed;
}

Status Collection::truncate(RecoveryUnit& unit) const {
  TROUPE_TRY(checkWritable(unit));
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, ns_));
  TROUPE_TRY(records_->truncate(unit));
  for (const auto& index : indexes_) TROUPE_TRY(unit.truncate(index->access->table(), {}, {}));
  for (WriteObserver* observer : observers_) TROUPE_TRY(observer->onTruncate(unit, *this, slot));
  return Status::OK();
}

std::string_view Collection::shownName(const IndexEntry& index) const {
  const std::string_view own = index.spec.name;
  return index.spec.idIndex && isClustered() ? (*options_.clusteredIndex)["name"].toStringOr(own) : own;
}

StatusWith<std::optional<RecordId>> Collection::findById(RecoveryUnit& unit, const bson::Element& id) const {
  if (!records_) return Status(ErrorCode::kCommandNotSupportedOnView, ns_.toString() + " is a view");
  if (clusterKey_) {
    RecordId record = clusteredId(id);
    TROUPE_ASSIGN(auto cursor, unit.cursor(records_->table()));
    TROUPE_ASSIGN(const bool found, cursor->seek(RecordKey(record)));
    return found ? std::optional(std::move(record)) : std::optional<RecordId>();
  }
  if (idIndex_) {
    key_string::Builder key;
    key.append(id, idIndex_->access->collator());
    return idIndex_->access->findUnique(unit, key.bytes());
  }
  key_string::Builder wanted, each;
  wanted.append(id, collator());
  TROUPE_ASSIGN(auto cursor, records_->cursor(unit));
  for (;;) {
    TROUPE_ASSIGN(const bool found, cursor.next());
    if (!found) return std::optional<RecordId>();
    each.reset();
    each.append(cursor.document()["_id"], collator());
    if (each.bytes() == wanted.bytes()) return std::optional(cursor.id());
  }
}

CatalogEntry Collection::toEntry() const {
  CatalogEntry entry{.catalogId = catalogId_, .ns = ns_, .ident = ident_, .options = options_, .indexes = {}};
  for (const auto& index : indexes_)
    entry.indexes.push_back({.spec = index->spec.stored,
                             .ident = index->ident,
                             .ready = index->ready,
                             .multikey = index->multikey(),
                             .paths = index->state->paths(index->spec.fields.size()),
                             .buildUuid = index->buildUuid});
  return entry;
}

}  // namespace troupe::storage
