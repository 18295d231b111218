#pragma once
#include <atomic>
#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "actors/kernel/task.hpp"
#include "messaging/errors/status.hpp"

namespace troupe {

namespace detail {

/// The meeting point of one completer (any thread) and one waiting coroutine. Reference-counted.
template <class T>
class FutureState {
 public:
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  /// False if it was completed before.
  bool complete(T value) noexcept {
    if (claimed_.test_and_set(std::memory_order_acq_rel)) return false;
    value_.emplace(std::move(value));
    if (phase_.exchange(kDone, std::memory_order_acq_rel) == kWaiting) {
      Executor* executor = executor_;
      executor->resume(waiter_);
      executor->release();
    }
    return true;
  }
  /// Whether its completion has begun or is done.
  bool isClaimed() const noexcept { return claimed_.test(std::memory_order_relaxed); }
  bool isDone() const noexcept { return phase_.load(std::memory_order_acquire) == kDone; }
  bool isAbandoned() const noexcept { return phase_.load(std::memory_order_acquire) == kAbandoned; }
  /// False if it is done already: the waiter goes on at once.
  bool wait(std::coroutine_handle<> waiter, Executor* executor) noexcept {
    waiter_ = waiter;
    executor_ = executor;
    executor->retain();
    int expected = kEmpty;
    if (phase_.compare_exchange_strong(expected, kWaiting, std::memory_order_acq_rel)) return true;
    executor->release();
    return false;
  }
  /// The waiting frame goes away.
  void abandon() noexcept {
    const int before = phase_.exchange(kAbandoned, std::memory_order_acq_rel);
    if (before == kWaiting) executor_->release();
    if (before != kDone) dropped();
  }
  T take() { return std::move(*value_); }

 protected:
  virtual ~FutureState() = default;
  /// The future was destroyed before its completion, which nobody awaits any more.
  virtual void dropped() noexcept {}

 private:
  enum Phase : int { kEmpty, kWaiting, kDone, kAbandoned };
  std::atomic<uint32_t> references_{1};
  std::atomic<int> phase_{kEmpty};
  std::atomic_flag claimed_;
  std::optional<T> value_;
  std::coroutine_handle<> waiter_;
  Executor* executor_ = nullptr;
};

}  // namespace detail

/// A value that will be there once. `co_await` it in a Task, once: the task continues on its own executor, not on
/// the thread that completed it. Move-only.
template <class T>
class [[nodiscard]] Future {
 public:
  using State = detail::FutureState<T>;
  /// Takes over one reference.
  explicit Future(State* state) : state_(state) {}
  Future(Future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Future& operator=(Future&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Future() {
    if (!state_) return;
    state_->abandon();
    state_->release();
  }

  bool isReady() const noexcept { return state_->isDone(); }
  /// The value; `isReady()` must hold. Once.
  T take() { return state_->take(); }

  bool await_ready() const noexcept { return state_->isDone(); }
  template <class P>
  bool await_suspend(std::coroutine_handle<P> waiter) noexcept {
    return state_->wait(waiter, waiter.promise().executor);
  }
  T await_resume() { return state_->take(); }

 private:
  State* state_;
};

/// The other end: completes its future once, from any thread. Move-only. Dropped without a value, a promise of a
/// Status or StatusWith completes with InternalError "abandoned"; of other types it must not be dropped.
template <class T>
class Promise {
 public:
  Promise() : state_(new detail::FutureState<T>()) {}
  Promise(Promise&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Promise& operator=(Promise&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Promise() {
    if (!state_) return;
    if constexpr (std::is_constructible_v<T, Status>) {
      if (!state_->isClaimed())
        state_->complete(T(Status(ErrorCode::kInternalError, "the promise of a result was abandoned")));
    }
    state_->release();
  }
  /// Call once.
  Future<T> future() {
    state_->retain();
    return Future<T>(state_);
  }
  /// False once the future is destroyed: a value would be lost.
  bool isAwaited() const { return !state_->isAbandoned(); }
  /// False if it had a value already.
  bool set(T value) { return state_->complete(std::move(value)); }

 private:
  detail::FutureState<T>* state_;
};

/// The value of futures that only say "now".
struct Done {};

}  // namespace troupe
