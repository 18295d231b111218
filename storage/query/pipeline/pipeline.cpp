#include "storage/query/pipeline/pipeline.hpp"

#include <algorithm>
#include <unordered_map>

#include "storage/query/expression/values.hpp"
#include "storage/query/pipeline/optimizer.hpp"
#include "storage/query/pipeline/output.hpp"
#include "storage/query/pipeline/stages.hpp"

namespace troupe::query {

using bson::Element;
using bson::Type;

namespace {

constexpr int kMaxStages = 1000;
constexpr int kMaxDepth = 20;

std::unordered_map<std::string_view, const StageRow*> indexStages() {
  std::unordered_map<std::string_view, const StageRow*> index;
  for (const auto family :
       {transformStages(), limitingStages(), groupStages(), bucketStages(), bucketAutoStages(), unwindStages(),
        lookupStages(), graphLookupStages(), sourceStages(), facetStages(), outputStages(), mergeStages(),
        windowStages(), fillStages(), densifyStages(), rankFusionStages(), imageLookupStages()})
    for (const StageRow& row : family) index.emplace(row.name, &row);
  return index;
}

Status checkPlaces(const std::vector<StagePtr>& stages) {
  for (size_t i = 0; i < stages.size(); ++i) {
    const StageTraits traits = stages[i]->traits();
    const std::string name(stages[i]->name());
    if (traits.source && i != 0) return {ErrorCode(40602), name + " is only valid as the first stage in a pipeline"};
    if (traits.last && i + 1 != stages.size())
      return {ErrorCode(40601), name + " can only be the final stage in the pipeline"};
  }
  return Status::OK();
}

/// Tells the last $group that stands behind nothing but what a scan does itself, unless it is the end of the pipeline,
/// or all that follows is written.
void findHandingOn(const std::vector<StagePtr>& stages) {
  constexpr std::string_view kOfScan[] = {"$match", "$sort", "$skip", "$limit"};
  const auto isGroup = [](const StagePtr& stage) { return stage->name() == "$group"; };
  const auto ofScan = [&](const StagePtr& stage) { return std::ranges::count(kOfScan, stage->name()) > 0; };
  const auto first = std::find_if_not(stages.begin(), stages.end(), ofScan);
  const auto next = std::find_if_not(first, stages.end(), isGroup);
  if (next != first && next != stages.end() && !(*next)->traits().writes) (*std::prev(next))->handOnResults();
}

}  // namespace

const StageRow* findStage(std::string_view name) {
  static const auto index = indexStages();
  const auto found = index.find(name);
  return found == index.end() ? nullptr : found->second;
}

StatusWith<std::unique_ptr<Pipeline>> Pipeline::parse(bson::View stages, const PipelineContext& context) {
  if (context.depth > kMaxDepth)
    return Status(ErrorCode(232), "Maximum number of nested sub-pipelines exceeded. Limit is 20");
  if (stages.count() > kMaxStages)
    return Status(ErrorCode(7749501), "Pipeline length must be no longer than 1000 stages");
  std::unique_ptr<Pipeline> pipeline(new Pipeline);
  pipeline->parse_ = context.parse;
  TROUPE_TRY(pipeline->charge(stages));
  StageParser parser{context, pipeline->stages_, pipeline->involved_};
  for (const Element& e : stages) {
    if (!e.is(Type::kDocument))
      return Status(ErrorCode::kTypeMismatch, "Each element of the 'pipeline' array must be an object");
    const bson::View stage = e.asDocument();
    if (stage.count() != 1)
      return Status(ErrorCode::kUnrecognizedPipelineStageArity,
                    "A pipeline stage specification object must contain exactly one field.");
    const Element specification = stage.first();
    const StageRow* row = findStage(specification.name());
    if (!row)
      return Status(ErrorCode::kUnrecognizedPipelineStageName,
                    "Unrecognized pipeline stage name: '" + std::string(specification.name()) + "'");
    TROUPE_TRY(row->parse(specification, parser));
  }
  TROUPE_TRY(checkPlaces(pipeline->stages_));
  if (context.depth == 0) findHandingOn(pipeline->stages_);
  pipeline->link();
  return pipeline;
}

/// There may be very many small ones: $facet and the joins have pipelines of their own.
Status Pipeline::charge(bson::View stages) {
  constexpr int64_t kPipelineBytes = 512, kStageBytes = 1024;
  QueryWork* const work = parse_ ? parse_->work : nullptr;
  if (!work) return Status::OK();
  TROUPE_TRY(work->step(stepsFor(stages.size())));
  return charge_.resize(work->memory(), kPipelineBytes + stages.count() * kStageBytes + stages.size());
}

Pipeline::~Pipeline() = default;

Status Pipeline::optimize() {
  TROUPE_TRY(PipelineOptimizer(*this, *parse_).run());
  link();
  return Status::OK();
}

PushDown Pipeline::takePushDown() {
  PushDown taken;
  if (!startsWithSource()) taken = PipelineOptimizer(*this, *parse_).takePushDown();
  taken.parse = parse_;
  link();
  return taken;
}

Dependencies Pipeline::dependencies() const {
  Dependencies result;
  for (const auto& stage : stages_)
    if (!stage->addDependencies(result)) return result;
  result.wholeDocument = true;
  return result;
}

bool Pipeline::readsIndexKey() const {
  Dependencies all;
  for (const auto& stage : stages_) stage->addDependencies(all);
  return all.indexKey;
}

NamespaceUse Pipeline::useOfInput(bson::View stages) {
  const Element first = stages.first();
  if (!first.is(Type::kDocument)) return NamespaceUse::kRead;
  return useOfSource(first.asDocument().first().name()).value_or(NamespaceUse::kRead);
}

bool Pipeline::startsWithSource() const { return !stages_.empty() && stages_.front()->traits().source; }
bool Pipeline::isCollectionless() const { return !stages_.empty() && stages_.front()->traits().collectionless; }
bool Pipeline::writes() const { return !stages_.empty() && stages_.back()->traits().writes; }

CollectionName Pipeline::writeTarget() const {
  const auto* output = stages_.empty() ? nullptr : dynamic_cast<const OutputStage*>(stages_.back().get());
  return output ? output->target() : CollectionName{};
}

void Pipeline::link() {
  Stage* previous = source_.get();
  for (const auto& stage : stages_) {
    stage->setInput(previous, parse_ ? parse_->work : nullptr);
    previous = stage.get();
  }
}

void Pipeline::attach(StagePtr source) {
  source_ = std::move(source);
  link();
}

StatusWith<Next> Pipeline::next() {
  if (!stages_.empty()) return stages_.back()->next();
  return source_ ? source_->next() : StatusWith<Next>(Next::end());
}

void Pipeline::save() {
  if (!stages_.empty()) stages_.back()->save();
  else if (source_) source_->save();
}

Status Pipeline::restore() {
  if (!stages_.empty()) return stages_.back()->restore();
  return source_ ? source_->restore() : Status::OK();
}

void Pipeline::serialize(std::string_view name, bson::Builder& out) const {
  out.openArray(name);
  for (const auto& stage : stages_) stage->serialize(out);
  out.close();
}

}  // namespace troupe::query
