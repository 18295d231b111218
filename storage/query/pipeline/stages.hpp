#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/query/match/match_parser.hpp"
#include "storage/query/parse_context.hpp"
#include "storage/query/pipeline/pipeline.hpp"
#include "storage/query/project/projection_tree.hpp"
#include "storage/query/query_work.hpp"
#include "storage/query/sort/sort_pattern.hpp"

// Shared by the families of stages: the table they are listed in, parsing, and the stages the optimizer knows by type.
namespace troupe::query {

/// While a pipeline is parsed: its context, and where stages and the collections they read are added.
struct StageParser {
  const PipelineContext& context;
  std::vector<StagePtr>& stages;
  std::vector<NamedCollection>& involved;
  const ParseContext& parse() const { return *context.parse; }
  void add(StagePtr stage) { stages.push_back(std::move(stage)); }
};

/// A row of the table of stages.
struct StageRow {
  std::string_view name;
  /// Appends the stage (or those it stands for).
  Status (*parse)(const bson::Element& specification, StageParser& parser);
  bool inUpdates = false;  ///< allowed in the pipeline form of updates
};

/// Adds a $group: `id` as the key, or null where `spec` has an `_id`; `spec` names the accumulators.
Status addGroup(ExpressionPtr id, bson::View spec, StageParser& parser);
/// Parses a sub-pipeline over a collection (unless it has a source of its own) and attaches its scan.
StatusWith<std::unique_ptr<Pipeline>> openPipeline(bson::View stages, const CollectionName& from,
                                                   bson::View extraFilter, const ParseContext& parse,
                                                   const PipelineContext& outer);
/// Adds the stages that another stage stands for.
Status addStage(std::string_view name, bson::View specification, StageParser& parser);

std::span<const StageRow> transformStages();
std::span<const StageRow> limitingStages();
std::span<const StageRow> groupStages();
std::span<const StageRow> bucketStages();
std::span<const StageRow> bucketAutoStages();
std::span<const StageRow> unwindStages();
std::span<const StageRow> imageLookupStages();
std::span<const StageRow> lookupStages();
std::span<const StageRow> graphLookupStages();
std::span<const StageRow> sourceStages();
std::span<const StageRow> facetStages();
std::span<const StageRow> outputStages();
std::span<const StageRow> mergeStages();
std::span<const StageRow> windowStages();
std::span<const StageRow> fillStages();
std::span<const StageRow> densifyStages();
std::span<const StageRow> rankFusionStages();

const StageRow* findStage(std::string_view name);

/// Whether the parser takes it for more than a constant, as a stage asks of what it groups by.
inline bool isExpression(const bson::Element& e) {
  return e.is(bson::Type::kDocument) || (e.is(bson::Type::kString) && e.asString().starts_with('$'));
}

/// What a blocking stage that cannot spill holds: at most its own limit, within the budget of the operation.
class StageMemory {
 public:
  /// `stage`: static text.
  StageMemory(const PipelineContext& context, std::string_view stage)
      : limit_(context.memoryLimit), stage_(stage), held_(context.parse->work) {}
  /// `bytes`: all of it. Errors: QueryExceededMemoryLimitNoDiskUseAllowed (292), ExceededMemoryLimit (146).
  Status set(int64_t bytes) { return bytes > limit_ ? overLimit() : held_.set(bytes); }

 private:
  Status overLimit() const;
  int64_t limit_;
  std::string_view stage_;
  HeldMemory held_;
};

/// The memory of a document that is held in a list: small ones take more for their place than for their bytes.
inline int64_t heldBytes(bson::View document) {
  constexpr int64_t kAllocation = 32;
  return document.size() + static_cast<int64_t>(sizeof(bson::Document)) + kAllocation;
}
/// The same for a value that was computed, or will be a copy of `value`.
inline int64_t heldBytes(const bson::Element& value) {
  return value.valueSize() + static_cast<int64_t>(sizeof(bson::Value));
}

/// A random number in [0, 1) from the context.
double randomNumber(const PipelineContext& context);

class MatchStage final : public Stage {
 public:
  static StatusWith<std::unique_ptr<MatchStage>> make(bson::View filter, const ParseContext& context);
  StatusWith<Next> next() override;
  std::string_view name() const override { return "$match"; }
  void serialize(bson::Builder& stages) const override { stages.pushDocument().append("$match", filter_).close(); }
  bool addDependencies(Dependencies& dependencies) const override;
  bson::View filter() const { return filter_; }
  const MatchExpression& expression() const { return *match_; }

 private:
  MatchStage() = default;
  bson::Document filter_;
  std::unique_ptr<MatchExpression> match_;
  QueryWork* work_ = nullptr;
};

/// $project, $addFields, $set, $unset, $replaceRoot: one result for each document.
class TransformStage final : public Stage {
 public:
  /// `in`: the document, and the metadata that its expressions may read.
  using Apply = std::function<StatusWith<bson::Document>(const Next& in)>;
  struct Effects {
    std::vector<std::string> written;  ///< top-level fields that are set, computed or removed
    bool keepsOthers = false;          ///< fields not written pass through unchanged
    Dependencies reads;
  };
  TransformStage(std::string name, bson::Document shown, Apply apply, Effects effects)
      : name_(std::move(name)), shown_(std::move(shown)), apply_(std::move(apply)), effects_(std::move(effects)) {}
  StatusWith<Next> next() override;
  std::string_view name() const override { return name_; }
  void serialize(bson::Builder& stages) const override { stages.push(shown_); }
  StageTraits traits() const override { return {.preservesCount = true}; }
  bool addDependencies(Dependencies& dependencies) const override;
  const Effects& effects() const { return effects_; }

 private:
  std::string name_;
  bson::Document shown_;
  Apply apply_;
  Effects effects_;
  bson::Document current_;
};

class SortStage final : public Stage {
 public:
  SortStage(bson::Document spec, SortPattern pattern, PipelineContext context)
      : spec_(std::move(spec)), pattern_(std::move(pattern)), context_(std::move(context)) {}
  StatusWith<Next> next() override;
  std::string_view name() const override { return "$sort"; }
  void serialize(bson::Builder& stages) const override;
  StageTraits traits() const override { return {.blocking = true}; }
  bool addDependencies(Dependencies& dependencies) const override;
  bson::View spec() const { return spec_; }
  /// Bounds the results that are needed; the smallest bound holds.
  void setLimit(int64_t limit) { limit_ = limit_ ? std::min(*limit_, limit) : limit; }
  std::optional<int64_t> limit() const { return limit_; }

 private:
  bson::Document spec_;
  SortPattern pattern_;
  PipelineContext context_;
  std::optional<int64_t> limit_;
  std::unique_ptr<Sorter> sorter_;
  bool sorted_ = false;
  std::string current_;  ///< a document, and its metadata behind it if there is any
};

class LimitStage final : public Stage {
 public:
  explicit LimitStage(int64_t limit) : limit_(limit), left_(limit) {}
  StatusWith<Next> next() override;
  std::string_view name() const override { return "$limit"; }
  void serialize(bson::Builder& stages) const override { stages.pushDocument().append("$limit", limit_).close(); }
  bool addDependencies(Dependencies&) const override { return true; }
  int64_t limit() const { return limit_; }

 private:
  int64_t limit_, left_;
};

class SkipStage final : public Stage {
 public:
  explicit SkipStage(int64_t skip) : skip_(skip), left_(skip) {}
  StatusWith<Next> next() override;
  std::string_view name() const override { return "$skip"; }
  void serialize(bson::Builder& stages) const override { stages.pushDocument().append("$skip", skip_).close(); }
  bool addDependencies(Dependencies&) const override { return true; }
  int64_t skip() const { return skip_; }

 private:
  int64_t skip_, left_;
};

/// Documents after which a stage that makes one result of many yields, though its source does not.
inline constexpr int kDocumentsOfATurn = 128;

/// Reads all of a stage; a yield is passed over, so that nobody else has a turn: only for what ends soon.
Status drain(const std::function<StatusWith<Next>()>& next, const PipelineContext& context,
             const std::function<Status(bson::View)>& each);

}  // namespace troupe::query
