#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "actors/kernel/future.hpp"
#include "actors/server/news_source.hpp"
#include "actors/server/readable_commits.hpp"
#include "messaging/bson/types.hpp"
#include "storage/catalog/write_observer.hpp"
#include "storage/oplog/oplog_visibility.hpp"

namespace troupe::replication {
class ReplicationProgress;
}
namespace troupe::server {

/// Waiters for news of capped collections: tailable cursors that await data. News are inserts that readers see, and
/// that the collection changes or goes: once committed, or where a member applies them at the end of their batch.
/// Otherwise only collections that somebody asked about cost anything. Thread-safe.
class CappedWaiters final : public storage::WriteObserver {
 public:
  /// The count of news so far. Ask before reading, and hand it to `wakeOnNews` when there was nothing to read.
  int64_t newsOf(const NewsSource& source);
  /// Completes `woken` with the next news, or at once when there were some since `known`. A waiter that stops waiting
  /// drops it.
  void wakeOnNews(const NewsSource& source, int64_t known, const std::shared_ptr<Promise<Done>>& woken);
  /// Moves of the oplog's visibility point are news of its collection, those of the commit point news for all that read
  /// what a majority has. Called once, before anybody waits; this outlives `visibility` and `progress`.
  void followOplog(storage::OplogVisibility& visibility, const bson::Uuid& collection,
                   replication::ReplicationProgress& progress);
  /// Wakes every waiter; called at shutdown.
  void wakeAll();
  /// Collections that are kept in mind.
  size_t watched() const;

  bool observes(const storage::CatalogEntry& entry) const override;
  Status onInsert(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::InsertOperation& inserted) override;
  Status onUpdate(storage::RecoveryUnit& unit, const storage::Collection& collection,
                  const storage::UpdateOperation& updated) override;
  Status onTruncate(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime& slot) override;
  Status onDrop(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime& slot) override;
  Status onRename(storage::RecoveryUnit& unit, const storage::RenameOperation& renamed) override;
  Status onModify(storage::RecoveryUnit& unit, const storage::ModifyOperation& modified) override;

 private:
  using Waiters = std::vector<std::weak_ptr<Promise<Done>>>;
  struct Watched {
    int64_t news = 0;
    Waiters waiting;
    size_t pruneAt = 16;
  };
  enum class After : uint8_t { kStays, kGone };
  Status tellOnCommit(storage::RecoveryUnit& unit, const bson::Uuid& collection, After after = After::kStays);
  /// Of a batch that is being applied: a reader that is woken before its end finds nothing, and counts the news as
  /// read.
  void tellOfBatch(const bson::Uuid& collection, After after, std::optional<bson::Timestamp> time);
  void tellReadable();
  void followVisibility(storage::OplogVisibility& visibility, const bson::Uuid& collection,
                        replication::ReplicationProgress& progress);
  void followCommits(replication::ReplicationProgress& progress);
  void tell(const bson::Uuid& collection, After after = After::kStays);
  void tellCommitted();
  /// With the lock held; null where nobody has asked for the collection's news.
  Watched* find(const NewsSource& source);
  static Waiters takeWaiters(Watched& watched);

  mutable std::mutex mutex_;
  std::map<bson::Uuid, Watched> watched_;
  Watched commits_;                     ///< of the commit point, whatever the collection
  std::map<bson::Uuid, After> unread_;  ///< news of the batch that is being applied
  ReadableCommits readable_{[this] { tellReadable(); }};
};

}  // namespace troupe::server
