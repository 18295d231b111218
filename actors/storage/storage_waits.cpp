#include "actors/storage/storage_waits.hpp"

#include <map>
#include <memory>

namespace troupe {

using storage::LockGuard;
using storage::ResourceLocks;

Future<Done> acquired(ResourceLocks& locks, size_t stripe, LockMode mode) {
  auto promise = std::make_shared<Promise<Done>>();
  auto future = promise->future();
  locks.acquire(stripe, mode, [promise] { promise->set(Done{}); });
  return future;
}

Task<std::vector<LockGuard>> takeLocks(ResourceLocks& locks, std::vector<LockWish> wishes) {
  std::map<size_t, LockMode> stripes;
  for (const LockWish& wish : wishes) {
    auto [it, added] = stripes.emplace(ResourceLocks::stripeOf(wish.name), wish.mode);
    if (!added && wish.mode == LockMode::kExclusive) it->second = LockMode::kExclusive;
  }
  std::vector<LockGuard> held;
  for (const auto& [stripe, mode] : stripes) {
    if (!locks.tryAcquire(stripe, mode)) co_await acquired(locks, stripe, mode);
    held.emplace_back(locks, stripe, mode);
  }
  co_return held;
}

std::vector<LockWish> locksToChange(const storage::Namespace& ns) {
  return {{std::string(ns.db()), LockMode::kShared}, {ns.toString(), LockMode::kExclusive}};
}

Future<Status> untilDurable(storage::DurabilityTracker& durability, storage::DurabilityTicket ticket,
                            const std::function<void()>& wakeFlusher) {
  auto promise = std::make_shared<Promise<Status>>();
  auto durable = promise->future();
  if (durability.wait(ticket, [promise](const Status& outcome) { promise->set(outcome); })) wakeFlusher();
  return durable;
}

}  // namespace troupe
