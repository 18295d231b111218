#include "storage/catalog/drop_reaper.hpp"

#include <algorithm>

#include "storage/transaction/session_pool.hpp"

namespace troupe::storage {

void DropReaper::add(std::string ident, Timestamp dropTime, std::weak_ptr<const void> token) {
  std::lock_guard lock(mutex_);
  pending_.push_back({std::move(ident), dropTime, std::move(token)});
}

bool DropReaper::keep(std::string_view ident) {
  std::lock_guard lock(mutex_);
  return std::erase_if(pending_, [&](const Pending& pending) { return pending.ident == ident; }) > 0;
}

size_t DropReaper::size() const {
  std::lock_guard lock(mutex_);
  return pending_.size();
}

bool DropReaper::isPending(std::string_view ident) const {
  std::lock_guard lock(mutex_);
  return std::any_of(pending_.begin(), pending_.end(), [&](const Pending& pending) { return pending.ident == ident; });
}

size_t DropReaper::reapOnce(Engine& engine, SessionPool& pool, Timestamp lastCheckpoint, Timestamp oldest) {
  std::vector<Pending> ready;
  {
    std::lock_guard lock(mutex_);
    const auto waits = [&](const Pending& pending) {
      const bool old =
          pending.dropTime == Timestamp{} || (pending.dropTime < lastCheckpoint && pending.dropTime < oldest);
      return !old || !pending.token.expired();
    };
    auto split = std::stable_partition(pending_.begin(), pending_.end(), waits);
    ready.assign(std::make_move_iterator(split), std::make_move_iterator(pending_.end()));
    pending_.erase(split, pending_.end());
  }
  size_t dropped = 0;
  for (auto& pending : ready) {
    if (auto table = engine.openTable(pending.ident); table.isOK()) pool.forgetTable(*table);
    const Status status = engine.dropTable(pending.ident);
    if (status.isOK() || status == ErrorCode::kNoSuchKey) {
      ++dropped;
      continue;
    }
    std::lock_guard lock(mutex_);
    pending_.push_back(std::move(pending));
  }
  return dropped;
}

void DropReaper::clear() {
  std::lock_guard lock(mutex_);
  pending_.clear();
}

}  // namespace troupe::storage
