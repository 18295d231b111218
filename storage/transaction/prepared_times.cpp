#include "storage/transaction/prepared_times.hpp"

#include <algorithm>

namespace troupe::storage {

PreparedTimes::Id PreparedTimes::add(bson::Timestamp prepared) {
  const std::lock_guard lock(mutex_);
  transactions_.emplace(++last_, Transaction{prepared, {}});
  return last_;
}

void PreparedTimes::withdraw(Id id) {
  const std::lock_guard lock(mutex_);
  transactions_.erase(id);
}

void PreparedTimes::decide(Id id, bson::Timestamp decided) {
  const std::lock_guard lock(mutex_);
  if (const auto found = transactions_.find(id); found != transactions_.end()) found->second.decided = decided;
}

bson::Timestamp PreparedTimes::neededFrom(bson::Timestamp stable) {
  const std::lock_guard lock(mutex_);
  std::erase_if(transactions_, [&](const auto& each) { return each.second.decided && *each.second.decided <= stable; });
  for (const auto& [id, transaction] : transactions_) stable = std::min(stable, transaction.prepared);
  return stable;
}

}  // namespace troupe::storage
