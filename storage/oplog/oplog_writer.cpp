#include "storage/oplog/oplog_writer.hpp"

#include <string>
#include <utility>
#include <vector>

#include "messaging/errors/invariant.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/catalog/durable_catalog.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/document_delta.hpp"
#include "storage/oplog/logged_modification.hpp"
#include "storage/oplog/write_slots.hpp"
#include "storage/sessions/retryable_writes.hpp"

namespace troupe::storage {

namespace {

/// Limit of a group's operations, in bytes (OPL-013).
constexpr size_t kMaxGroupBytes = bson::kMaxDocumentSize;

bool isGrouped(const RecoveryUnit& unit) {
  return unit.unitLogging() == UnitLogging::kGrouped && writesAreReplicated(unit);
}

/// Of units with neither nothing is logged.
bool isLogged(const RecoveryUnit& unit, const OpTime& slot) { return slot != OpTime{} || isGrouped(unit); }

bool isFromMigration(const RecoveryUnit& unit) {
  return unit.operation() && unit.operation()->writeMode() == WriteMode::kFromMigration;
}

bson::Document idOf(bson::View document) {
  const bson::Element id = document["_id"];
  invariant(id.ok(), "a replicated document has an _id");
  return bson::doc("_id", id);
}

/// The time that was reserved so many places ahead of a write's own; nothing for 0.
std::optional<OpTime> placeAhead(const OpTime& slot, size_t distance) {
  if (distance == 0) return std::nullopt;
  const bson::Timestamp own = slot.timestamp;
  return OpTime{slot.term, {own.seconds, own.increment - static_cast<uint32_t>(distance)}};
}

std::string nameOf(const Collection& collection) { return std::string(collection.ns().collection()); }

/// Documents that go with a collection; nothing for a view.
std::optional<int64_t> recordsOf(const Collection& collection) {
  return collection.isView() ? std::nullopt : std::optional(collection.records().count());
}

}  // namespace

/// The operations of a grouped unit of work, until its commit writes them.
class OplogWriter::Group final : public BoundState {
 public:
  /// That of the unit, made with the first operation.
  static Group& of(OplogWriter& writer, RecoveryUnit& unit) {
    if (auto* made = static_cast<Group*>(unit.unitState(UnitPart::kOplogGroup))) return *made;
    auto owned = std::make_unique<Group>();
    Group& group = *owned;
    unit.bindToUnit(UnitPart::kOplogGroup, std::move(owned));
    // The unit has been admitted before, so its time is reserved and stamped by an earlier handler.
    unit.onPreCommit([&writer, &group, &unit](auto) { return group.write(writer, unit); });
    return group;
  }

  Status add(const LoggedOperation& operation) {
    bson::Builder builder;
    operation.appendTo(builder);
    operations_.push_back(builder.finish());
    // In the entry each is an element of an array: type, decimal index, and the index's end.
    bytes_ += operations_.back().view().size() + 2 + std::to_string(operations_.size() - 1).size();
    if (bytes_ <= kMaxGroupBytes) return Status::OK();
    return {ErrorCode::kTransactionTooLarge, "the operations of one unit of work take more than " +
                                                 std::to_string(kMaxGroupBytes) + " bytes of the oplog"};
  }

 private:
  Status write(OplogWriter& writer, RecoveryUnit& unit) {
    const CommandObjects objects = encode(LoggedGroup{std::move(operations_)});
    const std::string ns = commandNamespace("admin");
    OplogEntry entry;
    entry.operation = {.kind = OplogKind::kCommand, .ns = ns, .object = objects.object};
    entry.opTime = ReplicatedUnit::in(unit)->last();
    entry.wall = {writer.nowMillis_()};
    const bson::Document document = entry.toDocument();
    const OplogRow row{entry.opTime.timestamp, entry.wall.millis, document};
    return writer.store().insert(unit, {&row, 1});
  }

  std::vector<bson::Document> operations_;
  size_t bytes_ = 0;
};

bool OplogWriter::observes(const CatalogEntry& entry) const { return entry.ns.isReplicated(); }

OplogStore& OplogWriter::store() const {
  invariant(store_ != nullptr, "a member's oplog is there before its first replicated write");
  return *store_;
}

/// One that is larger could not be sent to any member, and would end replication. Images and documents as such fit.
Status checkEntrySize(const bson::Document& entry) {
  if (entry.view().size() <= bson::kMaxInternalDocumentSize) return Status::OK();
  return {ErrorCode::kBSONObjectTooLarge, "the entry of this write in the log of the replica set would have " +
                                              std::to_string(entry.view().size()) + " bytes, more than the limit of " +
                                              std::to_string(bson::kMaxInternalDocumentSize) +
                                              ": make the change in smaller steps"};
}

/// Entries that are written together, and what they borrow from.
struct OplogWriter::Rows {
  std::vector<bson::Document> documents;
  std::vector<OplogRow> rows;

  explicit Rows(size_t about) {
    documents.reserve(about);
    rows.reserve(about);
  }
  Status add(const OplogEntry& entry) {
    documents.push_back(entry.toDocument());  // its bytes stay where they are when the list grows
    rows.push_back({entry.opTime.timestamp, entry.wall.millis, documents.back()});
    return checkEntrySize(documents.back());
  }
};

/// The first entry of a chain refers to the time before all.
constexpr OpTime kNoEntry{-1, {}};

OplogEntry OplogWriter::entryOf(RecoveryUnit& unit, const Logged& logged) const {
  OplogEntry entry;
  entry.operation = logged.operation;
  entry.opTime = logged.slot;
  entry.wall = {nowMillis_()};
  entry.preImage = placeAhead(logged.slot, logged.images.before);
  entry.postImage = placeAhead(logged.slot, logged.images.after);
  if (!logged.statement) return entry;
  const OperationContext& operation = *unit.operation();
  SessionWrites& writes = SessionWrites::of(unit);
  entry.session = operation.retryable->session();
  entry.txnNumber = operation.retryable->number();
  entry.statements = {*logged.statement};
  entry.previousOpTime = writes.previous() == OpTime() ? kNoEntry : writes.previous();
  entry.image = logged.images.aside;
  if (entry.image != RetryImage::kNone)
    writes.keep(entry.image, entry.image == RetryImage::kBefore ? logged.before : logged.after);
  writes.add(*logged.statement, logged.slot, entry.wall);
  return entry;
}

/// The image of a document, as an entry that changes nothing. It is no statement of its session: the chain passes by.
OplogEntry OplogWriter::noteOf(const Logged& logged, bson::View image, const OpTime& place) const {
  OplogEntry note;
  note.operation = {
      .kind = OplogKind::kNoop, .ns = logged.operation.ns, .uuid = logged.operation.uuid, .object = image};
  note.opTime = place;
  note.wall = {nowMillis_()};
  return note;
}

Status OplogWriter::write(RecoveryUnit& unit, std::span<const Logged> logged) {
  if (isGrouped(unit)) {
    Group& group = Group::of(*this, unit);
    for (const Logged& each : logged) {
      if (each.statement && unit.operation()->retryable)  // the entry would not name it: a retry would execute it again
        return {ErrorCode::kIllegalOperation,
                "a numbered write has an entry of its own, so it cannot be one of a group"};
      TROUPE_TRY(group.add(each.operation));
    }
    return Status::OK();
  }
  Rows entries(logged.size());
  for (const Logged& each : logged) {
    const OplogEntry entry = entryOf(unit, each);
    if (entry.preImage) TROUPE_TRY(entries.add(noteOf(each, each.before, *entry.preImage)));
    if (entry.postImage) TROUPE_TRY(entries.add(noteOf(each, each.after, *entry.postImage)));
    TROUPE_TRY(entries.add(entry));
  }
  return store().insert(unit, entries.rows);
}

/// A note is about no collection; it passes the gate of what is replicated like a command of `admin`.
Status OplogWriter::note(RecoveryUnit& unit, bson::View message) {
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, Namespace("admin", "$cmd")));
  Logged logged;
  logged.operation = {.kind = OplogKind::kNoop, .object = message};
  logged.slot = slot;
  return write(unit, {&logged, 1});
}

Status OplogWriter::writeCommand(RecoveryUnit& unit, std::string_view db, const std::optional<bson::Uuid>& uuid,
                                 const LoggedCommand& command, const OpTime& slot) {
  const CommandObjects objects = encode(command);
  const std::string ns = commandNamespace(db);
  Logged logged;
  logged.operation = {.kind = OplogKind::kCommand, .ns = ns, .uuid = uuid, .object = objects.object};
  if (objects.other) logged.operation.other = objects.other->view();
  logged.operation.fromMigration = isFromMigration(unit);
  logged.slot = slot;
  return write(unit, {&logged, 1});
}

Status OplogWriter::writeCommand(RecoveryUnit& unit, const Collection& collection, const LoggedCommand& command,
                                 const OpTime& slot) {
  return writeCommand(unit, collection.ns().db(), collection.options().uuid, command, slot);
}

Status OplogWriter::onInsert(RecoveryUnit& unit, const Collection& collection, const InsertOperation& inserted) {
  if (!isLogged(unit, inserted.slots[0])) return Status::OK();
  std::vector<Logged> logged;
  logged.reserve(inserted.documents.size());
  for (size_t i = 0; i < inserted.documents.size(); ++i) {
    Logged& each = logged.emplace_back();
    each.operation = {.kind = OplogKind::kInsert,
                      .ns = collection.ns().toString(),
                      .uuid = collection.uuid(),
                      .object = inserted.documents[i],
                      .fromMigration = isFromMigration(unit)};
    each.slot = inserted.slots[i];
    if (i < inserted.statements.size()) each.statement = inserted.statements[i];
  }
  return write(unit, logged);
}

Status OplogWriter::onUpdate(RecoveryUnit& unit, const Collection& collection, const UpdateOperation& updated) {
  if (!isLogged(unit, updated.slot)) return Status::OK();
  const auto change = delta(updated.before, updated.after);
  invariant(change || !isDelta(updated.after), "a document begins with its _id, so that none is taken for a delta");
  const bson::Document id = idOf(updated.after);
  Logged logged;
  logged.operation = {OplogKind::kUpdate, collection.ns().toString(),
                      collection.uuid(),  change ? change->view() : updated.after,
                      id.view(),          isFromMigration(unit)};
  logged.slot = updated.slot;
  logged.statement = updated.statement;
  logged.before = updated.before;
  logged.after = updated.after;
  logged.images = updated.images;
  return write(unit, {&logged, 1});
}

Status OplogWriter::onRemove(RecoveryUnit& unit, const Collection& collection, const RemoveOperation& removed) {
  if (!isLogged(unit, removed.slot)) return Status::OK();
  const bson::Document id = idOf(removed.document);
  Logged logged;
  logged.operation = {OplogKind::kRemove, collection.ns().toString(), collection.uuid(), id, {}, isFromMigration(unit)};
  logged.slot = removed.slot;
  logged.statement = removed.statement;
  logged.before = removed.document;
  logged.images = removed.images;
  return write(unit, {&logged, 1});
}

Status OplogWriter::onTruncate(RecoveryUnit& unit, const Collection& collection, const OpTime& slot) {
  if (!isLogged(unit, slot)) return Status::OK();
  return writeCommand(unit, collection, LoggedTruncate{nameOf(collection)}, slot);
}

Status OplogWriter::onCreate(RecoveryUnit& unit, const Collection& collection, const OpTime& slot) {
  if (!isLogged(unit, slot)) return Status::OK();
  LoggedCreate create{nameOf(collection), collection.options().toDocument(false), {}};
  if (collection.idIndex()) create.idIndex = collection.idIndex()->spec.stored;
  return writeCommand(unit, collection, create, slot);
}

Status OplogWriter::onDrop(RecoveryUnit& unit, const Collection& collection, const OpTime& slot) {
  if (!isLogged(unit, slot)) return Status::OK();
  return writeCommand(unit, collection, LoggedDrop{nameOf(collection), recordsOf(collection)}, slot);
}

Status OplogWriter::onRename(RecoveryUnit& unit, const RenameOperation& renamed) {
  if (!isLogged(unit, renamed.slot)) return Status::OK();
  LoggedRename rename;
  rename.from = renamed.before.ns().toString();
  rename.to = renamed.after.ns().toString();
  rename.stayTemp = renamed.after.options().temp;
  if (renamed.droppedTarget) {
    rename.dropTarget = renamed.droppedTarget->options().uuid;
    rename.records = recordsOf(*renamed.droppedTarget);
  }
  return writeCommand(unit, renamed.before, rename, renamed.slot);
}

Status OplogWriter::onModify(RecoveryUnit& unit, const ModifyOperation& modified) {
  if (!isLogged(unit, modified.slot)) return Status::OK();
  const LoggedModify modify{nameOf(modified.before), argumentsOf(modified.change),
                            modified.before.options().toDocument(true)};
  return writeCommand(unit, modified.before, modify, modified.slot);
}

Status OplogWriter::onCreateIndex(RecoveryUnit& unit, const Collection& after, const IndexSpec& spec,
                                  const OpTime& slot) {
  if (!isLogged(unit, slot)) return Status::OK();
  return writeCommand(unit, after, LoggedCreateIndex{nameOf(after), spec.stored}, slot);
}

Status OplogWriter::onIndexBuild(RecoveryUnit& unit, const IndexBuildOperation& build) {
  if (!isLogged(unit, build.slot)) return Status::OK();
  using Step = LoggedIndexBuild::Step;
  LoggedIndexBuild logged;
  logged.step = build.step == IndexBuildOperation::Step::kStart    ? Step::kStart
                : build.step == IndexBuildOperation::Step::kCommit ? Step::kCommit
                                                                   : Step::kAbort;
  logged.collection = nameOf(build.collection);
  logged.build = build.build;
  for (const IndexSpec& spec : build.specs) logged.specs.push_back(spec.stored);
  return writeCommand(unit, build.collection, logged, build.slot);
}

Status OplogWriter::onDropIndex(RecoveryUnit& unit, const Collection& before, const IndexSpec& spec,
                                const OpTime& slot) {
  if (!isLogged(unit, slot)) return Status::OK();
  return writeCommand(unit, before, LoggedDropIndex{nameOf(before), spec.name, spec.stored}, slot);
}

Status OplogWriter::onDropDatabase(RecoveryUnit& unit, std::string_view db, const OpTime& slot) {
  if (!isLogged(unit, slot) || !Namespace(db, "$cmd").isReplicated()) return Status::OK();
  return writeCommand(unit, db, {}, LoggedDropDatabase{}, slot);
}

}  // namespace troupe::storage
