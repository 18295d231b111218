#include "storage/locks/resource_locks.hpp"

namespace troupe::storage {

// Invariant: while an exclusive holder or any waiter exists, kContended is set in `holders`; only the slow path, under
// the mutex, sets and clears it. The fast path adds itself first and backs out when it finds the mark.

bool ResourceLocks::grantLocked(Stripe& stripe, Mode mode) {
  if (stripe.exclusive) return false;
  if (mode == Mode::kShared) {
    stripe.holders.fetch_add(1);
    return true;
  }
  if ((stripe.holders.load() & ~kContended) != 0) return false;
  stripe.exclusive = true;
  return true;
}

void ResourceLocks::drainLocked(Stripe& stripe, std::deque<Waiter>& ready) {
  while (!stripe.waiters.empty() && grantLocked(stripe, stripe.waiters.front().mode)) {
    ready.push_back(std::move(stripe.waiters.front()));
    stripe.waiters.pop_front();
  }
  if (stripe.waiters.empty() && !stripe.exclusive) stripe.holders.fetch_and(~kContended);
}

bool ResourceLocks::tryAcquire(size_t index, Mode mode) {
  Stripe& stripe = stripes_[index];
  if (mode == Mode::kShared) {
    if (!(stripe.holders.fetch_add(1) & kContended)) return true;
    release(index, Mode::kShared);
    return false;
  }
  const std::lock_guard lock(stripe.mutex);
  uint32_t none = 0;
  if (!stripe.holders.compare_exchange_strong(none, kContended)) return false;
  stripe.exclusive = true;
  return true;
}

void ResourceLocks::acquire(size_t index, Mode mode, std::function<void()> granted) {
  if (tryAcquire(index, mode)) return granted();
  Stripe& stripe = stripes_[index];
  std::deque<Waiter> ready;
  {
    const std::lock_guard lock(stripe.mutex);
    stripe.holders.fetch_or(kContended);
    stripe.waiters.push_back({mode, std::move(granted)});
    drainLocked(stripe, ready);
  }
  for (Waiter& waiter : ready) waiter.granted();
}

void ResourceLocks::release(size_t index, Mode mode) {
  Stripe& stripe = stripes_[index];
  if (mode == Mode::kShared) {
    const uint32_t before = stripe.holders.fetch_sub(1);
    if (before != (kContended | 1)) return;  // others still hold it, or nobody waits
  }
  std::deque<Waiter> ready;
  {
    const std::lock_guard lock(stripe.mutex);
    if (mode == Mode::kExclusive) stripe.exclusive = false;
    drainLocked(stripe, ready);
  }
  for (Waiter& waiter : ready) waiter.granted();
}

}  // namespace troupe::storage
