#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/kernel/future.hpp"
#include "messaging/bson/document.hpp"

namespace troupe::server {

/// The node's topology version, and those who wait for it to change: awaitable and streaming hellos (BOOT-006,
/// BOOT-007). Thread-safe.
class HelloState {
 public:
  explicit HelloState(bson::ObjectId processId) : processId_(processId) {}

  const bson::ObjectId& processId() const { return processId_; }
  int64_t counter() const;
  bool shuttingDown() const;

  /// Completes `woken` at the next change, or at once when `known` is not the present counter. A waiter gives up by
  /// dropping it.
  void wakeOnChange(int64_t known, const std::shared_ptr<Promise<Done>>& woken);
  /// Something that hello shows has changed: wakes all who wait.
  void bump();
  /// From now on hello answers ShutdownInProgress; wakes all who wait.
  void beginShutdown();

 private:
  void wakeAll();

  const bson::ObjectId processId_;
  mutable std::mutex mutex_;
  int64_t counter_ = 0;
  bool shuttingDown_ = false;
  std::vector<std::weak_ptr<Promise<Done>>> waiting_;
  size_t pruneAt_ = 64;
};

}  // namespace troupe::server
