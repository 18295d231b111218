#pragma once
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "messaging/bson/types.hpp"

/// When a primary makes keys that sign cluster times (CLK-008). Pure.
namespace troupe::replication {

/// A signing key, but for its secret.
struct KeyLifetime {
  int64_t id = 0;
  bson::Timestamp expiresAt;  ///< it signs earlier times
  bool operator==(const KeyLifetime&) const = default;
};

struct KeyPlan {
  std::vector<KeyLifetime> lacking;       ///< to be made now, the first to expire first
  std::chrono::seconds lookAgainAfter{};  ///< once they are there
  bson::Timestamp renewAt;                ///< or when the cluster time has come to this: only one key is left then
};

/// There are always two keys that sign what comes: the present one, and the next, which members have long before it is
/// used. Each lasts for `interval` longer than the one before. Ids are cluster times and grow, so that no two primaries
/// give out the same one. `now`: the cluster time. A time so late that no key could outlast it gets none.
KeyPlan planKeys(std::span<const KeyLifetime> present, bson::Timestamp now, std::chrono::seconds interval);

}  // namespace troupe::replication
