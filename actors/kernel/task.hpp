#pragma once
#include <atomic>
#include <coroutine>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace troupe {

/// The executor of a coroutine: an actor (one thing at a time, in mailbox order) or the node's pool. Implementations
/// are reference-counted, because what completes a future may outlive the actor that waits for it.
class Executor {
 public:
  /// Continues `coroutine` soon, on this context. From any thread. If the context has ended, the handle is forgotten
  /// (its owner has destroyed, or will destroy, the frame).
  virtual void resume(std::coroutine_handle<> coroutine) noexcept = 0;
  virtual void retain() noexcept = 0;
  virtual void release() noexcept = 0;

 protected:
  ~Executor() = default;
};

template <class T>
class Task;
class TaskHost;

namespace detail {

/// Common part of the promises of all Tasks: executor and continuation.
struct TaskPromiseBase {
  Executor* executor = nullptr;
  std::coroutine_handle<> continuation;
  std::exception_ptr failure;
  /// The task's end and the return of the call that began it meet here; the second continues the waiter. See
  /// Task::Awaiter.
  std::atomic<bool> met{false};
  // Only of the outermost task: its place among the running tasks of its host.
  TaskHost* host = nullptr;
  TaskPromiseBase* previous = nullptr;
  TaskPromiseBase* next = nullptr;
  std::coroutine_handle<> self;

  std::suspend_always initial_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }

  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> done) noexcept {
      TaskPromiseBase& promise = done.promise();
      if (promise.continuation)
        return promise.met.exchange(true, std::memory_order_acq_rel) ? promise.continuation : std::noop_coroutine();
      finished(promise);
      return std::noop_coroutine();
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
  /// Destroys an outermost task's frame and tells its host.
  static void finished(TaskPromiseBase& promise) noexcept;
};

template <class T>
struct TaskPromise : TaskPromiseBase {
  std::optional<T> value;
  Task<T> get_return_object() noexcept;
  template <class U>
  void return_value(U&& v) {
    value.emplace(std::forward<U>(v));
  }
  T take() {
    if (failure) std::rethrow_exception(failure);
    return std::move(*value);
  }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
  Task<void> get_return_object() noexcept;
  void return_void() noexcept {}
  void take() {
    if (failure) std::rethrow_exception(failure);
  }
};

}  // namespace detail

/// A lazy coroutine: nothing runs until it is awaited or started on a host. It continues on the executor of its
/// awaiter. An exception leaves through the `co_await`. Pass parameters by value, and write no capturing coroutine
/// lambdas: a frame outlives the expression that made it.
template <class T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  /// Begins the task on the waiter's stack. A task that ends without having waited returns through here, and the waiter
  /// goes on where it is: a loop over such tasks needs no stack, whether or not the compiler turns transfers into
  /// jumps.
  struct Awaiter {
    Handle handle;
    bool await_ready() noexcept { return false; }
    template <class P>
    bool await_suspend(std::coroutine_handle<P> waiter) noexcept {
      auto& promise = handle.promise();
      promise.continuation = waiter;
      promise.executor = waiter.promise().executor;
      handle.resume();
      return !promise.met.exchange(true, std::memory_order_acq_rel);
    }
    T await_resume() { return handle.promise().take(); }
  };
  Awaiter operator co_await() && noexcept { return Awaiter{handle_}; }

  /// Gives up ownership of the frame (for hosts).
  Handle release() { return std::exchange(handle_, {}); }

 private:
  Handle handle_;
};

template <class T>
Task<T> detail::TaskPromise<T>::get_return_object() noexcept {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> detail::TaskPromise<void>::get_return_object() noexcept {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

/// An executor that owns the tasks started on it: an actor, or the node's pool. A task that is still suspended when its
/// host ends is destroyed there, its locals with it.
class TaskHost : public Executor {
 public:
  /// Runs the task on the calling thread until it first waits; the caller must be on this context (or on any thread of
  /// the pool, for the pool).
  void start(Task<void> task);
  /// Number of started tasks that have not ended.
  size_t taskCount() const;

 protected:
  /// `shared`: tasks start and end on several threads.
  explicit TaskHost(bool shared);
  ~TaskHost() = default;
  /// An exception left an outermost task.
  virtual void taskFailed(std::exception_ptr failure) noexcept = 0;
  /// Destroys the frames of all tasks; nothing may be running on this context.
  void destroyTasks() noexcept;

 private:
  friend struct detail::TaskPromiseBase;
  std::unique_lock<std::mutex> lock() const;
  void unlink(detail::TaskPromiseBase& promise);
  detail::TaskPromiseBase* first_ = nullptr;
  std::unique_ptr<std::mutex> mutex_;
};

}  // namespace troupe
