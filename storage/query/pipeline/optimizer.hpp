#pragma once
#include "storage/query/pipeline/pipeline.hpp"

namespace troupe::query {

/// Rewrites a pipeline's stages without changing its result.
class PipelineOptimizer {
 public:
  PipelineOptimizer(Pipeline& pipeline, const ParseContext& context) : stages_(pipeline.stages_), context_(context) {}
  Status run();
  /// Removes what a scan can do from the front.
  PushDown takePushDown();

 private:
  /// Tries each rewrite at one place; true when something changed.
  StatusWith<bool> rewriteAt(size_t i);
  StatusWith<bool> mergeMatches(size_t i);
  bool mergeCounts(size_t i);
  bool limitSort(size_t i);
  std::vector<StagePtr>& stages_;
  const ParseContext& context_;
};

}  // namespace troupe::query
