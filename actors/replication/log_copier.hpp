#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "actors/replication/oplog_buffer.hpp"
#include "actors/replication/sync_attempt.hpp"

namespace troupe::replication {

/// Fetches the log of a source into the own one, beyond its visible end, while data are copied (ISY-009): one storage
/// transaction a batch, so memory does not bound it and a kill leaves no hole. Made with make_shared; on the attempt's
/// thread.
class LogCopier : public std::enable_shared_from_this<LogCopier> {
 public:
  explicit LogCopier(std::shared_ptr<SyncAttempt> attempt) : attempt_(std::move(attempt)) {}

  /// The first entry of the own log, from which on the rest is fetched. Errors: those of storage.
  Task<Status> begin(bson::Document first);
  /// Fetches until `upTo` is reached, the attempt is abandoned, or it fails: the entries do not follow each other, the
  /// source has lost the place, or does not come back. One at a time. May be repeated.
  Task<Status> run();
  /// The newest entry that is there, when it is not before `stop`; no other comes any more. Errors: those of `run`,
  /// also if it has ended already.
  Task<StatusWith<OpTime>> upTo(OpTime stop);

  const OpTime& newest() const { return newest_; }

 private:
  Task<Status> fetch();
  Task<Status> readOn(SourcePatience* patience);
  /// Takes the entries behind the newest one out of a batch.
  StatusWith<std::vector<FetchedEntry>> entriesOf(const std::vector<bson::View>& batch, bool isFirst) const;
  Task<Status> write(std::vector<FetchedEntry> entries);
  bool isThere() const { return stop_ && newest_ >= *stop_; }
  void answer();

  const std::shared_ptr<SyncAttempt> attempt_;
  OpTime newest_;
  bool isWriting_ = false;  ///< a batch
  std::optional<OpTime> stop_;
  std::optional<Status> failure_;
  std::vector<Promise<Status>> awaitingStop_;
};

}  // namespace troupe::replication
