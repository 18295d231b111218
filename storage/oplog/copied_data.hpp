#pragma once
#include <span>

#include "storage/catalog/catalog.hpp"
#include "storage/catalog/collection_options.hpp"
#include "storage/catalog/namespace.hpp"

namespace troupe::storage {

// Units of work in which an initial sync writes the data of another member. The operation of `unit` writes in
// WriteMode::kApplied, with the time that all of the copy has, and has no unit of work open. Locks are the caller's:
// those of catalog_operations.hpp; the collection's IX for documents (X where it is capped). All of them: WriteConflict
// and its kin, to be run again.

/// Makes a collection with its UUID, or a view. One of that UUID stays as it is, whatever its name. Errors: those of
/// createCollection.
Status createCopied(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns, const CollectionOptions& options);

/// Adds documents, or replaces those of their `_id`s where they differ: a source may be read again, and a document that
/// was removed and inserted while it was read is met twice. Keys of unique indexes are not checked. Errors:
/// InvalidIdField; NamespaceNotFound (there is no such collection).
Status putCopied(Catalog& catalog, RecoveryUnit& unit, const bson::Uuid& collection,
                 std::span<const bson::View> documents);

/// Drops the collection or view of that name, if there is one.
Status dropCopied(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns);

}  // namespace troupe::storage
