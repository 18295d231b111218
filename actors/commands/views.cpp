#include "actors/commands/views.hpp"

namespace troupe::commands {

namespace {
constexpr int kMaxViewDepth = 20;
}

StatusWith<ResolvedViews> resolveViews(storage::CatalogView& catalog, storage::Namespace ns, bson::View stages) {
  TROUPE_ASSIGN(auto collection, catalog.find(ns));
  ResolvedViews result{ns, std::move(collection), nullptr, bson::Document(stages)};
  if (result.collection && result.collection->isView()) result.view = result.collection;
  for (int depth = 0; result.collection && result.collection->isView(); ++depth) {
    if (depth == kMaxViewDepth)
      return Status(ErrorCode::kViewDepthLimitExceeded, "View depth limit exceeded: more than 20 views on each other");
    const storage::CollectionOptions& options = result.collection->options();
    bson::Builder joined;
    if (options.pipeline) {
      for (const bson::Element& e : options.pipeline->view()) joined.push(e);
    }
    for (const bson::Element& e : result.stages.view()) joined.push(e);
    result.stages = joined.finish();
    result.ns = storage::Namespace(result.ns.db(), options.viewOn);
    TROUPE_ASSIGN(result.collection, catalog.find(result.ns));
  }
  return result;
}

}  // namespace troupe::commands
