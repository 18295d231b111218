#pragma once
#include <string_view>

#include "storage/catalog/catalog.hpp"

namespace troupe::storage {

/// Shows a table that the node keeps for itself, in `local`, as a collection without indexes: a row of the catalog over
/// the table `ident`, so that clients read it as any other. Called when a member starts, alone on the node; finds what
/// an earlier start has made. Errors: UnsupportedFormat, when a client made a collection of that name.
StatusWith<CollectionPtr> showTable(Catalog& catalog, const Namespace& ns, std::string_view ident,
                                    CollectionOptions options);

}  // namespace troupe::storage
