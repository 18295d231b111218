#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "storage/locks/lock_statistics.hpp"
#include "storage/locks/lock_view.hpp"
#include "storage/locks/lock_wait.hpp"

namespace troupe::storage {

/// All locks of a node (LCK-001 to 004): exact resources in a hierarchy, intent modes, fair queues. Operations use it
/// through their Locker. No thread ever waits: a request that cannot be granted is called back.
///
/// A resource's head lives in one of a few partitions while it is used, found by its exact name; the three global
/// resources have heads of their own. Uncontended requests change one atomic word; mutexes are held for a few
/// instructions, and never while a callback runs. Thread-safe. Outlives its lockers.
class LockManager {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  /// `now` measures waits; `coarse` says since when locks are held, and may be as much cheaper as it is less exact
  /// (empty: the same).
  explicit LockManager(Clock now, Clock coarse = nullptr);
  ~LockManager();
  LockManager(const LockManager&) = delete;
  LockManager& operator=(const LockManager&) = delete;

  /// Every resource that is held or waited for, in the order of acquisition.
  std::vector<ResourceView> inspect() const;
  /// Sums over all operations, running ones included.
  LockStatistics statistics() const;
  /// Locks held and waits pending, of all operations: zero on a node that does nothing.
  size_t inUse() const;

 private:
  friend class Locker;
  friend class LockWait;
  friend class LockGraph;
  /// Few enough that all can be held at once, also under ThreadSanitizer (64 mutexes a thread).
  static constexpr size_t kPartitions = 16;
  static constexpr size_t kShards = 8;

  struct alignas(64) Partition {
    mutable std::mutex mutex;
    std::vector<LockHead*> buckets = std::vector<LockHead*>(64);  ///< a power of two
    LockHead*& bucketOf(size_t hash) { return buckets[hash & (buckets.size() - 1)]; }
    size_t heads = 0;
  };
  struct alignas(64) GlobalHead {
    explicit GlobalHead(ResourceType type) : head(ResourceId::of(type, {}), mutex) {}
    mutable std::mutex mutex;
    LockHead head;
  };
  /// Lockers that have held something, so that others can look at them.
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    Locker* first = nullptr;
    LockStatistics ended;  ///< of lockers that are gone
  };

  LockHead& globalHead(ResourceType type) { return globals_[static_cast<size_t>(type)].head; }
  Partition& partitionOf(const ResourceId& id) { return partitions_[(id.hash() >> 8) % kPartitions]; }
  /// Under the partition's mutex.
  LockHead& findOrAdd(Partition& partition, const ResourceId& id);
  void removeIdle(Partition& partition);

  // Under the head's mutex.
  void enqueue(LockHead& head, const std::shared_ptr<LockWait>& wait);
  void grantWaiters(LockHead& head, EndedWaits& ended);
  bool tryGrantWaiter(LockHead& head, LockWait& wait, EndedWaits& ended);
  void remove(LockHead& head, LockWait& wait, EndedWaits& ended);

  /// Holds every mutex of the manager, in one order.
  using AllMutexes = std::vector<std::unique_lock<std::mutex>>;
  AllMutexes lockAll() const;
  template <class Visit>
  void eachHead(const Visit& visit) const;
  template <class Visit>
  void eachLocker(const Visit& visit) const;

  void add(Locker& locker);
  void remove(Locker& locker);
  /// Fails the wait with WriteConflict if it closes a cycle of operations that wait for each other.
  Status breakDeadlock(LockWait& wait);

  const Clock now_, coarse_;
  std::array<Partition, kPartitions> partitions_;
  std::array<GlobalHead, kGlobalResources> globals_;
  mutable std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> nextLocker_{1};
  std::atomic<int> lateWaits_{0};  ///< waits of lockers that acquire out of order: without any there is no deadlock
};

}  // namespace troupe::storage
