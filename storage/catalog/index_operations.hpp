#pragma once
#include <string>
#include <vector>

#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

// Part of the catalog's operations: what catalog_operations.hpp says about units of work, versions and locks holds
// here.

/// Checks the specs of `createIndexes` against each other and the collection: those that are new, in order (identical
/// ones are left out). Errors: see parseIndexSpec and compareSpecs; CannotCreateIndex (67: more than 64).
StatusWith<std::vector<IndexSpec>> newIndexes(const Catalog& catalog, const Collection& collection,
                                              const std::vector<bson::View>& specs);

/// The builds under way that make some of these indexes. One that wants them too awaits their end and looks again.
StatusWith<std::vector<bson::Uuid>> buildsUnderWay(const Collection& collection, const std::vector<bson::View>& specs);

/// Adds an index to an *empty* collection, ready at once. For others see index_builder.hpp. Lock: collection X.
StatusWith<CollectionPtr> createEmptyIndex(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                           const IndexSpec& spec);

/// Adds the indexes of another collection to an *empty* one, but for that of `_id` and those that are not ready: an
/// index under construction belongs to its build, which goes on in `from` or ends with it. Lock: collection X.
StatusWith<CollectionPtr> copyIndexes(Catalog& catalog, RecoveryUnit& unit, const Collection& from, CollectionPtr to);

/// Removes indexes by name. Errors: IndexNotFound (27), InvalidOptions (72: the `_id` index). Lock: collection X.
StatusWith<CollectionPtr> dropIndexes(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                      const std::vector<std::string>& names);

/// The builds that have unfinished indexes in the collection; nil for one that the catalog's row does not name.
std::vector<bson::Uuid> buildsIn(const Collection& collection);

/// Removes the unfinished indexes of a build, which is one operation: its abort. The same collection where it has none.
/// Lock: collection X.
StatusWith<CollectionPtr> takeBuildOut(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                       const bson::Uuid& build);

/// The names that the argument `index` of dropIndexes means: "*" (all but `_id`), a name, a key pattern, or an array of
/// names. Errors: IndexNotFound, AmbiguousIndexKeyPattern, InvalidOptions, TypeMismatch.
StatusWith<std::vector<std::string>> indexNamesFor(const Collection& collection, const bson::Element& index);

/// Groups of `_id`s whose documents have the same key in the index: [{ids: [...]}], as an array's document; empty when
/// it may become unique (IDX-004). Reads in the unit's snapshot.
StatusWith<bson::Document> uniqueViolations(RecoveryUnit& unit, const Collection& collection, const IndexEntry& index);

}  // namespace troupe::storage
