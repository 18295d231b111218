#pragma once
#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

// Common parts of catalog operations. Each within the caller's unit of work.

/// Writes the entry (of a new collection: it has been added) and makes its version, which is published when the unit
/// commits. The caller has reserved the slot of the change, and tells the observers.
StatusWith<CollectionPtr> publishVersion(Catalog& catalog, RecoveryUnit& unit, const CatalogEntry& entry,
                                         const CollectionPtr& previous);
/// The same of what the node shows of its own tables (shown_table.hpp), whose collections nobody may write to; never of
/// a replicated one. The caller holds its X lock.
StatusWith<CollectionPtr> publishShownVersion(Catalog& catalog, RecoveryUnit& unit, const CatalogEntry& entry,
                                              const CollectionPtr& previous);

/// Calls `tell(observer)` once for each observer of these versions of collections; null ones are passed over.
template <class Tell>
Status tellObservers(std::initializer_list<const Collection*> versions, const Tell& tell) {
  std::vector<WriteObserver*> told;
  for (const Collection* version : versions) {
    if (!version) continue;
    for (WriteObserver* observer : version->observers()) {
      if (std::ranges::count(told, observer) > 0) continue;
      told.push_back(observer);
      TROUPE_TRY(tell(*observer));
    }
  }
  return Status::OK();
}

/// Metadata of tables in the form that other tools know: the format of records, and of keys.
inline constexpr std::string_view kRecordTableMetadata = "formatVersion=1";
/// Of a clustered collection: its record ids are bytes.
inline constexpr std::string_view kClusteredTableMetadata = "formatVersion=1,recordIds=bytes";
/// For a table that is to be made: a clustered collection with an `_id` index is one of numbered records.
std::string_view recordTableMetadata(const CatalogEntry& entry);
std::string_view indexTableMetadata(const IndexSpec& spec);

/// Creates a table of the collection; when the unit rolls back it is handed to the reaper, since creating it cannot be
/// undone.
Status createTableInUnit(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns, const std::string& ident,
                         std::string_view appMetadata);

/// Creates an index's table and describes it.
StatusWith<IndexMetadata> createIndexTable(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns,
                                           const IndexSpec& spec, std::optional<bson::Uuid> buildUuid);

/// Hands a table to the reaper when the unit commits (CAT-023).
void dropTableOnCommit(Catalog& catalog, RecoveryUnit& unit, std::string ident, std::weak_ptr<const void> token);

}  // namespace troupe::storage
