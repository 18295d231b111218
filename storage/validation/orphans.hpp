#pragma once
#include <string>
#include <vector>

#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

/// Gives the documents of each table of records that belongs to no collection a new one, `local.orphan.<ident>`, and
/// drops the table. Bytes that are no document stay behind. For a repair that has lost rows of the catalog, which named
/// the collections. Returns the new collections' names. *Blocks.*
StatusWith<std::vector<std::string>> recoverOrphans(Catalog& catalog);

}  // namespace troupe::storage
