#include "storage/oplog/slot_reserver.hpp"

#include <algorithm>
#include <stdexcept>

#include "messaging/errors/invariant.hpp"

namespace troupe::storage {

using bson::Timestamp;

namespace {

/// The time just before, in the order of timestamps.
Timestamp before(Timestamp time) {
  if (time.increment > 0) return {time.seconds, time.increment - 1};
  return time.seconds > 0 ? Timestamp{time.seconds - 1, UINT32_MAX} : Timestamp{};
}

}  // namespace

SlotReserver::Slots::Slots(Slots&& other) noexcept
    : reserver_(std::exchange(other.reserver_, nullptr)),
      term_(other.term_),
      first_(other.first_),
      count_(std::exchange(other.count_, 0)),
      written_(std::exchange(other.written_, false)) {}

SlotReserver::Slots& SlotReserver::Slots::operator=(Slots&& other) noexcept {
  if (this == &other) return *this;
  release();
  reserver_ = std::exchange(other.reserver_, nullptr);
  term_ = other.term_;
  first_ = other.first_;
  count_ = std::exchange(other.count_, 0);
  written_ = std::exchange(other.written_, false);
  return *this;
}

void SlotReserver::Slots::release() {
  SlotReserver* const reserver = std::exchange(reserver_, nullptr);
  const size_t count = std::exchange(count_, 0);
  if (!reserver) return;
  const Timestamp end{first_.seconds, first_.increment + static_cast<uint32_t>(count) - 1};
  reserver->close(first_, written_ ? std::optional(end) : std::nullopt);
}

SlotReserver::Slots SlotReserver::reserve(int64_t term, size_t count) {
  if (count == 0 || count >= UINT32_MAX) throw std::invalid_argument("a reservation is of one slot at least");
  const uint32_t now = wallSeconds_();
  const std::lock_guard lock(mutex_);
  return reserveLocked(term, count, now);
}

SlotReserver::Slots SlotReserver::reserveBeforeAll(int64_t term) {
  const uint32_t now = wallSeconds_();
  const std::lock_guard lock(mutex_);
  if (open_.empty()) return reserveLocked(term, 1, now);
  const Timestamp oldest = *open_.begin();
  open_.insert(oldest);
  return {this, term, oldest, 1};
}

/// Increments begin with 1 in each second, and a reservation never straddles two: its times are consecutive.
SlotReserver::Slots SlotReserver::reserveLocked(int64_t term, size_t count, uint32_t now) {
  const bool fits = newest_.increment <= UINT32_MAX - count;
  Timestamp first{newest_.seconds, newest_.increment + 1};
  if (now > newest_.seconds) first = {now, 1};
  else if (!fits) first = {newest_.seconds + 1, 1};
  newest_ = lastHandedOut_ = {first.seconds, first.increment + static_cast<uint32_t>(count) - 1};
  open_.insert(first);
  return {this, term, first, count};
}

void SlotReserver::advanceTo(Timestamp time) {
  const std::lock_guard lock(mutex_);
  newest_ = std::max(newest_, time);
}

void SlotReserver::resetTo(Timestamp time) {
  {
    const std::lock_guard lock(mutex_);
    invariant(open_.empty(), "slots go back when none is open");
    newest_ = std::max(newest_, time);
    lastHandedOut_ = lastWritten_ = time;
    written_.clear();
  }
  visibility_.reset(time);
}

Timestamp SlotReserver::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

Timestamp SlotReserver::lastHandedOut() const {
  const std::lock_guard lock(mutex_);
  return lastHandedOut_;
}

Timestamp SlotReserver::withoutHolesLocked() const { return open_.empty() ? lastHandedOut_ : before(*open_.begin()); }

Timestamp SlotReserver::withoutHoles() const {
  const std::lock_guard lock(mutex_);
  return withoutHolesLocked();
}

Timestamp SlotReserver::lastWritten() const {
  const std::lock_guard lock(mutex_);
  return lastWritten_;
}

Timestamp SlotReserver::newestWritten() const {
  const std::lock_guard lock(mutex_);
  return written_.empty() ? lastWritten_ : *written_.rbegin();
}

size_t SlotReserver::openReservations() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

/// The visibility point is moved outside of the lock: it calls its waiters. Two that close at once may come to it in
/// either order; it does not go back.
void SlotReserver::close(Timestamp first, std::optional<Timestamp> written) {
  Timestamp reached;
  {
    const std::lock_guard lock(mutex_);
    open_.erase(open_.find(first));
    reached = withoutHolesLocked();
    if (written) written_.insert(*written);
    while (!written_.empty() && *written_.begin() <= reached) lastWritten_ = written_.extract(written_.begin()).value();
  }
  visibility_.advance(reached);
}

}  // namespace troupe::storage
