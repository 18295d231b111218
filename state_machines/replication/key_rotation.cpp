#include "state_machines/replication/key_rotation.hpp"

#include <algorithm>
#include <limits>

namespace troupe::replication {

namespace {

constexpr size_t kKeysAhead = 2;
/// Clients of other nodes may move the cluster time on, and keys may be lost: the plan is not left alone for longer.
constexpr std::chrono::seconds kLongestRest = std::chrono::hours(1);

bson::Timestamp extended(bson::Timestamp time, std::chrono::seconds by) {
  const int64_t seconds = int64_t{time.seconds} + by.count();
  return {static_cast<uint32_t>(std::min<int64_t>(seconds, std::numeric_limits<uint32_t>::max())), 0};
}

/// When only one key is left that has not expired.
bson::Timestamp renewalOf(std::vector<bson::Timestamp> expiries) {
  if (expiries.size() < kKeysAhead) return bson::Timestamp{std::numeric_limits<uint32_t>::max(), 0};
  std::ranges::sort(expiries);
  return expiries[expiries.size() - kKeysAhead];
}

}  // namespace

KeyPlan planKeys(std::span<const KeyLifetime> present, bson::Timestamp now, std::chrono::seconds interval) {
  KeyPlan plan;
  std::vector<bson::Timestamp> expiries;
  auto id = static_cast<int64_t>(now.asUint64());
  bson::Timestamp end = now;
  for (const KeyLifetime& key : present) {
    id = std::max(id, key.id + 1);
    if (key.expiresAt <= now) continue;
    expiries.push_back(key.expiresAt);
    end = std::max(end, key.expiresAt);
  }
  while (expiries.size() < kKeysAhead) {
    const bson::Timestamp expiresAt = extended(end, interval);
    if (expiresAt <= end) break;
    plan.lacking.push_back({id++, expiresAt});
    expiries.push_back(expiresAt);
    end = expiresAt;
  }
  plan.renewAt = renewalOf(std::move(expiries));
  plan.lookAgainAfter = std::clamp(std::chrono::seconds(int64_t{plan.renewAt.seconds} - int64_t{now.seconds}),
                                   std::chrono::seconds(1), kLongestRest);
  return plan;
}

}  // namespace troupe::replication
