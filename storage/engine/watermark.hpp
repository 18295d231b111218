#pragma once
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace troupe::storage {

/// A value that grows. Waiters leave a callback, which runs once the value has passed theirs, or was reset; no thread
/// waits. Reading takes no lock. `T` is a 64-bit number or a Timestamp. Any thread.
template <class T>
class Watermark {
 public:
  using Callback = std::function<void()>;
  using WaiterId = uint64_t;

  T get() const { return fromWord(word_.load(std::memory_order_acquire)); }
  /// Moving back is ignored.
  void advance(T to);
  /// Moves on to the next value, of several threads at once too.
  void increment();
  /// Sets the value, also to an earlier one, and calls all waiters: what they wait to pass may not come back.
  void reset(T to);

  /// Calls `resume` once when the value is past `seen`: at once on this thread if it is, else on the thread that moves
  /// it. A reset calls it too, though the value may not be past `seen`: the waiter looks again. It must not block nor
  /// throw. Zero when it was called already.
  WaiterId whenPast(T seen, Callback resume);
  /// Removes a waiter; false when its callback has been, or is being, called.
  bool withdraw(WaiterId waiter);
  /// Calls all waiters, as before a stop; the value stays.
  void resumeAll();
  size_t waiters() const;

 private:
  struct Waiter {
    T seen;
    Callback resume;
  };
  static uint64_t wordOf(T value) {
    if constexpr (std::integral<T>) return value;
    else return value.asUint64();
  }
  static T fromWord(uint64_t word) {
    if constexpr (std::integral<T>) return word;
    else return T::fromUint64(word);
  }
  void move(std::unique_lock<std::mutex> lock, T to);

  mutable std::mutex mutex_;
  std::atomic<uint64_t> word_{0};  ///< changed with the mutex held; a Timestamp is not aligned as atomics must be
  WaiterId nextWaiter_ = 1;
  std::map<WaiterId, Waiter> waiters_;
};

}  // namespace troupe::storage
