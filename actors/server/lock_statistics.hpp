#pragma once
#include "messaging/bson/document.hpp"
#include "storage/locks/lock_statistics.hpp"

namespace troupe::server {

/// serverStatus.locks, lockStats and the `locks` of profiles: by type of resource {acquireCount, acquireWaitCount,
/// timeAcquiringMicros, deadlockCount: {r, w, R, W}}; figures that are zero are left out.
bson::Document lockStatistics(const storage::LockStatistics& statistics);

}  // namespace troupe::server
