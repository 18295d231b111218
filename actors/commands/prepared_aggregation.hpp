#pragma once
#include <memory>
#include <string>
#include <vector>

#include "actors/commands/query_support.hpp"
#include "actors/server/request.hpp"
#include "storage/query/pipeline/pipeline.hpp"

namespace troupe::commands {
using namespace server;

/// An aggregation ready to run: the pipeline with views resolved, its front pushed into the collection's plan.
struct PreparedAggregation {
  std::shared_ptr<QueryResources> resources;
  std::string ns;  ///< as shown in the cursor
  std::unique_ptr<ResultStream> stream;
  query::Pipeline* pipeline = nullptr;  ///< the stream's
  query::PushDown pushed;               ///< what the plan took over
  query::Executor* executor = nullptr;  ///< the plan that feeds it; null for pipelines that make their own documents
};

/// Parses and opens an aggregation over a collection, view or (empty collection name) a database. `command` holds
/// `pipeline`, `collation`, `hint`, `let`, `allowDiskUse` as in the aggregate command and is copied. Errors: those of
/// parsing and planning.
StatusWith<PreparedAggregation> prepareAggregation(Request& request, const storage::Namespace& ns, bson::View command);

/// Writes the explanation of an aggregation into the reply.
Task<Status> explainAggregate(Request& request, bson::View command, query::ExplainVerbosity verbosity);

/// Runs a find on a view as an aggregation over the view's pipeline.
Task<Status> findOnView(Request& request, storage::Namespace ns);
/// The stages of a find command: $match, $sort, $skip, $limit, $project.
bson::Document findAsPipeline(bson::View find);

}  // namespace troupe::commands
