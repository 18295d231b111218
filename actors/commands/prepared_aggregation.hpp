#pragma once
#include <memory>
#include <string>
#include <vector>

#include "actors/commands/query_support.hpp"
#include "actors/server/request.hpp"
#include "storage/query/pipeline/pipeline.hpp"

namespace troupe::commands {
using namespace server;

class OutputLock;

/// An aggregation ready to run: the pipeline with views resolved, its front pushed into the collection's plan.
struct PreparedAggregation {
  std::shared_ptr<QueryResources> resources;
  std::string ns;                             ///< as shown in the cursor
  std::optional<AuthorizedNamespace> target;  ///< of $out or $merge
  std::unique_ptr<ResultStream> stream;
  OutputLock* lock = nullptr;           ///< the stream's, of the target; to be taken before the stream is read
  query::Pipeline* pipeline = nullptr;  ///< the stream's
  query::PushDown pushed;               ///< what the plan took over
  query::Executor* executor = nullptr;  ///< the plan that feeds it; null for pipelines that make their own documents
};

/// The namespace an aggregation runs on, resolved for what its first stage does there. Errors: Unauthorized.
StatusWith<AuthorizedNamespace> resolveInput(Request& request, storage::Namespace ns, bson::View command);

/// Parses and opens an aggregation over a collection, view or (empty collection name) a database. `command` holds
/// `pipeline`, `collation`, `hint`, `let`, `allowDiskUse`, `bypassDocumentValidation` as in the aggregate command and
/// is copied. What its stages name is resolved for the client, what views name for their definitions. Errors: those of
/// parsing and planning, Unauthorized.
StatusWith<PreparedAggregation> prepareAggregation(Request& request, const AuthorizedNamespace& ns, bson::View command);

/// Writes the explanation of an aggregation into the reply.
Task<Status> explainAggregate(Request& request, AuthorizedNamespace ns, bson::View command,
                              query::ExplainVerbosity verbosity);

/// Runs a find on a view as an aggregation over the view's pipeline.
Task<Status> findOnView(Request& request, AuthorizedNamespace ns);
/// The stages of a find command: $match, $sort, $skip, $limit, $project.
bson::Document findAsPipeline(bson::View find);

}  // namespace troupe::commands
