#pragma once
#include <string>
#include <vector>

#include "storage/catalog/catalog.hpp"
#include "storage/locks/lock_mode.hpp"
#include "storage/locks/resource_id.hpp"
#include "storage/oplog/operation_applier.hpp"

namespace troupe::storage {

/// A lock that an applier needs, with the intent locks above it but without that of the state transition.
struct EntryLock {
  ResourceType type;  ///< kDatabase or kCollection
  std::string name;
  LockMode mode;
  auto operator<=>(const EntryLock&) const = default;
};

/// The lock for documents of a collection: IX; X where its records have the order of the log (capped ones). Under the
/// name that it has in this version of the catalog; `ns` where there is none of that UUID.
EntryLock documentLock(const CatalogSnapshot& catalog, const bson::Uuid& uuid, std::string_view ns);

/// The locks under which an applier carries out an entry by itself, in the order in which they are taken: for a command
/// those of catalog_operations.hpp and index_operations.hpp, for a group those of all its operations. Errors:
/// FailedToParse, CommandNotFound.
StatusWith<std::vector<EntryLock>> locksOf(const CatalogSnapshot& catalog, const LoggedOperation& operation,
                                           ApplyMode mode);

}  // namespace troupe::storage
