#pragma once
#include <memory>
#include <optional>
#include <string>

#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

// What all catalog operations share. Each within the caller's unit of work.

/// Writes the entry and makes its version, which is published when the unit commits.
StatusWith<CollectionPtr> publishVersion(Catalog& catalog, RecoveryUnit& unit, const CatalogEntry& entry,
                                         const CollectionPtr& previous);

/// Creates a table; when the unit rolls back it is handed to the reaper, since creating it cannot be undone.
Status createTableInUnit(Catalog& catalog, RecoveryUnit& unit, const std::string& ident, std::string_view appMetadata);

/// Creates an index's table and describes it.
StatusWith<IndexMetadata> createIndexTable(Catalog& catalog, RecoveryUnit& unit, const IndexSpec& spec,
                                           std::optional<bson::Uuid> buildUuid);

/// Hands a table to the reaper when the unit commits (CAT-023).
void dropTableOnCommit(Catalog& catalog, RecoveryUnit& unit, std::string ident, std::weak_ptr<const void> token);

}  // namespace troupe::storage
