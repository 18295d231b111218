#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

// Mending a whole data directory, before anybody is served (`--repair`). In this order, with the catalog opened in
// between (CatalogHooks::repair makes tables that are missing anew). All of it *blocks*.

/// Says in a line what was found and done.
using RepairTeller = std::function<void(const std::string&)>;

/// Checks the blocks of every table, and rescues what can be read of a damaged one. Returns how many were. No table may
/// be open yet. Errors: those of salvaging.
StatusWith<int64_t> salvageDamagedTables(Engine& engine, const RepairTeller& tell);

struct RepairReport {
  int64_t collections = 0;
  int64_t repaired = 0;
  std::vector<std::string> beyondRepair;  ///< namespaces; their findings were told
};
/// Validates every collection in full and mends what can be mended (VAL-013).
StatusWith<RepairReport> repairCollections(Catalog& catalog, const RepairTeller& tell);

}  // namespace troupe::storage
