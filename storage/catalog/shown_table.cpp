#include "storage/catalog/shown_table.hpp"

#include "messaging/errors/invariant.hpp"
#include "storage/catalog/catalog_publish.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

StatusWith<CollectionPtr> showTable(Catalog& catalog, const Namespace& ns, std::string_view ident,
                                    CollectionOptions options) {
  invariant(!ns.isReplicated(), "a table of the node's own is shown as an unreplicated collection");
  if (CollectionPtr shown = catalog.find(ns)) {
    if (!shown->isView() && shown->ident() == ident) return shown;
    return Status(ErrorCode::kUnsupportedFormat,
                  "the collection " + ns.toString() +
                      " was made by a client and would hide what this member keeps under that name: start the server "
                      "without a replica set, rename or drop it, and start again");
  }
  OperationContext operation({.sessions = catalog.pool()});
  RecoveryUnit& unit = operation.recoveryUnit();
  CatalogEntry entry{
      .catalogId = 0, .ns = ns, .ident = std::string(ident), .options = std::move(options), .indexes = {}};
  entry.options.uuid = catalog.newUuid();
  WriteUnitOfWork work(unit);
  TROUPE_TRY(catalog.durable().add(unit, entry));
  TROUPE_ASSIGN(auto shown, publishVersion(catalog, unit, entry, nullptr));
  TROUPE_TRY(work.commit());
  return shown;
}

}  // namespace troupe::storage
