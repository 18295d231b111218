#pragma once
#include "messaging/bson/document.hpp"
#include "storage/catalog/catalog_view.hpp"

namespace troupe::commands {

/// A namespace resolved for reading: the collection below its views, and the stages of the views on top.
struct ResolvedViews {
  storage::Namespace ns;
  storage::CollectionPtr collection;  ///< null when it does not exist
  storage::CollectionPtr view;        ///< the one that was named; null where that was a collection
  bson::Document stages;              ///< an array: the pipelines of the views, the innermost first, then those given
};

/// Views stand on views, up to twenty deep. Errors: ViewDepthLimitExceeded.
StatusWith<ResolvedViews> resolveViews(storage::CatalogView& catalog, storage::Namespace ns, bson::View stages);

}  // namespace troupe::commands
