#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

// Part of the catalog's operations: what catalog_operations.hpp says about units of work, versions and locks holds
// here.

/// How long documents of a clustered collection live behind the date that is their key; empty: they do not expire.
struct LifetimeChange {
  std::optional<int64_t> seconds;
};

/// Options that collMod changes; absent members stay.
struct CollectionChange {
  std::string index;  ///< name of the index that `indexChange` is about; empty: none
  SpecChange indexChange;
  std::optional<bson::Document> validator;  ///< an empty document removes it
  std::optional<std::string> validationLevel, validationAction;
  std::optional<int64_t> cappedSize, cappedMax;
  std::optional<LifetimeChange> expireAfterSeconds;
  std::optional<bool> recordPreImages;
  std::optional<std::string> viewOn;
  std::optional<bson::Document> pipeline;
};
/// Whether an index may be changed so, whatever its collection holds: `modifyCollection` asks it too, commands do
/// before they scan for duplicates. Errors: BadValue, InvalidOptions.
Status checkIndexChange(const IndexSpec& spec, const SpecChange& wanted);

/// Errors: IndexNotFound, InvalidOptions (for instance unique without prepareUnique). `indexChange.unique` must have
/// been preceded by `uniqueViolations` without findings under the same lock (IDX-004). Lock: collection X.
StatusWith<CollectionPtr> modifyCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                           const CollectionChange& change);

}  // namespace troupe::storage
