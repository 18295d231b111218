#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "actors/kernel/registry.hpp"

namespace troupe::supervisors {

/// The events of one client that has not taken them yet. Bounded: a client that is too slow loses the oldest and is
/// told so by an `overflow` event, upon which it reads the rows again. Thread-safe.
class EventQueue {
 public:
  /// `wake` is called, on the thread of the change, when events wait and none did before; it must not block.
  EventQueue(size_t capacity, std::function<void()> wake) : capacity_(capacity), wake_(std::move(wake)) {}

  void push(const RowChange& change, WallTime at);
  /// All that waits, as text of an event stream; empty if nothing does.
  std::string take();
  /// No further wake-ups.
  void close();

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::function<void()> wake_;
  std::deque<std::string> waiting_;
  uint64_t lost_ = 0, next_ = 1;
};

/// "started", "phase", "ended", "restarted", "failed", "removed".
const char* changeName(RowChange::Kind kind);

}  // namespace troupe::supervisors
