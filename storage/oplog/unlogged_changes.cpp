#include "storage/oplog/unlogged_changes.hpp"

#include <algorithm>
#include <utility>

#include "storage/catalog/collection.hpp"
#include "storage/catalog/durable_catalog.hpp"
#include "storage/engine/essential_table.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

namespace {

/// The one row: where, or by what, data were changed first.
constexpr std::string_view kFirst = "first";

bool hasTable(Engine& engine, std::string_view ident) {
  const auto tables = engine.listTables();
  return std::ranges::find(tables, ident) != tables.end();
}

}  // namespace

StatusWith<bool> UnloggedChanges::isMembersDirectory(Engine& engine) {
  if (!hasTable(engine, OplogStore::kIdent)) return false;
  TROUPE_ASSIGN(const Table log, engine.openTable(OplogStore::kIdent));
  TROUPE_ASSIGN(auto session, engine.openSession());
  TROUPE_TRY(session->begin());
  TROUPE_ASSIGN(auto cursor, session->cursor(log));
  return cursor->next();
}

StatusWith<std::unique_ptr<UnloggedChanges>> UnloggedChanges::open(Engine& engine) {
  TROUPE_ASSIGN(Table table, openEssentialTable(engine, kIdent));
  return std::unique_ptr<UnloggedChanges>(new UnloggedChanges(std::move(table)));
}

Status UnloggedChanges::checkNone(Engine& engine) {
  TROUPE_ASSIGN(const bool haveOthers, isMembersDirectory(engine));
  if (!haveOthers || !hasTable(engine, kIdent)) return Status::OK();
  TROUPE_ASSIGN(const Table table, openEssentialTable(engine, kIdent));
  TROUPE_ASSIGN(auto session, engine.openSession());
  TROUPE_TRY(session->begin());
  TROUPE_ASSIGN(auto cursor, session->cursor(table));
  TROUPE_ASSIGN(const bool found, cursor->seek(kFirst));
  if (!found) return Status::OK();
  return {ErrorCode::kManualInterventionRequired,
          "the data of this member were changed while it ran without --replSet, first " + std::string(cursor->value()) +
              ", and the other members do not hear of that; save what is wanted of it, empty the data directory and "
              "start again: the member copies the data of its set"};
}

Status UnloggedChanges::mark(RecoveryUnit& unit, const Collection& changed) {
  if (marked_.load(std::memory_order_relaxed)) return Status::OK();
  TROUPE_TRY(unit.writable(table_));
  TROUPE_ASSIGN(auto cursor, unit.cursor(table_));
  TROUPE_ASSIGN(const bool found, cursor->seek(kFirst));
  if (!found) TROUPE_TRY(cursor->put(kFirst, "in " + changed.ns().toString()));
  unit.onCommit([this](auto&&...) { marked_.store(true, std::memory_order_relaxed); });
  return Status::OK();
}

Status UnloggedChanges::noteRepair(Engine& engine, const std::set<std::string>& damagedTables) const {
  const auto heldDocuments = [](const std::string& ident) {
    return ident.starts_with("collection-") || ident == OplogStore::kIdent || DurableCatalog::isIdent(ident);
  };
  if (std::ranges::none_of(damagedTables, heldDocuments)) return Status::OK();
  TROUPE_ASSIGN(auto session, engine.openSession());
  TROUPE_TRY(session->begin());
  {
    TROUPE_ASSIGN(auto cursor, session->cursor(table_));
    TROUPE_TRY(cursor->put(kFirst, "by a repair"));
  }
  return session->commit();
}

bool UnloggedChanges::observes(const CatalogEntry& entry) const { return entry.ns.isReplicated(); }

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
Status UnloggedChanges::onCreate(RecoveryUnit& unit, const Collection& collection, const OpTime&) {
  return mark(unit, collection);
}
Status UnloggedChanges::onDrop(RecoveryUnit& unit, const Collection& collection, const OpTime&) {
  return mark(unit, collection);
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
