#include "actors/server/capped_waiters.hpp"

#include <algorithm>
#include <utility>

#include "actors/replication/replication_progress.hpp"
#include "storage/catalog/collection.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::server {

namespace {

void wake(const std::vector<std::weak_ptr<Promise<Done>>>& waiting) {
  for (const auto& waiter : waiting) {
    if (const auto promise = waiter.lock()) promise->set(Done{});
  }
}

}  // namespace

int64_t CappedWaiters::newsOf(const NewsSource& source) {
  const std::lock_guard lock(mutex_);
  return source.committed ? commits_.news : watched_[source.collection].news;
}

CappedWaiters::Watched* CappedWaiters::find(const NewsSource& source) {
  if (source.committed) return &commits_;
  const auto it = watched_.find(source.collection);
  return it == watched_.end() ? nullptr : &it->second;
}

void CappedWaiters::wakeOnNews(const NewsSource& source, int64_t known, const std::shared_ptr<Promise<Done>>& woken) {
  {
    const std::lock_guard lock(mutex_);
    if (Watched* const watched = find(source); watched && watched->news == known) {
      if (watched->waiting.size() >= watched->pruneAt) {
        std::erase_if(watched->waiting, [](const auto& waiter) { return waiter.expired(); });
        watched->pruneAt = std::max<size_t>(16, watched->waiting.size() * 2);
      }
      watched->waiting.push_back(woken);
      return;
    }
  }
  woken->set(Done{});
}

void CappedWaiters::followOplog(storage::OplogVisibility& visibility, const bson::Uuid& collection,
                                replication::ReplicationProgress& progress) {
  readable_.follow(progress);
  followVisibility(visibility, collection, progress);
  followCommits(progress);
}

/// Entries become visible when the holes before them close, not when they are committed. For a moment the commit point
/// may be ahead: a member's batch is applied, then visible. What becomes visible then is news of what is committed.
void CappedWaiters::followVisibility(storage::OplogVisibility& visibility, const bson::Uuid& collection,
                                     replication::ReplicationProgress& progress) {
  const bson::Timestamp seen = visibility.get();
  visibility.whenPast(seen, [this, &visibility, collection, &progress, seen] {
    followVisibility(visibility, collection, progress);
    tell(collection);
    if (seen < progress.majority()) tellCommitted();
  });
}

void CappedWaiters::followCommits(replication::ReplicationProgress& progress) {
  const auto next = bson::Timestamp::fromUint64(progress.majority().asUint64() + 1);
  progress.whenCommitted(next, [this, &progress] {
    followCommits(progress);
    tellCommitted();
  });
}

void CappedWaiters::wakeAll() {
  std::map<bson::Uuid, Watched> all;
  Waiters forCommits;
  {
    const std::lock_guard lock(mutex_);
    all.swap(watched_);
    forCommits = takeWaiters(commits_);
  }
  for (const auto& [collection, watched] : all) wake(watched.waiting);
  wake(forCommits);
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
  return tellOnCommit(unit, collection.uuid(), After::kGone);
}

Status CappedWaiters::onRename(storage::RecoveryUnit& unit, const storage::RenameOperation& renamed) {
  if (renamed.droppedTarget && !renamed.droppedTarget->isView())
    TROUPE_TRY(onDrop(unit, *renamed.droppedTarget, renamed.slot));
  return tellOnCommit(unit, renamed.before.uuid());
}

Status CappedWaiters::onModify(storage::RecoveryUnit& unit, const storage::ModifyOperation& modified) {
  return tellOnCommit(unit, modified.before.uuid());
}

Status CappedWaiters::tellOnCommit(storage::RecoveryUnit& unit, const bson::Uuid& collection, After after) {
  const storage::OperationContext* const operation = unit.operation();
  const bool isApplied = operation && operation->origin() == storage::OperationOrigin::kApplier;
  unit.onCommit([this, collection, after, isApplied](auto time) {
    if (isApplied) tellOfBatch(collection, after, time);
    else tell(collection, after);
  });
  return Status::OK();
}

/// Noted whether watched or not: a cursor may ask for the news after the commit, and read at the end of the last batch.
void CappedWaiters::tellOfBatch(const bson::Uuid& collection, After after, std::optional<bson::Timestamp> time) {
  {
    const std::lock_guard lock(mutex_);
    After& noted = unread_[collection];
    noted = std::max(noted, after);
  }
  if (!readable_.awaits(time)) tellReadable();
}

void CappedWaiters::tellReadable() {
  std::map<bson::Uuid, After> news;
  {
    const std::lock_guard lock(mutex_);
    news.swap(unread_);
  }
  for (const auto& [collection, after] : news) tell(collection, after);
}

void CappedWaiters::tell(const bson::Uuid& collection, After after) {
  Waiters waiting;
  {
    const std::lock_guard lock(mutex_);
    const auto it = watched_.find(collection);
    if (it == watched_.end()) return;
    waiting = takeWaiters(it->second);
    if (after == After::kGone) watched_.erase(it);
  }
  wake(waiting);
}

void CappedWaiters::tellCommitted() {
  Waiters waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting = takeWaiters(commits_);
  }
  wake(waiting);
}

CappedWaiters::Waiters CappedWaiters::takeWaiters(Watched& watched) {
  ++watched.news;
  return std::exchange(watched.waiting, {});
}

}  // namespace troupe::server
