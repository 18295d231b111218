#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/stages.hpp"

// $facet: several pipelines over the same documents.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;

namespace {

/// Replays documents that the facet stage holds, without copying them.
class Replay final : public Stage {
 public:
  explicit Replay(const std::vector<Document>& documents) : documents_(documents) {}
  StatusWith<Next> next() override {
    if (at_ == documents_.size()) return Next::end();
    if (left_-- > 0) return Next::of(documents_[at_++].view());
    left_ = kDocumentsOfATurn;
    return Next::yield();
  }
  std::string_view name() const override { return "$queue"; }
  void serialize(bson::Builder&) const override {}

 private:
  const std::vector<Document>& documents_;
  size_t at_ = 0;
  int left_ = kDocumentsOfATurn;
};

/// Each is parsed, and has stages, before any document is read.
constexpr size_t kMostPipelines = 1000;

class FacetStage final : public Stage {
 public:
  FacetStage(std::vector<std::pair<std::string, std::unique_ptr<Pipeline>>> facets, PipelineContext context)
      : facets_(std::move(facets)), context_(std::move(context)), memory_(context_, "$facet") {}
  /// The pipelines may take longer than a turn: the one at hand goes on from where it yielded.
  StatusWith<Next> next() override {
    if (done_) return Next::end();
    if (!gathered_) {
      TROUPE_ASSIGN(gathered_, gather());
      if (!gathered_) return Next::yield();
      output_ = std::make_unique<Output>(context_.parse->work);
    }
    for (; at_ < facets_.size(); ++at_) {
      TROUPE_ASSIGN(const bool isComplete, readPipeline());
      if (!isComplete) return Next::yield();
    }
    done_ = true;
    current_ = output_->document.finish();
    output_.reset();
    return Next::of(current_.view());
  }
  void save() override {
    Stage::save();
    if (open_) facets_[at_].second->save();
  }
  Status restore() override {
    TROUPE_TRY(Stage::restore());
    return open_ ? facets_[at_].second->restore() : Status::OK();
  }
  std::string_view name() const override { return "$facet"; }
  void serialize(bson::Builder& stages) const override {
    stages.pushDocument().openDocument("$facet");
    for (const auto& [name, pipeline] : facets_) pipeline->serialize(name, stages);
    stages.close().close();
  }
  StageTraits traits() const override { return {.blocking = true, .inFacet = false}; }

 private:
  struct Output {
    explicit Output(QueryWork* work) : growth(work) {}
    bson::Builder document;
    Growth growth;
  };

  /// Reads the input; false where it yields.
  StatusWith<bool> gather() {
    for (;;) {
      TROUPE_ASSIGN(const Next in, pull());
      if (in.kind == Next::Kind::kYield) return false;
      if (in.isEnd()) return true;
      TROUPE_TRY(memory_.set(bytes_ += heldBytes(in.document)));
      documents_.emplace_back(in.document);
    }
  }
  /// Goes on with the pipeline at hand; false where it yields.
  StatusWith<bool> readPipeline() {
    auto& [name, pipeline] = facets_[at_];
    if (!std::exchange(open_, true)) {
      pipeline->attach(std::make_unique<Replay>(documents_));
      output_->document.openArray(name);
    }
    QueryWork* const work = context_.parse->work;
    for (int left = kDocumentsOfATurn; left > 0; --left) {
      if (work) TROUPE_TRY(work->step());
      TROUPE_ASSIGN(const Next in, pipeline->next());
      if (in.kind == Next::Kind::kYield) return false;
      if (in.isDocument()) {
        TROUPE_TRY(add(in.document));
        continue;
      }
      pipeline->save();  // gives up what its joins read: it is not asked again
      output_->document.close();
      open_ = false;
      return true;
    }
    return false;
  }
  Status add(bson::View document) {
    bson::Builder& out = output_->document;
    TROUPE_TRY(output_->growth.reserve(out.size() + static_cast<size_t>(document.size())));
    out.push(document);
    if (out.size() <= static_cast<size_t>(bson::kMaxInternalDocumentSize)) return Status::OK();
    return {ErrorCode::kResultTooLarge, "document constructed by $facet is " + std::to_string(out.size()) +
                                            " bytes, which exceeds the limit of " +
                                            std::to_string(bson::kMaxInternalDocumentSize) + " bytes"};
  }

  std::vector<std::pair<std::string, std::unique_ptr<Pipeline>>> facets_;
  PipelineContext context_;
  StageMemory memory_;
  std::vector<Document> documents_;
  int64_t bytes_ = 0;
  bool gathered_ = false, done_ = false;
  std::unique_ptr<Output> output_;  ///< the one under way
  size_t at_ = 0;                   ///< of the pipeline that is read
  bool open_ = false;               ///< it has begun
  Document current_;
};

Status parseFacet(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument) || e.asDocument().empty())
    return {ErrorCode(40169), "the $facet specification must be a non-empty object"};
  std::vector<std::pair<std::string, std::unique_ptr<Pipeline>>> facets;
  for (const Element& facet : e.asDocument()) {
    if (facets.size() == kMostPipelines)
      return {ErrorCode::kFailedToParse, "$facet takes no more than " + std::to_string(kMostPipelines) + " pipelines"};
    const std::string name(facet.name());
    if (name.starts_with('$') || name.find('.') != std::string::npos)
      return {ErrorCode::kFailedToParse, "$facet field names may not start with '$' or contain '.': " + name};
    if (!facet.is(Type::kArray))
      return {ErrorCode(40170), "arguments to $facet must be arrays, " + name + " is type " + typeOf(facet)};
    for (const Element& stage : facet.asArray()) {
      const std::string inner(stage.is(Type::kDocument) ? stage.asDocument().first().name() : "");
      if (inner == "$facet" || inner == "$out" || inner == "$merge" || inner == "$geoNear" || inner == "$collStats" ||
          inner == "$indexStats" || inner == "$planCacheStats" || inner == "$currentOp" || inner == "$documents" ||
          inner == "$changeStream" || inner == "$listCatalog" || inner == "$querySettings" || inner == "$actors" ||
          inner.starts_with("$_internal"))
        return {ErrorCode(40600), inner + " is not allowed to be used within a $facet stage"};
    }
    PipelineContext context = parser.context;
    ++context.depth;
    TROUPE_ASSIGN(auto pipeline, Pipeline::parse(facet.asArray(), context));
    TROUPE_TRY(pipeline->optimize());
    for (const auto& collection : pipeline->involved()) parser.involved.push_back(collection);
    facets.emplace_back(name, std::move(pipeline));
  }
  parser.add(std::make_unique<FacetStage>(std::move(facets), parser.context));
  return Status::OK();
}

constexpr StageRow kFacetStages[] = {{"$facet", parseFacet}};

}  // namespace

std::span<const StageRow> facetStages() { return kFacetStages; }

}  // namespace troupe::query
