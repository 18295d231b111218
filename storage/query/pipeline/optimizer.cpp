#include "storage/query/pipeline/optimizer.hpp"

#include <algorithm>
#include <limits>

#include "storage/query/pipeline/stages.hpp"

namespace troupe::query {

using bson::Document;

namespace {

template <class T>
T* as(const StagePtr& stage) {
  return dynamic_cast<T*>(stage.get());
}

/// Whether a filter reads nothing that a stage writes, so that it may run before it.
bool independent(const MatchStage& match, const TransformStage& transform) {
  if (!transform.effects().keepsOthers) return false;
  Dependencies reads;
  match.addDependencies(reads);
  if (reads.wholeDocument || reads.random || transform.effects().reads.random) return false;
  return std::none_of(reads.paths.begin(), reads.paths.end(), [&](const std::string& path) {
    const std::string top = path.substr(0, path.find('.'));
    const auto& written = transform.effects().written;
    return std::find(written.begin(), written.end(), top) != written.end();
  });
}

/// For inclusion projections: the filter reads only fields that pass unchanged.
bool passesThrough(const MatchStage& match, const TransformStage& transform) {
  if (transform.name() != "$project" || transform.effects().keepsOthers || !transform.effects().written.empty())
    return false;
  Dependencies reads;
  match.addDependencies(reads);
  const auto& included = transform.effects().reads.paths;
  return !reads.wholeDocument && std::all_of(reads.paths.begin(), reads.paths.end(),
                                             [&](const std::string& path) { return included.contains(path); });
}

}  // namespace

StatusWith<bool> PipelineOptimizer::mergeMatches(size_t i) {
  const auto* first = as<MatchStage>(stages_[i]);
  const auto* second = as<MatchStage>(stages_[i + 1]);
  if (!first || !second) return false;
  bson::Builder both;
  if (first->filter().empty() || second->filter().empty()) {
    both.appendAll(first->filter()).appendAll(second->filter());
  } else {
    both.openArray("$and").push(first->filter()).push(second->filter()).close();
  }
  TROUPE_ASSIGN(auto merged, MatchStage::make(both.finish(), context_));
  stages_[i] = std::move(merged);
  stages_.erase(stages_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  return true;
}

bool PipelineOptimizer::mergeCounts(size_t i) {
  const auto replace = [&](StagePtr merged) {
    stages_[i] = std::move(merged);
    stages_.erase(stages_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return true;
  };
  const auto *limit = as<LimitStage>(stages_[i]), *nextLimit = as<LimitStage>(stages_[i + 1]);
  if (limit && nextLimit) return replace(std::make_unique<LimitStage>(std::min(limit->limit(), nextLimit->limit())));
  const auto *skip = as<SkipStage>(stages_[i]), *nextSkip = as<SkipStage>(stages_[i + 1]);
  int64_t sum = 0;
  if (skip && nextSkip && !__builtin_add_overflow(skip->skip(), nextSkip->skip(), &sum))
    return replace(std::make_unique<SkipStage>(sum));
  return false;
}

/// $sort followed by $limit (also behind $skip or stages with one result for each document) needs only the first few.
bool PipelineOptimizer::limitSort(size_t i) {
  auto* sort = as<SortStage>(stages_[i]);
  if (!sort || sort->limit()) return false;
  int64_t skipped = 0;
  for (size_t j = i + 1; j < stages_.size(); ++j) {
    if (const auto* limit = as<LimitStage>(stages_[j])) {
      int64_t needed = 0;
      if (__builtin_add_overflow(limit->limit(), skipped, &needed)) return false;
      sort->setLimit(needed);
      if (j == i + 1) stages_.erase(stages_.begin() + static_cast<std::ptrdiff_t>(j));
      return true;
    }
    if (const auto* skip = as<SkipStage>(stages_[j])) {
      if (__builtin_add_overflow(skipped, skip->skip(), &skipped)) return false;
    } else if (!stages_[j]->traits().preservesCount) {
      return false;
    }
  }
  return false;
}

StatusWith<bool> PipelineOptimizer::rewriteAt(size_t i) {
  if (const auto* sort = as<SortStage>(stages_[i]); sort && limitSort(i)) return true;
  if (i + 1 >= stages_.size()) return false;
  TROUPE_ASSIGN(const bool merged, mergeMatches(i));
  if (merged || mergeCounts(i)) return true;
  const auto* match = as<MatchStage>(stages_[i + 1]);
  if (!match) return false;
  const auto* transform = as<TransformStage>(stages_[i]);
  const auto* sort = as<SortStage>(stages_[i]);
  if ((sort && !sort->limit()) ||
      (transform && (independent(*match, *transform) || passesThrough(*match, *transform)))) {
    std::swap(stages_[i], stages_[i + 1]);
    return true;
  }
  return false;
}

Status PipelineOptimizer::run() {
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < stages_.size() && !changed; ++i) {
      TROUPE_ASSIGN(changed, rewriteAt(i));
    }
  }
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
