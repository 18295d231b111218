#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "messaging/bson/types.hpp"

namespace troupe::storage {

/// Up to which time forward readers of the oplog may read: every entry up to it has been committed or will never be
/// (TRN-008). Advanced by those who know the holes: the slot reserver on a primary, the applier on a secondary. Those
/// who tail the oplog wait here by callback; no thread waits. Any thread.
class OplogVisibility {
 public:
  using Callback = std::function<void()>;
  using WaiterId = uint64_t;

  bson::Timestamp get() const { return bson::Timestamp::fromUint64(visible_.load(std::memory_order_acquire)); }
  /// Moving back is ignored.
  void advance(bson::Timestamp to);
  /// Sets the point, also to an earlier time: after a rollback, when the entries behind it have been cut off.
  void reset(bson::Timestamp to);

  /// Calls `resume` once when the point is later than `seen`: at once on this thread if it is, else on the thread that
  /// advances it. It must not block nor throw. Zero when it was called already.
  WaiterId whenPast(bson::Timestamp seen, Callback resume);
  /// Removes a waiter; false when its callback has been, or is being, called.
  bool withdraw(WaiterId waiter);
  /// Calls all waiters, as before a stop; the point stays.
  void resumeAll();
  size_t waiters() const;

 private:
  struct Waiter {
    bson::Timestamp seen;
    Callback resume;
  };
  mutable std::mutex mutex_;
  std::atomic<uint64_t> visible_{0};  ///< changed with the mutex held; every snapshot reads it
  WaiterId nextWaiter_ = 1;
  std::map<WaiterId, Waiter> waiters_;
};

}  // namespace troupe::storage
