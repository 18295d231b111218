#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "messaging/errors/status.hpp"
#include "storage/locks/lock_mode.hpp"
#include "storage/locks/lock_word.hpp"
#include "storage/locks/resource_id.hpp"

namespace troupe::storage {

class Locker;
class LockManager;
class LockWait;
struct LockEntry;

/// Called once with the outcome of a wait, from the thread that released, killed or timed out, without any mutex held.
using LockCallback = std::function<void(const Status& outcome)>;
using LockQueue = std::list<std::shared_ptr<LockWait>>;

/// The state of one resource while it is in use. The mutex belongs to the manager and outlives the head.
struct LockHead {
  LockHead(const ResourceId& id, std::mutex& mutex) : key(id), hash(id.hash()), mutex(mutex) {}

  const ResourceKey key;
  const size_t hash;
  std::mutex& mutex;
  LockWord word;
  // Guarded by the mutex.
  LockQueue converters;  ///< holders who wait for a stronger mode: served before the others
  LockQueue waiters;
  int compatibleFirst = 0;   ///< compatible-first requests among the waiters
  LockHead* next = nullptr;  ///< in its bucket
};

/// One pending request. It ends once: granted, or failed by the first call of `fail`. Any thread may call `fail`; the
/// locker's owner gives a wait up with `Locker::giveUp`.
class LockWait {
 public:
  /// Fails the wait with `why` (killed, out of time) unless it has ended; the callback gets it. Returns whether it did.
  bool fail(const Status& why);
  LockMode mode() const { return mode_; }

  LockWait(std::mutex& mutex, Locker& locker) : mutex_(mutex), locker_(locker) {}

 private:
  friend class Locker;
  friend class LockManager;
  friend class LockGraph;
  enum class State : uint8_t { kWaiting, kGranted, kFailed };

  /// A change of role, a rollback or a shutdown: holders that come and go must not keep it waiting for ever.
  bool isPassedByNone() const { return atFront_ && mode_ == LockMode::kX; }

  std::mutex& mutex_;
  Locker& locker_;  ///< its owner removes the wait before the locker goes away
  // Constant while it waits, meaningless afterwards.
  LockHead* head_ = nullptr;
  LockEntry* entry_ = nullptr;
  LockMode requested_ = LockMode::kNone;  ///< as statistics count it
  LockMode mode_ = LockMode::kNone;       ///< as it will be held: together with `from_`
  LockMode from_ = LockMode::kNone;
  bool atFront_ = false;
  bool compatibleFirst_ = false;
  bool late_ = false;  ///< the locker holds a resource that is later in the order of acquisition
  std::chrono::steady_clock::time_point since_;
  // Guarded by mutex_.
  State state_ = State::kWaiting;
  std::chrono::steady_clock::time_point ended_;
  LockQueue::iterator place_;
  LockCallback done_;
};

/// Waits that have ended, whose callbacks run once the mutexes are free.
class EndedWaits {
 public:
  void add(LockCallback done, Status outcome) {
    if (done) ended_.emplace_back(std::move(done), std::move(outcome));
  }
  void announce() {
    for (auto& [done, outcome] : ended_) done(outcome);
    ended_.clear();
  }

 private:
  std::vector<std::pair<LockCallback, Status>> ended_;
};

}  // namespace troupe::storage
