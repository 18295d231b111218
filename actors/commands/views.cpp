#include "actors/commands/views.hpp"

#include <algorithm>

#include "actors/commands/query_support.hpp"
#include "storage/query/pipeline/pipeline.hpp"

namespace troupe::commands {

namespace {
constexpr int kMaxViewDepth = 20;
}

StatusWith<ResolvedViews> resolveName(const CatalogReader& catalog, const AuthorizedNamespace& ns, bson::View stages) {
  TROUPE_ASSIGN(auto collection, catalog.find(ns));
  return ResolvedViews{ns, std::move(collection), nullptr, bson::Document(stages)};
}

StatusWith<ResolvedViews> resolveViews(const CatalogReader& catalog, const AuthorizedNamespace& ns, bson::View stages) {
  TROUPE_ASSIGN(ResolvedViews result, resolveName(catalog, ns, stages));
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
    result.ns = NamespaceResolution::below(*result.collection);
    result.throughView = true;
    TROUPE_ASSIGN(result.collection, catalog.find(result.ns));
  }
  return result;
}

Status checkViewDefinition(Request& request, const storage::CollectionOptions& options) {
  const auth::ActionSet find = auth::actions({auth::Action::kFind});
  TROUPE_TRY(NamespaceResolution::resolve(request, {request.db(), options.viewOn}, find).status());
  if (!options.pipeline) return Status::OK();
  for (const bson::Element& e : options.pipeline->view()) {
    const auto stage = e.isObjectLike() ? e.asDocument().first().name() : std::string_view();
    if (stage == "$out" || stage == "$merge") {
      return {ErrorCode::kOptionNotSupportedOnView, "The aggregation stage " + std::string(stage) + " in location " +
                                                        std::string(e.name()) +
                                                        " of the pipeline cannot be used in the view definition"};
    }
  }
  QueryResources resources(request.server(), request.operation());
  TROUPE_TRY(prepareContext(resources, request, options.collation, {}));
  query::PipelineContext context;
  context.parse = &resources.context;
  context.on = {std::string(request.db()), options.viewOn};
  TROUPE_ASSIGN(const auto pipeline, query::Pipeline::parse(*options.pipeline, context));
  return PipelineNamespaces().admit(request, pipeline->involved());
}

void noteFurther(std::vector<storage::Namespace>& below, const storage::Namespace& ns) {
  if (std::ranges::find(below, ns) == below.end()) below.push_back(ns);
}

}  // namespace troupe::commands
