#include "storage/oplog/oplog_collection.hpp"

#include "storage/catalog/catalog_publish.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/oplog_entry.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {
namespace {

Namespace oplogName() { return {"local", "oplog.rs"}; }

bool showsTheLog(const Collection& collection) {
  return !collection.isView() && collection.ident() == OplogStore::kIdent;
}

}  // namespace

StatusWith<OpTime> lastLogged(const Catalog& catalog, RecoveryUnit& unit) {
  const CollectionPtr shown = catalog.find(oplogName());
  if (!shown || !showsTheLog(*shown)) return OpTime();
  TROUPE_ASSIGN(auto newestFirst, shown->records().cursor(unit, false));
  TROUPE_ASSIGN(const bool found, newestFirst.next());
  if (!found) return OpTime();
  TROUPE_ASSIGN(const OplogEntry newest, OplogEntry::parse(newestFirst.document()));
  return newest.opTime;
}

StatusWith<CollectionPtr> showOplog(Catalog& catalog, const OplogLimits& limits) {
  const Namespace ns = oplogName();
  if (CollectionPtr shown = catalog.find(ns)) {
    if (showsTheLog(*shown)) return shown;
    return Status(ErrorCode::kUnsupportedFormat,
                  "the collection " + ns.toString() +
                      " was made by a client and would hide the log of the replica set: start the server without a "
                      "replica set, rename or drop it, and start again");
  }
  OperationContext operation({.sessions = catalog.pool()});
  RecoveryUnit& unit = operation.recoveryUnit();
  CatalogEntry entry{.catalogId = 0, .ns = ns, .ident = std::string(OplogStore::kIdent), .options = {}, .indexes = {}};
  entry.options.uuid = catalog.newUuid();
  entry.options.capped = true;
  entry.options.cappedSize = limits.maxBytes;
  WriteUnitOfWork work(unit);
  TROUPE_TRY(catalog.durable().add(unit, entry));
  TROUPE_ASSIGN(auto shown, publishVersion(catalog, unit, entry, nullptr));
  TROUPE_TRY(work.commit());
  return shown;
}

}  // namespace troupe::storage
