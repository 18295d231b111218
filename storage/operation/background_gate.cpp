#include "storage/operation/background_gate.hpp"

namespace troupe::storage {

BackgroundGate::Pass BackgroundGate::enter() {
  const std::lock_guard lock(mutex_);
  if (!open_) return {};
  ++inside_;
  return {this, true};
}

void BackgroundGate::close(std::function<void()> empty) {
  {
    const std::lock_guard lock(mutex_);
    open_ = false;
    if (inside_ > 0) {
      empty_ = std::move(empty);
      return;
    }
  }
  empty();
}

void BackgroundGate::open() {
  const std::lock_guard lock(mutex_);
  open_ = true;
  empty_ = nullptr;
}

bool BackgroundGate::isOpen() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

void BackgroundGate::left() {
  std::function<void()> empty;
  {
    const std::lock_guard lock(mutex_);
    if (--inside_ > 0) return;
    empty = std::exchange(empty_, nullptr);
  }
  if (empty) empty();
}

}  // namespace troupe::storage
