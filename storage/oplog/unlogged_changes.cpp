#include "storage/oplog/unlogged_changes.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "storage/catalog/collection.hpp"
#include "storage/catalog/durable_catalog.hpp"
#include "storage/engine/essential_table.hpp"
#include "storage/engine/repair_mark.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

namespace {

/// Rows: where, or by what, data were changed first; a repair has lost the log.
constexpr std::string_view kFirst = "first", kLostLog = "lostLog";
constexpr std::string_view kByRepair = "by a repair";

bool hasTable(Engine& engine, std::string_view ident) {
  const auto tables = engine.listTables();
  return std::ranges::find(tables, ident) != tables.end();
}

/// The value of a row; nothing where there is no such row.
StatusWith<std::optional<std::string>> valueOf(Engine& engine, std::string_view row) {
  if (!hasTable(engine, UnloggedChanges::kIdent)) return std::optional<std::string>();
  TROUPE_ASSIGN(const Table table, openEssentialTable(engine, UnloggedChanges::kIdent));
  TROUPE_ASSIGN(auto session, engine.openSession());
  TROUPE_TRY(session->begin());
  TROUPE_ASSIGN(auto cursor, session->cursor(table));
  TROUPE_ASSIGN(const bool found, cursor->seek(row));
  return found ? std::optional<std::string>(cursor->value()) : std::nullopt;
}

StatusWith<bool> hasEntries(Engine& engine) {
  if (!hasTable(engine, OplogStore::kIdent)) return false;
  TROUPE_ASSIGN(const Table log, engine.openTable(OplogStore::kIdent));
  TROUPE_ASSIGN(auto session, engine.openSession());
  TROUPE_TRY(session->begin());
  TROUPE_ASSIGN(auto cursor, session->cursor(log));
  return cursor->next();
}

}  // namespace

StatusWith<bool> UnloggedChanges::isMembersDirectory(Engine& engine) {
  TROUPE_ASSIGN(const bool found, hasEntries(engine));
  if (found) return true;
  TROUPE_ASSIGN(const auto lost, valueOf(engine, kLostLog));
  return lost.has_value();
}

StatusWith<std::unique_ptr<UnloggedChanges>> UnloggedChanges::open(Engine& engine) {
  TROUPE_ASSIGN(Table table, openEssentialTable(engine, kIdent));
  return std::unique_ptr<UnloggedChanges>(new UnloggedChanges(std::move(table)));
}

Status UnloggedChanges::checkNone(Engine& engine) {
  TROUPE_ASSIGN(const bool haveOthers, isMembersDirectory(engine));
  TROUPE_ASSIGN(const auto first, valueOf(engine, kFirst));
  if (!haveOthers || !first) return Status::OK();
  return {ErrorCode::kManualInterventionRequired,
          "the data of this member were changed while it ran without --replSet, first " + *first +
              ", and the other members do not hear of that; save what is wanted of it, empty the data directory and "
              "start again: the member copies the data of its set"};
}

Status UnloggedChanges::mark(RecoveryUnit& unit, const Collection& changed) {
  if (settled_.load(std::memory_order_relaxed)) return Status::OK();
  TROUPE_TRY(unit.writable(table_));
  TROUPE_ASSIGN(auto cursor, unit.cursor(table_));
  TROUPE_ASSIGN(const bool found, cursor->seek(kFirst));
  if (!found) TROUPE_TRY(cursor->put(kFirst, "in " + changed.ns().toString()));
  unit.onCommit([this](auto&&...) { settled_.store(true, std::memory_order_relaxed); });
  return Status::OK();
}

/// The log is emptied with its drop: its table goes later, and what it holds would still make this a member's
/// directory.
Status UnloggedChanges::forget(RecoveryUnit& unit, const Collection& log) {
  TROUPE_TRY(log.records().truncate(unit));
  TROUPE_TRY(unit.writable(table_));
  TROUPE_ASSIGN(auto cursor, unit.cursor(table_));
  for (const std::string_view row : {kFirst, kLostLog}) {
    TROUPE_ASSIGN(const bool found, cursor->seek(row));
    if (found) TROUPE_TRY(cursor->remove(row));
  }
  unit.onCommit([this](auto&&...) { settled_.store(true, std::memory_order_relaxed); });
  return Status::OK();
}

Status UnloggedChanges::noteRepair(Engine& engine, const std::set<std::string>& damaged) const {
  const auto heldDocuments = [](const std::string& part) {
    return part.starts_with("collection-") || part == OplogStore::kIdent || DurableCatalog::isIdent(part) ||
           part == RepairMark::kJournal || part == RepairMark::kMetadata || part == UnloggedChanges::kIdent;
  };
  if (std::ranges::none_of(damaged, heldDocuments)) return Status::OK();
  TROUPE_ASSIGN(auto session, engine.openSession());
  TROUPE_TRY(session->begin());
  {
    TROUPE_ASSIGN(auto cursor, session->cursor(table_));
    TROUPE_TRY(cursor->put(kFirst, kByRepair));
    if (damaged.contains(std::string(OplogStore::kIdent))) TROUPE_TRY(cursor->put(kLostLog, kByRepair));
  }
  return session->commit();
}

bool UnloggedChanges::observes(const CatalogEntry& entry) const {
  return entry.ns.isReplicated() || entry.ns == oplogName();
}

Status UnloggedChanges::onInsert(RecoveryUnit& unit, const Collection& collection, const InsertOperation&) {
  return mark(unit, collection);
}
Status UnloggedChanges::onUpdate(RecoveryUnit& unit, const Collection& collection, const UpdateOperation&) {
  return mark(unit, collection);
}
Status UnloggedChanges::onRemove(RecoveryUnit& unit, const Collection& collection, const RemoveOperation&) {
  return mark(unit, collection);
}
Status UnloggedChanges::onTruncate(RecoveryUnit& unit, const Collection& collection, const OpTime&) {
  return mark(unit, collection);
}
Status UnloggedChanges::onRepair(RecoveryUnit& unit, const Collection& collection) { return mark(unit, collection); }
Status UnloggedChanges::onCreate(RecoveryUnit& unit, const Collection& collection, const OpTime&) {
  return mark(unit, collection);
}
Status UnloggedChanges::onDrop(RecoveryUnit& unit, const Collection& collection, const OpTime&) {
  return collection.ns() == oplogName() ? forget(unit, collection) : mark(unit, collection);
}
Status UnloggedChanges::onRename(RecoveryUnit& unit, const RenameOperation& renamed) {
  return mark(unit, renamed.before);
}
Status UnloggedChanges::onModify(RecoveryUnit& unit, const ModifyOperation& modified) {
  return mark(unit, modified.before);
}
Status UnloggedChanges::onCreateIndex(RecoveryUnit& unit, const Collection& after, const IndexSpec&, const OpTime&) {
  return mark(unit, after);
}
Status UnloggedChanges::onIndexBuild(RecoveryUnit& unit, const IndexBuildOperation& step) {
  return mark(unit, step.collection);
}
Status UnloggedChanges::onDropIndex(RecoveryUnit& unit, const Collection& before, const IndexSpec&, const OpTime&) {
  return mark(unit, before);
}

}  // namespace troupe::storage
