#pragma once
#include "storage/query/pipeline/pipeline.hpp"

namespace troupe::query {

/// Rewrites a pipeline's stages without changing its result.
class PipelineOptimizer {
 public:
  PipelineOptimizer(Pipeline& pipeline, const ParseContext& context) : stages_(pipeline.stages_), context_(context) {}
  /// Errors: of an interrupt.
  Status run();
  /// Removes what a scan can do from the front.
  PushDown takePushDown();

 private:
  /// A stage of the result, and the $matches that came to stand behind it, if it is one itself.
  struct Placed {
    StagePtr stage;
    std::vector<StagePtr> merged = {};
  };

  Status step(size_t work = 1) const;
  Status place(StagePtr stage);
  Status placeMatch(StagePtr stage);
  bool mergeCount(const Stage& stage);
  bool limitSort(int64_t limit);
  Status finish(Placed& placed);

  std::vector<StagePtr>& stages_;
  const ParseContext& context_;
  std::vector<Placed> placed_;  ///< the stages so far, rewritten as far as possible
};

}  // namespace troupe::query
