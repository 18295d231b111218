#include "supervisors/daemon/descriptor_shares.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "actors/server/connection_gate.hpp"

namespace troupe::supervisors {

namespace {

constexpr int64_t kSmallestReserve = 64;
constexpr int64_t kMostOfAdmin = 128;
constexpr int64_t kFewestOfEach = 16;
/// What counts as no limit; Linux allows no process more.
constexpr int64_t kUnlimited = 1 << 20;

}  // namespace

StatusWith<DescriptorShares> shareDescriptors(const DescriptorWishes& wishes) {
  const std::string raise = "; raise it with `ulimit -n` or LimitNOFILE=";
  if (wishes.limit < kFewestDescriptors)
    return Status(ErrorCode::kInvalidOptions, "the limit of open files is " + std::to_string(wishes.limit) + ", but " +
                                                  std::to_string(kFewestDescriptors) + " are needed" + raise);
  DescriptorShares shares;
  shares.limit = wishes.limit;
  shares.reserve = wishes.reserve > 0 ? wishes.reserve : std::max(kSmallestReserve, wishes.limit / 10);
  shares.links = server::ConnectionGate::kLinkRoom;
  shares.admin = std::min(kMostOfAdmin, wishes.limit / 16);
  const int64_t rest = shares.limit - shares.reserve - shares.links - shares.admin;
  if (rest < 2 * kFewestOfEach)
    return Status(ErrorCode::kInvalidOptions, "the limit of open files is " + std::to_string(wishes.limit) +
                                                  ", which leaves none beside the reserve" + raise);
  shares.tables = std::max(rest / 2, rest - wishes.connections);
  if (wishes.openTables > 0) shares.tables = std::min(wishes.openTables, rest - kFewestOfEach);
  shares.connections = std::min(wishes.connections, rest - shares.tables);
  return shares;
}

int64_t raiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFewestDescriptors;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlim_t soft = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = soft;
  }
  return limit.rlim_cur == RLIM_INFINITY ? kUnlimited
                                         : static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, kUnlimited));
}

}  // namespace troupe::supervisors
