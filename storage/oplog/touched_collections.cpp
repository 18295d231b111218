#include "storage/oplog/touched_collections.hpp"

#include <variant>

#include "storage/catalog/record_count.hpp"
#include "storage/oplog/logged_command.hpp"
#include "storage/oplog/oplog_batches.hpp"
#include "storage/sessions/session_record.hpp"

namespace troupe::storage {

namespace {

/// Of indexes, options and names alone.
bool keepsDocuments(const LoggedCommand& command) {
  return std::holds_alternative<LoggedModify>(command) || std::holds_alternative<LoggedCreateIndex>(command) ||
         std::holds_alternative<LoggedIndexBuild>(command) || std::holds_alternative<LoggedDropIndex>(command);
}

}  // namespace

Status TouchedCollections::note(const LoggedOperation& operation) {
  return eachOperation(operation, [this](const LoggedOperation& one) -> Status {
    if (one.kind == OplogKind::kNoop) return Status::OK();
    if (one.kind == OplogKind::kCommand) {
      TROUPE_ASSIGN(const LoggedCommand command, parseCommand(one));
      if (keepsDocuments(command)) return Status::OK();
      const auto* rename = std::get_if<LoggedRename>(&command);
      if (rename && rename->dropTarget) collections_.insert(*rename->dropTarget);
    }
    if (one.uuid) collections_.insert(*one.uuid);
    return Status::OK();
  });
}

Status TouchedCollections::note(const OplogEntry& entry) {
  hasSessions_ |= entry.session.has_value();
  return note(entry.operation);
}

Status TouchedCollections::noteLog(const OplogStore& log, const OperationServices& services, bson::Timestamp after) {
  OplogBatches reader(log, services, after);
  for (;;) {
    TROUPE_ASSIGN(const auto batch, reader.next());
    if (batch.empty()) return Status::OK();
    for (const bson::Document& document : batch) {
      TROUPE_ASSIGN(const auto entry, OplogEntry::parse(document));
      TROUPE_TRY(note(entry));
    }
  }
}

std::set<bson::Uuid> TouchedCollections::uuids(const Catalog& catalog) const {
  std::set<bson::Uuid> all = collections_;
  for (const Namespace* ns : {&transactionsNamespace(), &imagesNamespace()})
    if (const CollectionPtr kept = hasSessions_ ? catalog.find(*ns) : nullptr) all.insert(kept->uuid());
  return all;
}

Status TouchedCollections::doubt(Catalog& catalog) const { return catalog.sizes().doubt(uuids(catalog)); }

StatusWith<int64_t> TouchedCollections::recount(Catalog& catalog, const OperationServices& services) const {
  std::set<bson::Uuid> all = uuids(catalog);
  all.merge(catalog.sizes().doubted());
  for (const bson::Uuid& uuid : all) {
    const CollectionPtr collection = catalog.snapshot()->find(uuid);
    if (!collection || collection->isView()) continue;
    OperationContext operation(services, OperationOrigin::kApplier);
    TROUPE_TRY(countRecords(operation.recoveryUnit(), collection->records()).withContext(collection->ns().toString()));
  }
  TROUPE_TRY(catalog.sizes().settle());
  return static_cast<int64_t>(all.size());
}

Status doubtWhatIsCut(Catalog& catalog, const OplogStore& log, const OperationServices& services,
                      bson::Timestamp point) {
  TouchedCollections touched;
  TROUPE_TRY(touched.noteLog(log, services, point));
  return touched.doubt(catalog);
}

}  // namespace troupe::storage
