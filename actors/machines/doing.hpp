#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "actors/kernel/latest_value.hpp"

namespace troupe::machines {

/// An action of a machine while it is under way, as the code that carries it out sees it. Copies are the same action.
/// Any thread.
template <class Event>
class Doing {
 public:
  struct State {
    State(Node& node, const Address& host) : progress(std::make_shared<LatestValue<Event>>(node, host)) {}
    const std::shared_ptr<LatestValue<Event>> progress;
    std::atomic<bool> isCancelled{false};
    std::mutex mutex;
    std::function<void()> wake;
  };
  explicit Doing(std::shared_ptr<State> state) : state_(std::move(state)) {}

  /// Brings the machine an event while the action goes on. Of events that it has not heard yet only the newest counts.
  void report(Event progress) const {
    if (!isCancelled()) state_->progress->set(std::move(progress));
  }
  /// Whether the machine has cancelled the action, or its host has ended: it should end soon, its outcome is ignored.
  bool isCancelled() const { return state_->isCancelled.load(std::memory_order_acquire); }
  /// While the action waits for something: `wake` is called when it is cancelled, at once if it has been. Empty: no
  /// longer. At the end of the host the action's coroutine goes before `wake` is called: refer to nothing on its frame.
  void wakeOnCancel(std::function<void()> wake) const {
    {
      const std::lock_guard lock(state_->mutex);
      state_->wake = std::move(wake);
      if (!state_->wake || !isCancelled()) return;
    }
    callWake();
  }

  // The host's.
  void cancel() const {
    state_->isCancelled.store(true, std::memory_order_release);
    callWake();
  }
  /// Progress that has not been heard.
  std::optional<Event> takeProgress() const { return state_->progress->take(); }
  bool reportsTo(const LatestValue<Event>& progress) const { return state_->progress.get() == &progress; }
  friend bool operator==(const Doing& a, const Doing& b) { return a.state_ == b.state_; }

 private:
  void callWake() const {
    std::function<void()> wake;
    {
      const std::lock_guard lock(state_->mutex);
      wake = std::exchange(state_->wake, nullptr);
    }
    if (wake) wake();
  }
  std::shared_ptr<State> state_;
};

}  // namespace troupe::machines
