#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"

// The pipeline form of updates.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;

namespace {

/// Gives one document, then ends, until it is given another.
class OneDocument final : public Stage {
 public:
  void set(bson::View document) { document_ = document; }
  StatusWith<Next> next() override {
    if (!document_) return Next::end();
    const bson::View document = *document_;
    document_.reset();
    return Next::of(document);
  }
  std::string_view name() const override { return "$queue"; }
  void serialize(bson::Builder&) const override {}

 private:
  std::optional<bson::View> document_;
};

}  // namespace

struct PipelineUpdate::State {
  ParseContext parse;
  OneDocument* source = nullptr;  // owned by the pipeline
  std::unique_ptr<Pipeline> pipeline;
};

PipelineUpdate::PipelineUpdate() : state_(std::make_unique<State>()) {}
PipelineUpdate::~PipelineUpdate() = default;

StatusWith<std::unique_ptr<PipelineUpdate>> PipelineUpdate::parse(bson::View stages, const ParseContext& context) {
  for (const Element& e : stages) {
    if (!e.is(Type::kDocument))
      return Status(ErrorCode::kTypeMismatch, "Each element of the 'pipeline' array must be an object");
    const auto name = e.asDocument().first().name();
    const StageRow* row = findStage(name);
    if (row && !row->inUpdates)
      return Status(ErrorCode::kInvalidOptions, std::string(name) + " is not allowed to be used within an update");
  }
  std::unique_ptr<PipelineUpdate> update(new PipelineUpdate);
  State& state = *update->state_;
  state.parse = context;
  PipelineContext pipelineContext;
  pipelineContext.parse = &state.parse;
  TROUPE_ASSIGN(state.pipeline, Pipeline::parse(stages, pipelineContext));
  auto source = std::make_unique<OneDocument>();
  state.source = source.get();
  state.pipeline->attach(std::move(source));
  return update;
}

StatusWith<Document> PipelineUpdate::apply(bson::View document) {
  state_->source->set(document);
  TROUPE_ASSIGN(const Next result, state_->pipeline->next());
  return Document(result.isDocument() ? result.document : document);
}

StatusWith<Document> applyPipelineUpdate(bson::View stages, bson::View document, const ParseContext& context) {
  TROUPE_ASSIGN(const auto update, PipelineUpdate::parse(stages, context));
  return update->apply(document);
}

}  // namespace troupe::query
