#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/kernel/node.hpp"
#include "actors/replication/remote_members.hpp"
#include "messaging/bson/document.hpp"

namespace troupe::server {

/// Write commands of the node's own services, each carried out exactly once (SES-010, SES-017): a command goes under a
/// number of an internal session, and goes again under the same number while nobody knows what became of it. Sessions
/// are this object's own; one that a run has left is used again under its next number, so that an attempt that is still
/// on its way fails behind a later run (TransactionTooOld) instead of being carried out. Any thread.
class RetryableRuns {
 public:
  struct Options {
    Duration attempt = std::chrono::seconds(10);  ///< without an answer; then it is sent again
    Duration firstPause = std::chrono::milliseconds(50);
    Duration longestPause = std::chrono::seconds(2);
    /// False: the target stands alone, where commands have no numbers. Each is sent once.
    bool numbered = true;
  };
  /// `target`: where the commands go, this node included: a node's name, or `primaryOf` a set. `node` and `members`
  /// outlive this.
  RetryableRuns(Node& node, replication::RemoteMembers& members, std::string target, const Options& options);
  RetryableRuns(Node& node, replication::RemoteMembers& members, std::string target)
      : RetryableRuns(node, members, std::move(target), Options()) {}

  /// Runs a retryable command (insert, update, delete of one document each, findAndModify, bulkWrite) without lsid and
  /// txnNumber: those are added. Gives its reply, in which `writeErrors` and a `writeConcernError` that does not pass
  /// are the caller's. Sent again after no answer, a broken link, a change of the primary; an answered failure is
  /// final. Errors: the command's; at the deadline the last failure that passes, or MaxTimeMSExpired: then the command
  /// may have been carried out, or may yet be. A caller that drops the task gives up likewise.
  Task<StatusWith<bson::Document>> run(std::string database, bson::Document command, TimePoint deadline);

  /// Sessions that were made: as many as ran at once, at most.
  size_t sessions() const { return made_->count(); }

 private:
  struct Session {
    bson::Uuid id;
    int64_t number = 0;  ///< of the last run
  };
  /// Shared with runs, which may be dropped after this object.
  class Sessions {
   public:
    Session take(Node& node);
    void giveBack(const Session& session);
    size_t count() const;

   private:
    mutable std::mutex mutex_;
    std::vector<Session> free_;
    size_t made_ = 0;
  };
  class Lease;

  Node& node_;
  replication::RemoteMembers& members_;
  const std::string target_;
  const Options options_;
  const std::shared_ptr<Sessions> made_ = std::make_shared<Sessions>();
};

/// Whether a numbered write is sent again after a failure: it passes by itself, and nobody knows whether the write was
/// carried out.
bool isSentAgain(const Status& failure);

}  // namespace troupe::server
