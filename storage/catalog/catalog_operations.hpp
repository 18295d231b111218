#pragma once
#include <string_view>

#include "storage/catalog/catalog.hpp"
#include "storage/catalog/collection_modification.hpp"
#include "storage/catalog/index_operations.hpp"

namespace troupe::storage {

// Changes of the catalog (DDL). Each call must be inside a WriteUnitOfWork of `unit`; the change is published
// when the unit commits and leaves no trace when it rolls back (CAT-012). Tables are created before and dropped after
// the catalog row (SRC-005). Calls take the version of the collection they change and return the next one, so that
// several changes can be made in one unit. Locks are the caller's: named for each call. All of them: WriteConflict, to
// be retried.

/// Makes a collection (with its `_id` index and a new UUID, unless the options name one) or a view. Errors:
/// InvalidNamespace, DatabaseDropPending, NamespaceExists (with the server's words; a repeated create of the same is
/// answered with the existing one, unless the options name another UUID), DatabaseDifferCase. DatabaseDropPending and
/// DatabaseDifferCase are not for what another member has logged (WriteMode::kApplied). Lock: database IX, collection
/// X.
StatusWith<CollectionPtr> createCollection(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns,
                                           CollectionOptions options);

/// First phase of a drop (CAT-023). Index builds of the collection are aborted before, as an operation of its own each:
/// also by dropDatabase, and for the target that renameCollection drops. Lock: database IX, collection X.
Status dropCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection);

/// Drops every collection and view of the database; of `local`, on a node that stands alone, also the log and the
/// config of a set that it was a member of (unlogged_changes.hpp). Lock: database X.
Status dropDatabase(Catalog& catalog, RecoveryUnit& unit, std::string_view db);

/// Gives a collection another name; its UUID stays (CAT-013). Errors: NamespaceExists unless `dropTarget`,
/// InvalidNamespace, IllegalOperation (same name). Lock: both collections X.
StatusWith<CollectionPtr> renameCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                           const Namespace& to, bool dropTarget);

}  // namespace troupe::storage
