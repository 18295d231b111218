#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "actors/kernel/node.hpp"

namespace troupe {

template <class T>
class LatestValue;

/// Told to the receiver of a LatestValue when there is a new one to `take` (local payload).
template <class T>
struct NewValue {
  std::shared_ptr<LatestValue<T>> source;
};

/// Brings an actor values of which only the newest counts, such as progress: a value set before the last one
/// was handled replaces it, so at most one message waits in the mailbox, however often values are set. Make it with
/// make_shared; `set` may be called from any thread. The receiver handles `NewValue<T>` and takes the value there.
template <class T>
class LatestValue : public std::enable_shared_from_this<LatestValue<T>> {
 public:
  LatestValue(Node& node, Address receiver) : node_(node), receiver_(std::move(receiver)) {}

  void set(T value) {
    {
      const std::lock_guard lock(mutex_);
      const bool isAnnounced = value_.has_value();
      value_ = std::move(value);
      if (isAnnounced) return;
    }
    node_.tell(receiver_, local(NewValue<T>{this->shared_from_this()}));
  }
  /// The newest value; nothing if it was taken already.
  std::optional<T> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(value_, std::nullopt);
  }

 private:
  Node& node_;
  const Address receiver_;
  std::mutex mutex_;
  std::optional<T> value_;
};

}  // namespace troupe
