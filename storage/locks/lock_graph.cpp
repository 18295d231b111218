#include "storage/locks/lock_graph.hpp"

#include <algorithm>

namespace troupe::storage {

LockGraph::LockGraph(const LockManager& manager) {
  manager.eachHead([&](const LockHead& head) {
    for (const LockQueue* queue : {&head.converters, &head.waiters})
      for (const auto& wait : *queue) waits_[&wait->locker_] = wait.get();
  });
  manager.eachLocker([&](const Locker& locker) {
    locker.eachEntry([&](const LockHead& head, LockMode mode, std::chrono::steady_clock::time_point) {
      if (mode != LockMode::kNone) holders_[&head].push_back({&locker, mode});
    });
  });
}

std::vector<const Locker*> LockGraph::blockers(const LockWait& wait) const {
  std::vector<const Locker*> found;
  if (const auto at = holders_.find(wait.head_); at != holders_.end()) {
    for (const Holder& holder : at->second) {
      if (holder.locker != &wait.locker_ && !compatible(holder.mode, wait.mode_)) found.push_back(holder.locker);
    }
  }
  if (wait.from_ != LockMode::kNone) return found;  // a conversion waits for holders only
  if (wait.compatibleFirst_) {
    for (const auto& before : wait.head_->waiters) {
      if (before.get() == &wait) break;
      if (before->isPassedByNone()) found.push_back(&before->locker_);
    }
    return found;
  }
  for (const auto& converter : wait.head_->converters) found.push_back(&converter->locker_);
  for (const auto& before : wait.head_->waiters) {
    if (before.get() == &wait) break;
    found.push_back(&before->locker_);
  }
  return found;
}

bool LockGraph::reaches(const LockWait& wait, const Locker& target, std::unordered_set<const Locker*>& seen) const {
  std::vector<const LockWait*> open{&wait};
  while (!open.empty()) {
    const LockWait* const at = open.back();
    open.pop_back();
    for (const Locker* blocker : blockers(*at)) {
      if (blocker == &target) return true;
      if (!seen.insert(blocker).second) continue;
      if (const auto next = waits_.find(blocker); next != waits_.end()) open.push_back(next->second);
    }
  }
  return false;
}

bool LockGraph::isInCycle(const LockWait& wait) const {
  std::unordered_set<const Locker*> seen;
  return reaches(wait, wait.locker_, seen);
}

}  // namespace troupe::storage
