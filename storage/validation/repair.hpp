#pragma once
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/engine/repair_mark.hpp"

namespace troupe::storage {

// Mending a whole data directory, before anybody is served (`--repair`). In this order, with the catalog opened in
// between (CatalogHooks::repair makes tables that are missing anew). All of it *blocks*.

/// Says in a line what was found and done.
using RepairTeller = std::function<void(const std::string&)>;

/// Checks the blocks of every table, and rescues what can be read of a damaged one. A table that is not a collection's
/// and cannot be rescued is dropped: indexes and sizes are made anew. Returns the idents of the damaged ones, with
/// those that an unfinished repair found, which `mark` keeps. No table may be open yet. Errors:
/// ManualInterventionRequired for a collection's table, or the catalog's, that cannot be rescued; the engine's.
StatusWith<std::set<std::string>> salvageDamagedTables(Engine& engine, const RepairMark& mark,
                                                       const RepairTeller& tell);

/// Documents of a collection that are gone.
struct LostDocuments {
  std::string ns;
  int64_t documents = 0;
  /// Counted by an index of all documents; otherwise the difference from the number that was stored last, which is too
  /// low after a kill.
  bool exact = false;
};

struct RepairReport {
  int64_t collections = 0;
  int64_t repaired = 0;
  std::vector<LostDocuments> lost;
  std::vector<std::string> beyondRepair;  ///< namespaces; their findings were told
  /// {collections, repaired, lost: [{ns, documents, exact}], beyondRepair}
  bson::Document toDocument() const;
};
/// Fills the indexes that were damaged, or whose records were, from the records; gives tables of records whose row of
/// the catalog was lost a collection `local.orphan.<ident>`; then validates every collection in full, mends what can be
/// mended (VAL-013) and says which documents are lost. `damaged`: what `salvageDamagedTables` returned.
StatusWith<RepairReport> repairCollections(Catalog& catalog, const std::set<std::string>& damaged,
                                           const RepairTeller& tell);

}  // namespace troupe::storage
