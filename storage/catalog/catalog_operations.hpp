#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

// Changes of the catalog (DDL). Each call must be inside a WriteUnitOfWork of `unit`; the change is published
// when the unit commits and leaves no trace when it rolls back (CAT-012). Tables are created before and dropped after the catalog
// row (SRC-005). Calls take the version of the collection they change and return the next one, so that several changes
// can be made in one unit. Locks are the caller's: named for each call. All of them: WriteConflict, to be retried.

/// Makes a collection (with its `_id` index and a new UUID, unless the options name one) or a view. Errors: InvalidNamespace,
/// NamespaceExists (with the server's words; a repeated create of the same is answered with the existing one),
/// DatabaseDifferCase. Lock: database IX, collection X.
StatusWith<CollectionPtr> createCollection(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns,
                                           CollectionOptions options);

/// First phase of a drop (CAT-023). Lock: database IX, collection X.
Status dropCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection);

/// Drops every collection and view of the database. Lock: database X.
Status dropDatabase(Catalog& catalog, RecoveryUnit& unit, std::string_view db);

/// Gives a collection another name; its UUID stays (CAT-013). Errors: NamespaceExists unless `dropTarget`, InvalidNamespace,
/// IllegalOperation (same name). Lock: both collections X.
StatusWith<CollectionPtr> renameCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                           const Namespace& to, bool dropTarget);

/// Checks the specs of `createIndexes` against each other and the collection: those that are new, in order (identical ones are
/// left out). Errors: see parseIndexSpec and compareSpecs; CannotCreateIndex (67: more than 64).
StatusWith<std::vector<IndexSpec>> newIndexes(const Catalog& catalog, const Collection& collection,
                                              const std::vector<bson::View>& specs);

/// Adds an index to an *empty* collection, ready at once. For others see index_builder.hpp. Lock: collection X.
StatusWith<CollectionPtr> createEmptyIndex(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                           const IndexSpec& spec);

/// Removes indexes by name. Errors: IndexNotFound (27), InvalidOptions (72: the `_id` index). Lock: collection X.
StatusWith<CollectionPtr> dropIndexes(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                      const std::vector<std::string>& names);

/// The names that the argument `index` of dropIndexes means: "*" (all but `_id`), a name, a key pattern, or an array of
/// names. Errors: IndexNotFound, AmbiguousIndexKeyPattern, InvalidOptions, TypeMismatch.
StatusWith<std::vector<std::string>> indexNamesFor(const Collection& collection, const bson::Element& index);

/// What collMod may change; absent members stay.
struct CollectionChange {
  std::string index;                        ///< name of the index that `indexChange` is about; empty: none
  SpecChange indexChange;
  std::optional<bson::Document> validator;  ///< an empty document removes it
  std::optional<std::string> validationLevel, validationAction;
  std::optional<int64_t> cappedSize, cappedMax;
  std::optional<int64_t> expireAfterSeconds;
  std::optional<bool> recordPreImages;
  std::optional<std::string> viewOn;
  std::optional<bson::Document> pipeline;
};
/// Errors: IndexNotFound, InvalidOptions (for instance unique without prepareUnique). `indexChange.unique` must have been
/// preceded by `uniqueViolations` without findings under the same lock (IDX-004). Lock: collection X.
StatusWith<CollectionPtr> modifyCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                           const CollectionChange& change);

/// Groups of `_id`s whose documents have the same key in the index: [{ids: [...]}], as an array's document; empty when it
/// may become unique (IDX-004). Reads in the unit's snapshot.
StatusWith<bson::Document> uniqueViolations(RecoveryUnit& unit, const Collection& collection, const IndexEntry& index);

}  // namespace troupe::storage
