#include "storage/validation/repair.hpp"

#include "storage/operation/operation_context.hpp"
#include "storage/validation/validate.hpp"

namespace troupe::storage {

StatusWith<int64_t> salvageDamagedTables(Engine& engine, const RepairTeller& tell) {
  int64_t salvaged = 0;
  for (const std::string& ident : engine.listTables()) {
    const Status sound = engine.verifyTable(ident);
    if (sound.isOK()) continue;
    tell("the table " + ident + " is damaged: " + sound.reason());
    ++salvaged;
    const Status kept = engine.salvageTable(ident);
    if (kept == ErrorCode::kNoSuchKey) {  // its file is gone: made anew with the catalog
      TROUPE_TRY(engine.dropTable(ident));
      continue;
    }
    TROUPE_TRY(kept);
    tell("what can be read of the table " + ident + " was kept");
  }
  return salvaged;
}

StatusWith<RepairReport> repairCollections(Catalog& catalog, const RepairTeller& tell) {
  RepairReport report;
  const CatalogPtr snapshot = catalog.snapshot();
  for (const std::string& db : snapshot->databases()) {
    for (const CollectionPtr& collection : snapshot->collections(db)) {
      if (collection->isView()) continue;
      ++report.collections;
      OperationContext operation({.sessions = catalog.pool()});
      ValidateSettings settings;
      settings.full = settings.checkDocuments = settings.repair = true;
      TROUPE_ASSIGN(const ValidateResult found,
                    validateCollection(catalog, operation.recoveryUnit(), collection, settings));
      const std::string name = collection->ns().toString();
      if (found.repaired) {
        ++report.repaired;
        tell(name + " was repaired: " + std::to_string(found.corruptRecordsRemoved) + " records removed, " +
             std::to_string(found.missingEntriesInserted) + " index entries inserted, " +
             std::to_string(found.extraEntriesRemoved) + " removed");
      }
      if (found.valid || found.repaired) continue;
      for (const std::string& error : found.errors) tell(name + ": " + error);
      report.beyondRepair.push_back(name);
    }
  }
  return report;
}

}  // namespace troupe::storage
