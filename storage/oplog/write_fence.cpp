#include "storage/oplog/write_fence.hpp"

#include <stdexcept>

namespace troupe::storage {

void WriteFence::open(int64_t term) {
  std::vector<std::function<void()>> opened;
  {
    const std::lock_guard lock(mutex_);
    if (isOpen() || !drained_.empty()) throw std::logic_error("a write fence is opened that is open, or not yet empty");
    term_.store(term, std::memory_order_release);
    inside_.fetch_and(~kClosed, std::memory_order_acq_rel);
    opened.swap(opened_);
  }
  for (const auto& tell : opened) tell();
}

void WriteFence::whenOpen(std::function<void()> opened) {
  {
    const std::lock_guard lock(mutex_);
    if (!isOpen()) return opened_.push_back(std::move(opened));
  }
  opened();
}

WriteFence::Watch WriteFence::whenClosed(std::function<void()> closed) {
  Watch watch(this, 0);
  {
    const std::lock_guard lock(mutex_);
    watch.id_ = ++lastWatch_;
    closed_.emplace(watch.id_, closed);
  }
  if (!isOpen()) closed();  // it may have been closed a moment before it was watched
  return watch;
}

void WriteFence::withdraw(uint64_t watch) {
  const std::lock_guard lock(mutex_);
  closed_.erase(watch);
}

void WriteFence::close(std::function<void()> drained) {
  std::map<uint64_t, std::function<void()>> closed;
  {
    const std::lock_guard lock(mutex_);
    drained_.push_back(std::move(drained));
    // Counted in, so that leaving below is what looks whether the fence is empty.
    inside_.fetch_add(1, std::memory_order_acq_rel);
    inside_.fetch_or(kClosed, std::memory_order_acq_rel);
    closed = closed_;
  }
  for (const auto& [watch, tell] : closed) tell();
  leave();
}

StatusWith<WriteFence::Pass> WriteFence::enter(std::optional<int64_t> since) {
  if (inside_.fetch_add(1, std::memory_order_acq_rel) & kClosed) {
    leave();
    return Status(ErrorCode::kNotWritablePrimary, "not primary: this node may not write now");
  }
  // The term cannot change while somebody is inside of an open fence.
  Pass pass(this, term_.load(std::memory_order_acquire));
  if (since && *since != pass.term_)
    return Status(ErrorCode::kInterruptedDueToReplStateChange, "the operation began to write in term " +
                                                                   std::to_string(*since) + ", and this is term " +
                                                                   std::to_string(pass.term_));
  return pass;
}

std::optional<int64_t> WriteFence::term() const {
  if (!isOpen()) return std::nullopt;
  return term_.load(std::memory_order_acquire);
}

void WriteFence::leave() {
  if (inside_.fetch_sub(1, std::memory_order_acq_rel) != (kClosed | 1)) return;
  std::vector<std::function<void()>> drained;
  {
    const std::lock_guard lock(mutex_);
    drained.swap(drained_);
  }
  for (const auto& tell : drained) tell();
}

}  // namespace troupe::storage
