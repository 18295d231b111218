#pragma once
#include <vector>

#include "storage/catalog/durable_catalog.hpp"
#include "storage/engine/engine.hpp"

namespace troupe::storage {

/// Whether writes to the tables of a collection and its indexes are logged (JRN-001): all of them on a standalone; on a
/// member of a replica set (`replicated`) only those of unreplicated collections, since the oplog recovers the others.
bool isTableLogged(const Namespace& ns, bool replicated);

/// Brings the tables of all entries, and the catalog's own, to the logging that the node's role wants, as after a start
/// in another role (*blocks*; before anything else uses them). Tables that do not exist are passed over.
Status applyTableLogging(Engine& engine, const std::vector<CatalogEntry>& entries, bool replicated);

}  // namespace troupe::storage
