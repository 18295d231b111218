#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "messaging/bson/compare.hpp"
#include "storage/query/expression/accumulator.hpp"
#include "storage/query/expression/values.hpp"
#include "storage/query/interruptible_sort.hpp"
#include "storage/query/pipeline/stages.hpp"

// $rankFusion: the documents that several pipelines over one collection find, in the order of their reciprocal ranks.
namespace troupe::query {

using bson::Document;
using bson::Element;
using bson::Type;
using bson::Value;

namespace {

constexpr double kRankConstant = 60;
constexpr int kMaxPipelines = 1000;

struct RankedInput {
  std::string name;
  Document stages;  ///< as an array's bytes
  SortPattern order;
  double weight = 1;
};

class RankFusionStage final : public Stage {
 public:
  RankFusionStage(Document shown, std::vector<RankedInput> inputs, bool detailed, PipelineContext context)
      : shown_(std::move(shown)),
        inputs_(std::move(inputs)),
        detailed_(detailed),
        context_(std::move(context)),
        memory_(context_, "$rankFusion"),
        found_(Less{context_.parse->collator}) {}

  StatusWith<Next> next() override {
    while (!fused_) {
      if (!running_) {
        if (at_ == inputs_.size()) {
          TROUPE_TRY(fuse());
          break;
        }
        TROUPE_ASSIGN(running_, openPipeline(inputs_[at_].stages, context_.on, {}, *context_.parse, context_));
        position_ = rank_ = 0;
      }
      auto in = running_->next();
      if (!in.isOK() || in->kind == Next::Kind::kYield) return in;
      if (in->isDocument()) {
        TROUPE_TRY(hold(in->document));
        continue;
      }
      running_.reset();
      ++at_;
    }
    if (shownSoFar_ == order_.size()) return Next::end();
    const Found& found = *order_[shownSoFar_++];
    TROUPE_ASSIGN(metadata_, metadataOf(found));
    return Next::of(found.document.view(), metadata_.view());
  }
  std::string_view name() const override { return "$rankFusion"; }
  void serialize(bson::Builder& stages) const override { stages.push(shown_); }
  StageTraits traits() const override { return {.source = true, .blocking = true, .inFacet = false}; }
  void save() override {
    if (running_) running_->save();
  }
  Status restore() override { return running_ ? running_->restore() : Status::OK(); }

 private:
  struct Found {
    Document document;
    double score = 0;
    std::vector<int64_t> ranks;  ///< by input, 0 where the input has not found it; empty without details
  };
  struct Less {
    const bson::Collator* collator;
    bool operator()(const Value& a, const Value& b) const {
      return bson::compareValues(a.element(), b.element(), collator) < 0;
    }
  };

  /// Documents that sort alike have one rank, and the next has that of its position.
  Status hold(bson::View document) {
    if (context_.parse->work) TROUPE_TRY(context_.parse->work->step(stepsFor(document.size())));
    TROUPE_ASSIGN(std::string key, inputs_[at_].order.key(document));
    ++position_;
    if (rank_ == 0 || key != lastKey_) rank_ = position_;
    lastKey_ = std::move(key);
    const Element id = document["_id"];
    if (context_.parse->work) TROUPE_TRY(context_.parse->work->step(stepsOfAdding(id)));
    auto [entry, isNew] = found_.try_emplace(Value(id));
    entry->second.score += inputs_[at_].weight / (kRankConstant + static_cast<double>(rank_));
    if (isNew) {
      bytes_ += 2 * static_cast<int64_t>(document.size()) + static_cast<int64_t>(sizeof(Found)) + kPerEntry;
      if (detailed_) bytes_ += static_cast<int64_t>(inputs_.size() * sizeof(int64_t));
      TROUPE_TRY(memory_.set(bytes_));
      entry->second.document = Document(document);
      if (detailed_) entry->second.ranks.resize(inputs_.size());
    }
    if (detailed_) entry->second.ranks[at_] = rank_;
    return Status::OK();
  }
  /// `{score, scoreDetails?}`: what `$meta` reads of a result.
  StatusWith<Document> metadataOf(const Found& found) const {
    bson::Builder out;
    out.append("score", found.score);
    if (!detailed_) return out.finish();
    Growth growth(context_.parse->work);
    out.openDocument("scoreDetails").append("value", found.score);
    out.append("description",
               "value output by reciprocal rank fusion algorithm, computed as sum of (weight * (1 / (60 + rank))) "
               "across input pipelines from which this document is output, from:");
    out.openArray("details");
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (context_.parse->work) TROUPE_TRY(context_.parse->work->step());
      TROUPE_TRY(growth.reserve(out.size() + inputs_[i].name.size() + kPerDetail));
      out.pushDocument().append("inputPipelineName", inputs_[i].name);
      if (found.ranks[i] == 0) out.append("rank", "NA");
      else out.append("rank", integer(found.ranks[i])).append("weight", inputs_[i].weight).openArray("details").close();
      out.close();
    }
    out.close().close();
    return out.finish();
  }
  /// By score, and those of one score by `_id`.
  Status fuse() {
    for (const auto& [id, found] : found_) {
      if (context_.parse->work) TROUPE_TRY(context_.parse->work->step());
      order_.push_back(&found);
    }
    fused_ = true;
    return sortStably(order_, context_.parse->work, [](const Found* a, const Found* b) { return a->score > b->score; });
  }

  static constexpr int64_t kPerEntry = 160;  ///< of the map, about
  static constexpr size_t kPerDetail = 96;   ///< of the details of one input, beside its name
  Document shown_;
  std::vector<RankedInput> inputs_;
  bool detailed_;
  PipelineContext context_;
  StageMemory memory_;
  std::map<Value, Found, Less> found_;
  std::vector<const Found*> order_;
  std::unique_ptr<Pipeline> running_;
  Document metadata_;  ///< of the last result
  std::string lastKey_;
  size_t at_ = 0, shownSoFar_ = 0;
  int64_t position_ = 0, rank_ = 0, bytes_ = 0;
  bool fused_ = false;
};

Status missingFusionField(std::string_view path) {
  return {ErrorCode::kMissingRequiredField, "BSON field '" + std::string(path) + "' is missing but a required field"};
}

Status wrongFusionType(std::string_view path, const Element& e, std::string_view expected) {
  return {ErrorCode::kTypeMismatch, "BSON field '" + std::string(path) + "' is the wrong type '" + typeOf(e) +
                                        "', expected type '" + std::string(expected) + "'"};
}

Status unknownFusionField(std::string_view path, const Element& e) {
  return {ErrorCode::kUnknownField,
          "BSON field '" + std::string(path) + "." + std::string(e.name()) + "' is an unknown field."};
}

/// The only field of a document, which has to be a document itself.
StatusWith<bson::View> onlyDocument(const Element& outer, std::string_view path, std::string_view name) {
  if (!outer.is(Type::kDocument)) return wrongFusionType(path, outer, "object");
  for (const Element& e : outer.asDocument())
    if (e.name() != name) return unknownFusionField(path, e);
  const Element inner = outer.asDocument()[name];
  const std::string innerPath = std::string(path) + "." + std::string(name);
  if (inner.isNullish()) return missingFusionField(innerPath);
  if (!inner.is(Type::kDocument)) return wrongFusionType(innerPath, inner, "object");
  return inner.asDocument();
}

Status checkInputName(std::string_view name) {
  if (name.empty()) return {ErrorCode(15998), "$rankFusion: the name of a pipeline may not be empty"};
  if (name.front() == '$')
    return {ErrorCode(16410), "$rankFusion: the name of a pipeline may not begin with '$': " + std::string(name)};
  if (name.find('\0') != std::string_view::npos)
    return {ErrorCode(16411), "$rankFusion: the name of a pipeline may not contain a null byte"};
  if (name.find('.') != std::string_view::npos)
    return {ErrorCode(16412), "$rankFusion: the name of a pipeline may not contain '.': " + std::string(name)};
  return Status::OK();
}

/// The order that ranks the documents of a pipeline: its last $sort. Its stages may choose documents but not change
/// them.
StatusWith<SortPattern> orderOf(const Element& input, const ParseContext& context) {
  constexpr std::string_view kSelecting[] = {"$match", "$sort", "$limit", "$skip", "$sample"};
  Element order;
  for (const Element& e : input.asArray()) {
    if (!e.is(Type::kDocument)) return wrongFusionType("$rankFusion.input.pipelines", e, "object");
    const Element stage = e.asDocument().first();
    if (stage.name() == "$rankFusion" || stage.name() == "$scoreFusion")
      return Status(ErrorCode(10473002), std::string(stage.name()) + " is not allowed within $rankFusion");
    if (findStage(stage.name()) && std::ranges::count(kSelecting, stage.name()) == 0)
      return Status(ErrorCode(9191103), "$rankFusion: the pipeline '" + std::string(input.name()) +
                                            "' may only select documents, but contains " + std::string(stage.name()));
    if (stage.name() == "$sort") order = stage;
  }
  if (!order.is(Type::kDocument))
    return Status(ErrorCode(9191100), "$rankFusion: the pipeline '" + std::string(input.name()) +
                                          "' has no order: it has to contain a $sort");
  return SortPattern::parse(order.asDocument(), context);
}

StatusWith<std::vector<RankedInput>> parseInputs(bson::View pipelines, StageParser& parser) {
  std::vector<RankedInput> inputs;
  if (pipelines.empty()) return Status(ErrorCode::kBadValue, "$rankFusion.input.pipelines must name at least one");
  if (pipelines.count() > kMaxPipelines)
    return Status(ErrorCode::kBadValue, "$rankFusion.input.pipelines may name at most " +
                                            std::to_string(kMaxPipelines) + " pipelines, but names " +
                                            std::to_string(pipelines.count()));
  std::unordered_set<std::string_view> names;
  QueryWork* const work = parser.parse().work;
  for (const Element& input : pipelines) {
    if (work) TROUPE_TRY(work->step(stepsFor(input.size())));
    if (!input.is(Type::kArray)) return wrongFusionType("$rankFusion.input.pipelines", input, "array");
    for (const Element& stage : input.asArray())
      if (!stage.is(Type::kDocument)) return wrongFusionType("$rankFusion.input.pipelines", stage, "object");
    TROUPE_TRY(checkInputName(input.name()));
    if (!names.insert(input.name()).second)
      return Status(ErrorCode::kBadValue,
                    "$rankFusion has two pipelines of the name '" + std::string(input.name()) + "'");
    if (input.asArray().empty())
      return Status(ErrorCode(9834300), "$rankFusion: the pipeline '" + std::string(input.name()) + "' is empty");
    PipelineContext context = parser.context;
    ++context.depth;
    TROUPE_ASSIGN(const auto parsed, Pipeline::parse(input.asArray(), context));  // its errors show at once
    TROUPE_ASSIGN(auto order, orderOf(input, parser.parse()));
    inputs.push_back({std::string(input.name()), Document(input.asArray()), std::move(order), 1});
  }
  return inputs;
}

Status applyWeights(bson::View weights, std::vector<RankedInput>& inputs, QueryWork* work) {
  if (static_cast<size_t>(weights.count()) > inputs.size())
    return {ErrorCode(9460301), "$rankFusion.combination.weights has more weights than there are pipelines"};
  std::unordered_map<std::string_view, RankedInput*> byName;
  for (RankedInput& input : inputs) byName.emplace(input.name, &input);
  for (const Element& weight : weights) {
    if (work) TROUPE_TRY(work->step(stepsFor(weight.size())));
    const auto found = byName.find(weight.name());
    if (found == byName.end())
      return {ErrorCode(9967500),
              "$rankFusion has a weight for '" + std::string(weight.name()) + "', but no pipeline of that name"};
    RankedInput* const input = found->second;
    if (!weight.isNumber())
      return {ErrorCode(13118), "$rankFusion: the weight of '" + input->name + "' must be a number"};
    input->weight = weight.toDouble();
    if (!(input->weight >= 0))
      return {ErrorCode(9460300), "$rankFusion: the weight of '" + input->name + "' must not be negative"};
  }
  return Status::OK();
}

Status parseRankFusion(const Element& e, StageParser& parser) {
  if (!e.is(Type::kDocument))
    return {ErrorCode::kFailedToParse, "the $rankFusion stage specification must be an object, found " + typeOf(e)};
  if (!parser.stages.empty())
    return {ErrorCode(10170100), "$rankFusion is only valid as the first stage in a pipeline"};
  Element input, combination, details;
  for (const Element& field : e.asDocument()) {
    if (field.name() == "input") input = field;
    else if (field.name() == "combination") combination = field;
    else if (field.name() != "scoreDetails") return unknownFusionField("$rankFusion", field);
    else if (!field.is(Type::kBool) && !field.isNullish())
      return wrongFusionType("$rankFusion.scoreDetails", field, "bool");
    else details = field;
  }
  if (input.isNullish()) return missingFusionField("$rankFusion.input");
  TROUPE_ASSIGN(const bson::View pipelines, onlyDocument(input, "$rankFusion.input", "pipelines"));
  bson::View weights;
  if (!combination.isNullish()) {
    TROUPE_ASSIGN(weights, onlyDocument(combination, "$rankFusion.combination", "weights"));
  }
  if (!parser.context.environment) return {ErrorCode::kInvalidOptions, "$rankFusion is not allowed here"};
  TROUPE_ASSIGN(auto inputs, parseInputs(pipelines, parser));
  TROUPE_TRY(applyWeights(weights, inputs, parser.parse().work));
  parser.involved.push_back({parser.context.on, NamespaceUse::kRead});
  bson::Builder shown;
  shown.append("$rankFusion", e);
  parser.add(std::make_unique<RankFusionStage>(shown.finish(), std::move(inputs), details.truthy(), parser.context));
  return Status::OK();
}

constexpr StageRow kRankFusionStages[] = {{"$rankFusion", parseRankFusion}};

}  // namespace

std::span<const StageRow> rankFusionStages() { return kRankFusionStages; }

}  // namespace troupe::query
