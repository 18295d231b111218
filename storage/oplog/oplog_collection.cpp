#include "storage/oplog/oplog_collection.hpp"

#include "messaging/errors/invariant.hpp"
#include "storage/catalog/catalog_publish.hpp"
#include "storage/catalog/shown_table.hpp"
#include "storage/oplog/oplog_entry.hpp"

namespace troupe::storage {
namespace {

bool showsTheLog(const Collection& collection) {
  return !collection.isView() && collection.ident() == OplogStore::kIdent;
}

}  // namespace

Namespace oplogName() { return {"local", "oplog.rs"}; }

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
  CollectionOptions options;
  options.capped = true;
  options.cappedSize = limits.maxBytes;
  return showTable(catalog, oplogName(), OplogStore::kIdent, std::move(options));
}

Status resizeShownOplog(Catalog& catalog, RecoveryUnit& unit, int64_t bytes) {
  const CollectionPtr shown = catalog.find(oplogName());
  invariant(shown != nullptr, "a member shows its log from its start on");
  CatalogEntry entry = shown->toEntry();
  entry.options.cappedSize = bytes;
  return publishShownVersion(catalog, unit, entry, shown).status();
}

}  // namespace troupe::storage
