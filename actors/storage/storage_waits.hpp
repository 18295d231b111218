#pragma once
#include <functional>
#include <string>
#include <vector>

#include "actors/kernel/future.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/journal/durability_tracker.hpp"
#include "storage/locks/resource_locks.hpp"

namespace troupe {

using LockMode = storage::ResourceLocks::Mode;

/// One lock an operation wants: a collection's full name or a database's name.
struct LockWish {
  std::string name;
  LockMode mode = LockMode::kShared;
};

/// Takes all locks, in an order that cannot deadlock, without holding a thread while it waits.
Task<std::vector<storage::LockGuard>> takeLocks(storage::ResourceLocks& locks, std::vector<LockWish> wishes);
/// Locks of an operation that changes what `ns` is (create, drop, index builds): its database shared, itself exclusive.
std::vector<LockWish> locksToChange(const storage::Namespace& ns);

/// Comes when the lock is held; the waiter then owes its release (LockGuard). No thread waits.
Future<Done> acquired(storage::ResourceLocks& locks, size_t stripe, LockMode mode);

/// Comes when the commit of that ticket is on disk, or with the failure of the flush. `wakeFlusher` is called when no
/// flush is under way that covers it.
Future<Status> untilDurable(storage::DurabilityTracker& durability, storage::DurabilityTicket ticket,
                            const std::function<void()>& wakeFlusher);

}  // namespace troupe
