#include <memory>

#include "storage/query/pipeline/pipeline.hpp"
#include "storage/query/update/update.hpp"

namespace troupe::query {
namespace {

/// The stages, and the variables they borrow.
struct Parsed {
  bson::Document variables;
  ParseContext context;
  std::unique_ptr<PipelineUpdate> pipeline;
};

}  // namespace

StatusWith<UpdatePipeline> parseUpdatePipeline(bson::View stages, bson::View constants, const ParseContext& context) {
  auto parsed = std::make_shared<Parsed>();
  bson::Builder variables;
  variables.appendAll(context.let).appendAll(constants);
  parsed->variables = variables.finish();
  parsed->context = context;
  parsed->context.let = parsed->variables;
  TROUPE_ASSIGN(parsed->pipeline, PipelineUpdate::parse(stages, parsed->context));
  return UpdatePipeline([parsed](bson::View document) { return parsed->pipeline->apply(document); });
}

}  // namespace troupe::query
