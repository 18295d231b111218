#pragma once
#include <vector>

#include "actors/server/namespace_resolution.hpp"
#include "messaging/bson/document.hpp"

namespace troupe::commands {
using namespace server;

/// A namespace resolved for reading: the collection below its views, and the stages of the views on top.
struct ResolvedViews {
  AuthorizedNamespace ns;
  storage::CollectionPtr collection;  ///< null when it does not exist
  storage::CollectionPtr view;        ///< the one that was named; null where that was a collection
  bson::Document stages;              ///< an array: the pipelines of the views, the innermost first, then those given
  bool throughView = false;           ///< the name was a view's
};

/// Views stand on views, up to twenty deep. Errors: ViewDepthLimitExceeded.
StatusWith<ResolvedViews> resolveViews(const CatalogReader& catalog, const AuthorizedNamespace& ns, bson::View stages);
/// The collection or view of that name as it is.
StatusWith<ResolvedViews> resolveName(const CatalogReader& catalog, const AuthorizedNamespace& ns, bson::View stages);
/// Before the definition of a view is stored: its pipeline parses and writes nothing, and the client may read all that
/// the view will show to others: what it stands on and what its stages name. Errors: OptionNotSupportedOnView,
/// Unauthorized, those of parsing.
Status checkViewDefinition(Request& request, const storage::CollectionOptions& options);
/// Notes once that a view was found to stand on this namespace.
void noteFurther(std::vector<storage::Namespace>& below, const storage::Namespace& ns);

}  // namespace troupe::commands
