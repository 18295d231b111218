#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace troupe::server {

/// The lock of `fsync` with `lock: true`, from that command to `fsyncUnlock`: counted, since several tools may want it
/// at once. It keeps alive what holds the global lock in S, with which reads go on and writes wait. Thread-safe.
class FsyncLock {
 public:
  /// What holds the global lock: its destructor releases it, from whatever thread the last `unlock` comes.
  using Holder = std::shared_ptr<void>;

  /// How often it is locked.
  int64_t count() const {
    const std::lock_guard lock(mutex_);
    return count_;
  }
  /// Locks once more; nothing when it is not locked yet.
  std::optional<int64_t> lockAgain() {
    const std::lock_guard lock(mutex_);
    return count_ > 0 ? std::optional(++count_) : std::nullopt;
  }
  /// Locks with a holder that has the global lock. The holder of another command stays where that was first.
  int64_t lock(Holder holder) {
    const std::lock_guard lock(mutex_);
    if (count_ == 0) holder_.swap(holder);
    return ++count_;
  }
  /// How often it is locked still; nothing when it was not locked.
  std::optional<int64_t> unlock() {
    Holder released;  // outside of the mutex
    const std::lock_guard lock(mutex_);
    if (count_ == 0) return std::nullopt;
    if (--count_ == 0) released.swap(holder_);
    return count_;
  }
  /// At shutdown, which waits for the global lock.
  void unlockAll() {
    Holder released;
    const std::lock_guard lock(mutex_);
    count_ = 0;
    released.swap(holder_);
  }

 private:
  mutable std::mutex mutex_;
  int64_t count_ = 0;
  Holder holder_;
};

}  // namespace troupe::server
