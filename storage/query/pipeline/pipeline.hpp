#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/query/pipeline/environment.hpp"
#include "storage/query/pipeline/stage.hpp"
#include "storage/query/sort/sorter.hpp"

namespace troupe::query {

struct ParseContext;

/// Settings and services for parsing a pipeline.
struct PipelineContext {
  const ParseContext* parse = nullptr;  ///< collation, `now`, variables; outlives the pipeline
  PipelineEnvironment* environment =
      nullptr;        ///< null where no stage may touch storage (updates); outlives the pipeline
  CollectionName on;  ///< what the aggregation runs on
  bool allowDiskUse = true;
  int64_t memoryLimit = 100 * 1024 * 1024;  ///< bytes a blocking stage may hold
  int depth = 0;                            ///< nesting of sub-pipelines
  SpillFileFactory spill;                   ///< where blocking stages put what passes the limit; empty: they fail
  std::function<double()> random;           ///< for $sample and $rand; null means a thread-local generator
};

/// A chain of stages. Usage: parse, (optimize), takePushDown, open the collection with it, attach the scan as source,
/// pull.
class Pipeline {
 public:
  /// Parses `[{$match: ...}, ...]`. Errors: UnrecognizedPipelineStageName (40324), UnrecognizedPipelineStageArity
  /// (40323), TypeMismatch for elements that are not documents, 40601/40602 for stages in the wrong place, and per
  /// stage.
  static StatusWith<std::unique_ptr<Pipeline>> parse(bson::View stages, const PipelineContext& context);
  ~Pipeline();

  /// Reorders and merges stages without changing the result: $match before independent $project/$addFields, $sort
  /// before $match swapped, $sort+$limit merged, neighbouring $match/$limit/$skip merged. Called once, before
  /// takePushDown.
  Status optimize();
  /// Removes what a collection scan can do itself from the front: $match, then $sort, then $skip and $limit.
  PushDown takePushDown();
  /// The fields of the source's documents that the remaining stages read.
  Dependencies dependencies() const;
  /// True when a stage reads {$meta: "indexKey"}: the source then gives each document that metadata.
  bool readsIndexKey() const;

  /// True when the first stage produces documents itself ($documents, $collStats ...): attach nothing then.
  bool startsWithSource() const;
  /// True when the first stage may run with `aggregate: 1`.
  bool isCollectionless() const;
  /// True when it ends with $out or $merge; `writeTarget` is then the collection.
  bool writes() const;
  CollectionName writeTarget() const;
  /// All that the stages name besides the input, sub-pipelines included: sources of joins, special sources, targets of
  /// $out and $merge (for privileges).
  const std::vector<NamedCollection>& involved() const { return involved_; }
  /// What a pipeline of these stages does with the namespace it runs on: kRead, or what its first stage asks of it.
  static NamespaceUse useOfInput(bson::View stages);

  /// Sets what feeds the first stage, e.g. a collection scan.
  void attach(StagePtr source);
  /// The next result of the last stage.
  StatusWith<Next> next();
  void save();
  Status restore();

  /// The stages in parsed form: `[{$match: ...}, ...]` appended under `name`.
  void serialize(std::string_view name, bson::Builder& out) const;
  size_t size() const { return stages_.size(); }

 private:
  friend class PipelineOptimizer;
  Pipeline() = default;
  void link();
  Status charge(bson::View stages);

  StagePtr source_;
  std::vector<StagePtr> stages_;
  std::vector<NamedCollection> involved_;
  const ParseContext* parse_ = nullptr;
  storage::MemoryCharge charge_;
};

/// The pipeline form of an update: parsed once, applied to documents. Only $set/$addFields, $unset/$project and
/// $replaceRoot/$replaceWith are allowed (InvalidOptions, 72). Not thread-safe.
class PipelineUpdate {
 public:
  static StatusWith<std::unique_ptr<PipelineUpdate>> parse(bson::View stages, const ParseContext& context);
  ~PipelineUpdate();
  /// The document after all stages; the caller checks that `_id` did not change.
  StatusWith<bson::Document> apply(bson::View document);

 private:
  PipelineUpdate();
  struct State;
  std::unique_ptr<State> state_;
};

/// `apply` in one go, for a pipeline that is used once.
StatusWith<bson::Document> applyPipelineUpdate(bson::View stages, bson::View document, const ParseContext& context);

}  // namespace troupe::query
