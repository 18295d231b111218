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
  template <class T>
  struct Counted {
    int64_t counter;  ///< of the topology version
    T value;
  };
  /// Gives what `read` reads of the node's role with the counter to be shown beside it: the only way to show both. The
  /// counter goes first. A change is published, then counted: what is read may be newer than its counter, and a client
  /// hears of it once more; were it older, the client would keep it until the next change.
  template <class Read>
  auto counted(Read&& read) const {
    const int64_t before = counter();
    return Counted<decltype(read())>{before, read()};
  }
  /// {processId, counter}, as drivers know it.
  bson::Document topologyVersion(int64_t counter) const {
    return bson::doc("processId", processId_, "counter", counter);
  }
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
