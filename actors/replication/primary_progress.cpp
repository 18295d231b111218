#include "actors/replication/primary_progress.hpp"

namespace troupe::replication {

void PrimaryProgress::begin(int64_t term) {
  const bson::Timestamp now = writes_.visibility.get();
  {
    const std::lock_guard lock(mutex_);
    term_ = term;
    before_ = now;
    ++watches_;
  }
  watch(now);
}

void PrimaryProgress::end(int64_t term) {
  {
    const std::lock_guard lock(mutex_);
    if (term_ != term) return;
  }
  note();
  const std::lock_guard lock(mutex_);
  if (term_ == term) term_.reset();
}

void PrimaryProgress::watch(bson::Timestamp seen) {
  uint64_t mine = 0;
  {
    const std::lock_guard lock(mutex_);
    if (!term_) return;
    mine = watches_;
  }
  writes_.visibility.whenPast(seen, [weak = weak_from_this(), mine] {
    const auto self = weak.lock();
    if (!self) return;
    {
      const std::lock_guard lock(self->mutex_);
      if (self->watches_ != mine) return;
    }
    self->moved();
  });
}

/// A callback may come within the call that asks for it: the loop takes the place of a recursion, and whoever comes
/// meanwhile leaves the work to it.
void PrimaryProgress::moved() {
  int64_t taken = pending_.fetch_add(1) + 1;
  if (taken != 1) return;
  do {
    taken = pending_.load();
    const bson::Timestamp seen = writes_.visibility.get();
    note();
    watch(seen);
  } while (pending_.fetch_sub(taken) != taken);
}

void PrimaryProgress::note() {
  OpTime applied;
  {
    const std::lock_guard lock(mutex_);
    const bson::Timestamp written = writes_.slots.lastWritten();
    if (!term_ || written <= before_) return;
    applied = {*term_, written};
  }
  progress_.noteApplied(applied);
  if (hear_) hear_(applied);
}

}  // namespace troupe::replication
