#include "storage/catalog/table_logging.hpp"

#include <set>

namespace troupe::storage {

bool isTableLogged(const Namespace& ns, bool replicated) { return !replicated || !ns.isReplicated(); }

Status applyTableLogging(Engine& engine, const std::vector<CatalogEntry>& entries, bool replicated) {
  const auto listed = engine.listTables();
  const std::set<std::string> exist(listed.begin(), listed.end());
  std::vector<TableLogging> wanted;
  const auto want = [&](const std::string& ident, bool logged) {
    if (exist.contains(ident)) wanted.push_back({ident, logged});
  };
  // A rollback to a stable time must take the catalog back together with the collections.
  want(std::string(DurableCatalog::kIdent), !replicated);
  want(std::string(DurableCatalog::kLocalIdent), true);
  for (const CatalogEntry& entry : entries) {
    const bool logged = isTableLogged(entry.ns, replicated);
    want(entry.ident, logged);
    for (const auto& index : entry.indexes) want(index.ident, logged);
  }
  return engine.setLogged(wanted);
}

}  // namespace troupe::storage
