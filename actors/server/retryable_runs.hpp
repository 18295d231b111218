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
/// are this object's own, unless the caller names one; one that a run has left is used again under its next number, so
/// that an attempt that is still on its way fails behind a later run (TransactionTooOld) instead of being carried out.
/// Any thread.
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
  /// are the caller's. Sent again after no answer, a broken link, a change of the primary, an interruption (also by a
  /// person's killOp); any other answered failure is final. Errors: the command's; at the deadline the last failure
  /// that passes, or MaxTimeMSExpired: then the command may have been carried out, or may yet be. A caller that drops
  /// the task gives up likewise.
  Task<StatusWith<bson::Document>> run(std::string database, bson::Document command, TimePoint deadline);

  /// A number of a session of the caller's.
  struct SessionNumber {
    bson::Uuid id;  ///< of the session: `lsid.id`
    int64_t txnNumber = 0;
  };
  /// The same under the caller's own number, which a coordinator keeps in its state document, to run the same command
  /// again after a crash: it is carried out once, and answered alike for as long as the set remembers the session
  /// (localLogicalSessionTimeoutMinutes after its last use). The caller gives each command a higher number of the
  /// session than the one before, and runs one at a time. A target that stands alone (`numbered` is false) takes no
  /// number: run again there, the command is carried out again.
  Task<StatusWith<bson::Document>> run(SessionNumber under, std::string database, bson::Document command,
                                       TimePoint deadline);

  /// Sessions that were made for runs without one: as many as ran at once, at most.
  size_t sessions() const { return made_->count(); }

 private:
  /// Shared with runs, which may be dropped after this object.
  class Sessions {
   public:
    SessionNumber take(Node& node);  ///< under its next number
    void giveBack(const SessionNumber& session);
    size_t count() const;

   private:
    mutable std::mutex mutex_;
    std::vector<SessionNumber> free_;  ///< with the numbers of their last runs
    size_t made_ = 0;
  };
  class Lease;

  Task<StatusWith<bson::Document>> runOnce(std::string database, bson::Document command, TimePoint deadline);

  Node& node_;
  replication::RemoteMembers& members_;
  const std::string target_;
  const Options options_;
  const std::shared_ptr<Sessions> made_ = std::make_shared<Sessions>();
};

/// Whether a numbered write is sent again after a failure: it passes by itself, and nobody knows whether the write was
/// carried out. So it is with Interrupted: all sessions were killed, the session's record was edited, the service of
/// commands was restarted.
bool isSentAgain(const Status& failure);

}  // namespace troupe::server
