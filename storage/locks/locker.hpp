#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "messaging/errors/status.hpp"
#include "storage/locks/lock_manager.hpp"
#include "storage/locks/lock_mode.hpp"
#include "storage/locks/lock_statistics.hpp"
#include "storage/locks/lock_wait.hpp"
#include "storage/locks/resource_id.hpp"

namespace troupe::storage {

/// How a request waits.
struct LockOptions {
  /// May overtake waiters with which it does not conflict, and starve them, but none for X at the front (LCK-003).
  bool compatibleFirst = false;
  /// Goes before all who wait. Always so for S and X on the three global resources.
  bool atFront = false;
};

/// A lock to take: what a yield or a stash has given up, or what a command needs.
struct LockRequest {
  ResourceKey resource;
  LockMode mode = LockMode::kIS;
  uint32_t count = 1;  ///< how often it was acquired
};
/// In the order of acquisition.
using LockSnapshot = std::vector<LockRequest>;

/// One resource a locker holds or waits for. Written by the locker's owner (`mode` by who grants its wait), read by
/// any thread that holds all mutexes of the manager.
struct LockEntry {
  std::atomic<LockHead*> head{nullptr};  ///< null: the entry is free
  std::atomic<LockMode> mode{LockMode::kNone};
  std::atomic<int64_t> since{0};  ///< steady clock, nanoseconds
  uint32_t count = 0;
  uint32_t deferred = 0;  ///< releases put off until the unit of work ends
};

/// The locks of one operation. Requests go from the top of the hierarchy down, which is checked: a missing intent lock
/// above, or a global resource after one that comes later, throws std::logic_error. Within a unit of work releases wait
/// for its end (two-phase locking, LCK-004). Used by one thread at a time, not always the same. Its locks
/// are released when it is destroyed.
class Locker {
 public:
  explicit Locker(LockManager& manager) : manager_(manager), id_(manager.nextLocker_.fetch_add(1)) {}
  ~Locker();
  Locker(const Locker&) = delete;
  Locker& operator=(const Locker&) = delete;

  uint64_t id() const { return id_; }

  /// Takes the lock if that needs no waiting.
  bool tryAcquire(const ResourceId& resource, LockMode mode);
  /// The outcome of `acquire`: granted at once, failed at once (WriteConflict: it would have deadlocked), or pending.
  struct Acquisition {
    Status status;
    std::shared_ptr<LockWait> wait;  ///< null: it is decided
  };
  /// Takes the lock, or waits for it: `done` is called once, unless the wait is given up. A locker waits for one lock
  /// at a time. Resources that are held already are counted, and converted when the mode is stronger.
  Acquisition acquire(const ResourceId& resource, LockMode mode, LockOptions options, LockCallback done);
  /// Ends a wait of this locker without its callback (which may be running). A lock that was granted meanwhile is
  /// released; one that was converted is held in its former mode again.
  void giveUp(const std::shared_ptr<LockWait>& wait);

  /// Once for each acquisition. Within a unit of work it takes effect at the end of the unit.
  void release(const ResourceId& resource);
  void releaseAll();
  /// Releases one resource, if it is held, however often it was acquired, also within a unit of work.
  void releaseEntirely(const ResourceId& resource);
  /// Takes over all locks of another locker of the same manager, for a unit of work that moves here: they are released
  /// with the unit's end. A resource that both hold is held in the stronger mode, and its acquisitions are added up.
  /// Neither may have a request pending (throws std::logic_error); the other one is empty afterwards.
  void adopt(Locker& other);
  /// Keeps the lock in a weaker mode, however often it was acquired. Not within a unit of work.
  void downgrade(const ResourceId& resource, LockMode mode);

  void beginUnit() { ++units_; }
  void endUnit();
  bool inUnit() const { return units_ > 0; }

  /// Releases everything, as before a yield; what is returned is acquired again afterwards, one by one. Throws
  /// std::logic_error within a unit of work or while a request is pending.
  LockSnapshot saveAndRelease();
  /// Counts again an acquisition that a snapshot counted more than once; the lock is held.
  void addCount(const ResourceId& resource, uint32_t more);

  /// The mode in which the resource is held; kNone when it is not.
  LockMode modeOf(const ResourceId& resource) const;
  bool holdsAny() const { return held_ > 0; }
  /// Of this operation. Any thread.
  LockStatistics statistics() const;

 private:
  friend class LockManager;
  friend class LockWait;
  friend class LockGraph;
  static constexpr size_t kChunk = 8;
  struct Chunk {
    std::array<LockEntry, kChunk> entries;
    size_t used = 0;  ///< entries after these are free; the owner's
    std::span<LockEntry> inUse() { return std::span(entries).first(used); }
    std::atomic<Chunk*> next{nullptr};
  };
  /// Waits are rare: their figures are made when there is a first one.
  struct WaitFigures {
    struct Figures {
      std::atomic<int64_t> waits{0}, micros{0}, deadlocks{0};
    };
    std::array<std::array<Figures, kLockModes>, kResourceTypes> figures;
  };

  void begin();
  void settle();
  void checkOrder(const ResourceId& resource, LockMode mode) const;
  [[noreturn]] static void refuse(const std::string& why);
  /// Takes the lock when its word permits it.
  bool grantNow(LockHead& head, LockMode mode);
  Acquisition waitFor(LockHead& head, LockMode mode, LockOptions options, LockCallback done,
                      std::unique_lock<std::mutex> lock);
  bool isLate(const LockHead& head) const;
  void countAcquired(ResourceType type, LockMode mode, uint32_t times = 1);
  LockEntry* find(const LockHead& head) const;
  LockEntry* find(const ResourceId& resource) const;
  LockEntry& held(const ResourceId& resource) const;
  LockEntry& freeEntry();
  void trim();
  void fill(LockEntry& entry, LockHead& head, LockMode mode);
  void drop(LockEntry& entry);
  void weaken(LockEntry& entry, LockMode mode);
  void giveBack(LockHead& head, LockMode mode);
  void adoptEntry(LockEntry& theirs);
  void countWait(const LockWait& wait);
  void addStatistics(LockStatistics& sum) const;
  template <class Visit>
  void eachEntry(const Visit& visit) const;

  LockManager& manager_;
  const uint64_t id_;
  int units_ = 0;
  size_t held_ = 0;
  int64_t clock_ = 0;  ///< when the clock was read last
  bool registered_ = false;
  std::shared_ptr<LockWait> pending_;
  mutable Chunk first_;
  static_assert(kResourceTypes * kLockModes <= 64);
  std::atomic<uint64_t> counted_{0};  ///< a bit for each of these figures that is not zero
  std::array<std::atomic<uint32_t>, kResourceTypes * kLockModes> acquired_{};  ///< by type, then mode
  std::atomic<WaitFigures*> waitFigures_{nullptr};
  Locker* previous_ = nullptr;  ///< in the manager's shard
  Locker* next_ = nullptr;
};

}  // namespace troupe::storage
