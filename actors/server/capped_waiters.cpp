#include "actors/server/capped_waiters.hpp"

#include <algorithm>
#include <utility>

#include "storage/catalog/collection.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::server {

namespace {

void wake(const std::vector<std::weak_ptr<Promise<Done>>>& waiting) {
  for (const auto& waiter : waiting) {
    if (const auto promise = waiter.lock()) promise->set(Done{});
  }
}

}  // namespace

int64_t CappedWaiters::newsOf(const bson::Uuid& collection) {
  const std::lock_guard lock(mutex_);
  return watched_[collection].news;
}

void CappedWaiters::wakeOnNews(const bson::Uuid& collection, int64_t known,
                               const std::shared_ptr<Promise<Done>>& woken) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = watched_.find(collection);
    if (it != watched_.end() && it->second.news == known) {
      Watched& watched = it->second;
      if (watched.waiting.size() >= watched.pruneAt) {
        std::erase_if(watched.waiting, [](const auto& waiter) { return waiter.expired(); });
        watched.pruneAt = std::max<size_t>(16, watched.waiting.size() * 2);
      }
      watched.waiting.push_back(woken);
      return;
    }
  }
  woken->set(Done{});
}

void CappedWaiters::followOplog(storage::OplogVisibility& visibility, const bson::Uuid& collection) {
  // Entries become visible when the holes before them close, not when they are committed.
  visibility.whenPast(visibility.get(), [this, &visibility, collection] {
    followOplog(visibility, collection);
    tell(collection);
  });
}

void CappedWaiters::wakeAll() {
  std::map<bson::Uuid, Watched> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(watched_);
  }
  for (const auto& [collection, watched] : all) wake(watched.waiting);
}

size_t CappedWaiters::watched() const {
  const std::lock_guard lock(mutex_);
  return watched_.size();
}

bool CappedWaiters::observes(const storage::CatalogEntry& entry) const { return entry.options.capped; }

Status CappedWaiters::onInsert(storage::RecoveryUnit& unit, const storage::Collection& collection,
                               const storage::InsertOperation&) {
  return tellOnCommit(unit, collection.uuid());
}

Status CappedWaiters::onUpdate(storage::RecoveryUnit& unit, const storage::Collection& collection,
                               const storage::UpdateOperation&) {
  return tellOnCommit(unit, collection.uuid());
}

Status CappedWaiters::onTruncate(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime&) {
  return tellOnCommit(unit, collection.uuid());
}

Status CappedWaiters::onDrop(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime&) {
  const bson::Uuid uuid = collection.uuid();
  TROUPE_TRY(tellOnCommit(unit, uuid));
  unit.onCommit([this, uuid](auto) {
    const std::lock_guard lock(mutex_);
    watched_.erase(uuid);
  });
  return Status::OK();
}

Status CappedWaiters::onRename(storage::RecoveryUnit& unit, const storage::RenameOperation& renamed) {
  if (renamed.droppedTarget && !renamed.droppedTarget->isView())
    TROUPE_TRY(onDrop(unit, *renamed.droppedTarget, renamed.slot));
  return tellOnCommit(unit, renamed.before.uuid());
}

Status CappedWaiters::onModify(storage::RecoveryUnit& unit, const storage::ModifyOperation& modified) {
  return tellOnCommit(unit, modified.before.uuid());
}

Status CappedWaiters::tellOnCommit(storage::RecoveryUnit& unit, const bson::Uuid& collection) {
  unit.onCommit([this, collection](auto) { tell(collection); });
  return Status::OK();
}

void CappedWaiters::tell(const bson::Uuid& collection) {
  Waiters waiting;
  {
    const std::lock_guard lock(mutex_);
    const auto it = watched_.find(collection);
    if (it == watched_.end()) return;
    ++it->second.news;
    waiting.swap(it->second.waiting);
  }
  wake(waiting);
}

}  // namespace troupe::server
