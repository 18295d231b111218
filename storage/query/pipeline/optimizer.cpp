#include "storage/query/pipeline/optimizer.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "storage/query/pipeline/stages.hpp"

namespace troupe::query {

using bson::Document;

namespace {

template <class T>
T* as(const StagePtr& stage) {
  return dynamic_cast<T*>(stage.get());
}

/// What a filter reads, to be compared with what many stages write.
class Reads {
 public:
  explicit Reads(const MatchStage& match) {
    match.addDependencies(all_);
    for (const std::string& path : all_.paths) tops_.insert(std::string_view(path).substr(0, path.find('.')));
  }

  /// Whether the filter reads nothing that the stage writes, so that it may run before it.
  bool mayPass(const TransformStage& transform) const { return isIndependentOf(transform) || isIncludedBy(transform); }
  /// How many comparisons that takes.
  size_t compared(const TransformStage& transform) const {
    return all_.paths.size() + transform.effects().written.size();
  }

 private:
  bool isIndependentOf(const TransformStage& transform) const {
    const auto& effects = transform.effects();
    if (!effects.keepsOthers || all_.wholeDocument || all_.random || effects.reads.random) return false;
    return std::none_of(effects.written.begin(), effects.written.end(),
                        [&](const std::string& field) { return tops_.contains(field); });
  }

  /// For inclusion projections: the filter reads only fields that pass unchanged.
  bool isIncludedBy(const TransformStage& transform) const {
    const auto& effects = transform.effects();
    if (transform.name() != "$project" || effects.keepsOthers || !effects.written.empty()) return false;
    return !all_.wholeDocument && std::all_of(all_.paths.begin(), all_.paths.end(), [&](const std::string& path) {
      return effects.reads.paths.contains(path);
    });
  }

  Dependencies all_;
  std::unordered_set<std::string_view> tops_;
};

/// One filter of all: flat, so that it is no deeper than the deepest of them, but for the $and around them.
Document conjunction(const StagePtr& first, const std::vector<StagePtr>& others) {
  std::vector<bson::View> filters;
  const auto add = [&](const StagePtr& stage) {
    const bson::View filter = as<MatchStage>(stage)->filter();
    if (!filter.empty()) filters.push_back(filter);
  };
  add(first);
  for (const StagePtr& other : others) add(other);
  bson::Builder all;
  if (filters.size() == 1) return all.appendAll(filters.front()).finish();
  if (filters.empty()) return {};
  all.openArray("$and");
  for (const bson::View filter : filters) all.push(filter);
  return all.close().finish();
}

}  // namespace

Status PipelineOptimizer::step(size_t work) const {
  return context_.work ? context_.work->step(static_cast<int64_t>(work)) : Status::OK();
}

/// A $match runs before all stages that leave alone what it reads, and together with the one it meets there.
Status PipelineOptimizer::placeMatch(StagePtr stage) {
  const Reads reads(*as<MatchStage>(stage));
  size_t at = placed_.size();
  for (; at > 0; --at) {
    const StagePtr& before = placed_[at - 1].stage;
    const auto* sort = as<SortStage>(before);
    const auto* transform = as<TransformStage>(before);
    TROUPE_TRY(step(transform ? 1 + reads.compared(*transform) / 8 : 1));
    if (!(sort && !sort->limit()) && !(transform && reads.mayPass(*transform))) break;
  }
  if (at > 0 && as<MatchStage>(placed_[at - 1].stage)) {
    placed_[at - 1].merged.push_back(std::move(stage));
  } else {
    placed_.insert(placed_.begin() + static_cast<std::ptrdiff_t>(at), {std::move(stage)});
  }
  return Status::OK();
}

/// $limit behind $limit, $skip behind $skip.
bool PipelineOptimizer::mergeCount(const Stage& stage) {
  if (placed_.empty()) return false;
  StagePtr& last = placed_.back().stage;
  const auto *limit = as<LimitStage>(last), *nextLimit = dynamic_cast<const LimitStage*>(&stage);
  const auto *skip = as<SkipStage>(last), *nextSkip = dynamic_cast<const SkipStage*>(&stage);
  int64_t sum = 0;
  if (limit && nextLimit) {
    last = std::make_unique<LimitStage>(std::min(limit->limit(), nextLimit->limit()));
  } else if (skip && nextSkip && !__builtin_add_overflow(skip->skip(), nextSkip->skip(), &sum)) {
    last = std::make_unique<SkipStage>(sum);
  } else {
    return false;
  }
  return true;
}

/// $sort followed by $limit (also behind $skip or stages with one result for each document) needs only the first few.
/// True when the limit is right behind its sort, which does its work then.
bool PipelineOptimizer::limitSort(int64_t limit) {
  int64_t needed = limit;
  for (size_t i = placed_.size(); i-- > 0;) {
    const StagePtr& before = placed_[i].stage;
    if (auto* sort = as<SortStage>(before)) {
      if (sort->limit()) return false;
      sort->setLimit(needed);
      return i + 1 == placed_.size();
    }
    if (const auto* skip = as<SkipStage>(before)) {
      if (__builtin_add_overflow(needed, skip->skip(), &needed)) return false;
    } else if (!before->traits().preservesCount) {
      return false;
    }
  }
  return false;
}

Status PipelineOptimizer::place(StagePtr stage) {
  TROUPE_TRY(step());
  if (as<MatchStage>(stage)) return placeMatch(std::move(stage));
  if (const auto* limit = as<LimitStage>(stage); limit && limitSort(limit->limit())) return Status::OK();
  if (!mergeCount(*stage)) placed_.push_back({std::move(stage)});
  return Status::OK();
}

/// Merged $matches are parsed once, as one. Those that lie too deep with an $and around them stay as they are.
Status PipelineOptimizer::finish(Placed& placed) {
  if (!placed.merged.empty()) {
    auto all = MatchStage::make(conjunction(placed.stage, placed.merged), context_);
    if (all.isOK()) {
      placed.stage = std::move(*all);
      placed.merged.clear();
    } else if (all.status() != ErrorCode::kOverflow) {
      return all.status();
    }
  }
  stages_.push_back(std::move(placed.stage));
  for (StagePtr& other : placed.merged) stages_.push_back(std::move(other));
  return Status::OK();
}

Status PipelineOptimizer::run() {
  for (StagePtr& stage : std::exchange(stages_, {})) TROUPE_TRY(place(std::move(stage)));
  for (Placed& placed : placed_) TROUPE_TRY(finish(placed));
  return Status::OK();
}

PushDown PipelineOptimizer::takePushDown() {
  PushDown taken;
  size_t used = 0;
  if (used < stages_.size()) {
    if (const auto* match = as<MatchStage>(stages_[used])) {
      taken.filter = Document(match->filter());
      ++used;
    }
  }
  if (used < stages_.size()) {
    if (const auto* sort = as<SortStage>(stages_[used])) {
      taken.sort = Document(sort->spec());
      taken.limit = sort->limit();
      ++used;
    }
  }
  while (used < stages_.size()) {
    if (const auto* skip = as<SkipStage>(stages_[used])) {
      if (__builtin_add_overflow(taken.skip, skip->skip(), &taken.skip)) break;
      if (taken.limit) *taken.limit = std::max<int64_t>(0, *taken.limit - skip->skip());
    } else if (const auto* limit = as<LimitStage>(stages_[used])) {
      taken.limit = std::min(taken.limit.value_or(std::numeric_limits<int64_t>::max()), limit->limit());
    } else {
      break;
    }
    ++used;
  }
  stages_.erase(stages_.begin(), stages_.begin() + static_cast<std::ptrdiff_t>(used));
  return taken;
}

}  // namespace troupe::query
