#include "storage/validation/orphans.hpp"

#include <set>

#include "messaging/bson/validate.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {
namespace {

constexpr int kDocumentsPerUnit = 1000;

std::vector<std::string> unreferencedRecords(Catalog& catalog) {
  std::set<std::string> referenced;
  const CatalogPtr snapshot = catalog.snapshot();
  for (const std::string& db : snapshot->databases())
    for (const CollectionPtr& collection : snapshot->collections(db)) referenced.insert(collection->ident());
  std::vector<std::string> idents;
  for (const std::string& ident : catalog.engine().listTables())
    if (ident.starts_with("collection-") && !referenced.contains(ident) && !catalog.reaper().isPending(ident))
      idents.push_back(ident);
  return idents;
}

/// Copies rows behind `last`, a key; true at the end.
StatusWith<bool> copySome(RecoveryUnit& unit, const Table& from, const Collection& to, std::string& last) {
  WriteUnitOfWork work(unit);
  {
    TROUPE_ASSIGN(auto cursor, unit.cursor(from));
    bool found = false;
    if (last.empty()) {
      TROUPE_ASSIGN(found, cursor->next());
    } else {
      TROUPE_ASSIGN(found, cursor->seekAtOrAfter(last));
      if (found && cursor->key() == last) {
        TROUPE_ASSIGN(found, cursor->next());
      }
    }
    for (int documents = 0; found && documents < kDocumentsPerUnit; ++documents) {
      last = cursor->key();
      const std::string bytes(cursor->value());
      const auto size = bson::validate(bytes);
      if (size.isOK() && static_cast<size_t>(*size) == bytes.size()) {
        const Status inserted = to.insert(unit, bson::View(bytes.data())).status();
        if (!inserted.isOK() && inserted != ErrorCode::kDuplicateKey) return inserted;
      }
      TROUPE_ASSIGN(found, cursor->next());
    }
    if (found) {
      cursor.reset();
      TROUPE_TRY(work.commit());
      return false;
    }
  }
  TROUPE_TRY(work.commit());
  return true;
}

Status recover(Catalog& catalog, const std::string& ident, const Namespace& ns) {
  OperationContext operation({.sessions = catalog.pool()});
  RecoveryUnit& unit = operation.recoveryUnit();
  CollectionPtr collection = catalog.find(ns);
  if (!collection) {  // else a repair was killed while it copied
    WriteUnitOfWork work(unit);
    TROUPE_ASSIGN(collection, createCollection(catalog, unit, ns, {}));
    TROUPE_TRY(work.commit());
  }
  collection = catalog.find(ns);
  TROUPE_ASSIGN(const Table table, catalog.engine().openTable(ident));
  std::string last;
  for (bool done = false; !done;) {
    TROUPE_ASSIGN(done, copySome(unit, table, *collection, last));
  }
  unit.releaseSession();
  catalog.pool().forgetTable(table);
  TROUPE_TRY(catalog.engine().checkpoint().status());  // a table with changes in memory cannot be dropped
  return catalog.engine().dropTable(ident);
}

}  // namespace

StatusWith<std::vector<std::string>> recoverOrphans(Catalog& catalog) {
  std::vector<std::string> made;
  for (const std::string& ident : unreferencedRecords(catalog)) {
    const Namespace ns("local", "orphan." + ident);
    TROUPE_TRY(recover(catalog, ident, ns));
    made.push_back(ns.toString());
  }
  return made;
}

}  // namespace troupe::storage
