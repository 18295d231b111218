#pragma once
#include <chrono>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "storage/locks/lock_manager.hpp"
#include "storage/locks/locker.hpp"

namespace troupe::storage {

template <class Visit>
void LockManager::eachHead(const Visit& visit) const {
  for (const GlobalHead& global : globals_) visit(global.head);
  for (const Partition& partition : partitions_) {
    for (const LockHead* head : partition.buckets)
      for (; head; head = head->next) visit(*head);
  }
}

template <class Visit>
void LockManager::eachLocker(const Visit& visit) const {
  for (const Shard& shard : shards_)
    for (const Locker* locker = shard.first; locker; locker = locker->next_) visit(*locker);
}

/// An entry that names a head holds it or waits for it, so that the head lives while the partitions are locked.
template <class Visit>
void Locker::eachEntry(const Visit& visit) const {
  for (const Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_acquire)) {
    for (const LockEntry& entry : chunk->entries) {
      const LockHead* const head = entry.head.load(std::memory_order_acquire);
      if (!head) continue;
      const std::chrono::steady_clock::duration since(entry.since.load(std::memory_order_relaxed));
      visit(*head, entry.mode.load(std::memory_order_relaxed), std::chrono::steady_clock::time_point(since));
    }
  }
}

/// Which operation waits for which, at one moment: the caller holds all mutexes of the manager while it exists.
/// A waiter waits for those that hold its resource in a conflicting mode, and for those before it in the queue.
class LockGraph {
 public:
  explicit LockGraph(const LockManager& manager);

  /// Whether the wait closes a cycle: following its blockers leads back to its own locker.
  bool isInCycle(const LockWait& wait) const;

 private:
  struct Holder {
    const Locker* locker;
    LockMode mode;
  };

  bool reaches(const LockWait& wait, const Locker& target, std::unordered_set<const Locker*>& seen) const;
  std::vector<const Locker*> blockers(const LockWait& wait) const;

  std::unordered_map<const LockHead*, std::vector<Holder>> holders_;
  std::unordered_map<const Locker*, const LockWait*> waits_;
};

}  // namespace troupe::storage
