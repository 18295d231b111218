#pragma once
#include <functional>
#include <mutex>
#include <optional>

#include "messaging/bson/types.hpp"

namespace troupe::replication {
class ReplicationProgress;
}
namespace troupe::server {

/// Commits that the node's readers may not see yet: a member that follows another one reads at the end of its last
/// whole batch (RecoveryUnit::readsWholeBatches), and a unit of work of a batch is committed before that. An
/// observer of commits has to announce a commit again, or only then, when readers see it: a reader that was woken
/// before has read the older data. For handlers of commits (RecoveryUnit::onCommit). Thread-safe.
class ReadableCommits {
 public:
  /// `hear` is called after readers see more than before, for as long as something was awaited; on the thread that
  /// moved the time, so it must neither block nor throw.
  explicit ReadableCommits(std::function<void()> hear) : hear_(std::move(hear)) {}
  ReadableCommits(const ReadableCommits&) = delete;
  ReadableCommits& operator=(const ReadableCommits&) = delete;

  /// Called once, before the first commit. Where it is not, on a node that stands alone, commits are seen at once. This
  /// outlives `progress`.
  void follow(replication::ReplicationProgress& progress) { progress_ = &progress; }
  /// Whether a read that begins now may miss what was committed at `time`; then `hear` is called when none does.
  bool awaits(std::optional<bson::Timestamp> time);

 private:
  void awaitMove(bson::Timestamp seen);
  void moved();

  const std::function<void()> hear_;
  replication::ReplicationProgress* progress_ = nullptr;
  std::mutex mutex_;
  bson::Timestamp newest_;  ///< that is awaited
  bool isAwaiting_ = false;
};

}  // namespace troupe::server
