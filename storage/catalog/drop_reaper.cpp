#include "storage/catalog/drop_reaper.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "storage/transaction/session_pool.hpp"

namespace troupe::storage {

void DropReaper::add(std::string ident, Timestamp dropTime, std::weak_ptr<const void> token, RowRemoval removal) {
  std::lock_guard lock(mutex_);
  pending_.push_back({.ident = std::move(ident),
                      .dropTime = dropTime,
                      .token = std::move(token),
                      .dropping = false,
                      .awaitsCheckpoint = removal == RowRemoval::kCheckpoint});
}

StatusWith<std::shared_ptr<const void>> DropReaper::use(const std::string& ident) {
  std::lock_guard lock(mutex_);
  for (const Pending& pending : pending_)
    if (pending.dropping && pending.ident == ident)
      return Status(ErrorCode::kSnapshotUnavailable, "the table " + ident + " is being dropped");
  std::erase_if(uses_, [](const auto& use) { return use.second.expired(); });
  auto& weak = uses_[ident];
  auto token = weak.lock();
  if (!token) weak = token = std::make_shared<char>();
  return token;
}

bool DropReaper::used(const Pending& pending) const {
  const auto use = uses_.find(pending.ident);
  return !pending.token.expired() || (use != uses_.end() && !use->second.expired());
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

std::vector<std::string> DropReaper::idents() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const Pending& pending : pending_) all.push_back(pending.ident);
  return all;
}

void DropReaper::noteCheckpoint(const std::vector<std::string>& idents) {
  const std::set<std::string_view> held(idents.begin(), idents.end());
  std::lock_guard lock(mutex_);
  for (Pending& pending : pending_)
    if (held.contains(pending.ident)) pending.awaitsCheckpoint = false;
}

void DropReaper::release(const std::vector<std::string>& idents) {
  const std::set<std::string_view> released(idents.begin(), idents.end());
  std::lock_guard lock(mutex_);
  for (Pending& pending : pending_)
    if (released.contains(pending.ident)) pending.dropTime = {};
}

size_t DropReaper::reapOnce(Engine& engine, SessionPool& pool, Timestamp lastCheckpoint, Timestamp oldest) {
  std::vector<std::string> ready;
  {
    std::lock_guard lock(mutex_);
    for (Pending& pending : pending_) {
      const bool old =
          pending.dropTime == Timestamp{} || (pending.dropTime < lastCheckpoint && pending.dropTime < oldest);
      pending.dropping = old && !pending.awaitsCheckpoint && !used(pending);
      if (pending.dropping) ready.push_back(pending.ident);
    }
  }
  size_t dropped = 0;
  for (const std::string& ident : ready) {
    if (auto table = engine.openTable(ident); table.isOK()) pool.forgetTable(*table);
    const Status status = engine.dropTable(ident);
    const bool gone = status.isOK() || status == ErrorCode::kNoSuchKey;
    {
      std::lock_guard lock(mutex_);
      std::erase_if(pending_, [&](Pending& pending) {
        if (pending.ident != ident) return false;
        pending.dropping = false;
        return gone;
      });
    }
    if (!gone) continue;
    ++dropped;
    if (onDropped_) onDropped_(ident);
  }
  return dropped;
}

}  // namespace troupe::storage
