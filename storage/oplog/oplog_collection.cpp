#include "storage/oplog/oplog_collection.hpp"

#include "storage/catalog/catalog_publish.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

StatusWith<CollectionPtr> showOplog(Catalog& catalog, const OplogLimits& limits) {
  const Namespace ns("local", "oplog.rs");
  if (CollectionPtr shown = catalog.find(ns)) {
    if (!shown->isView() && shown->ident() == OplogStore::kIdent) return shown;
    return Status(ErrorCode::kUnsupportedFormat,
                  "the collection " + ns.toString() +
                      " was made by a client and would hide the log of the replica set: start the server without a "
                      "replica set, rename or drop it, and start again");
  }
  OperationContext operation({catalog.pool()});
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
