#include "actors/server/readable_commits.hpp"

#include <algorithm>
#include <utility>

#include "actors/replication/replication_progress.hpp"

namespace troupe::server {

bool ReadableCommits::awaits(std::optional<bson::Timestamp> time) {
  if (!progress_ || !time) return false;
  const bson::Timestamp seen = progress_->lastApplied();
  if (*time <= seen) return false;
  {
    const std::lock_guard lock(mutex_);
    newest_ = std::max(newest_, *time);
    if (std::exchange(isAwaiting_, true)) return true;
  }
  awaitMove(seen);
  return true;
}

/// Any move will do, not only one to the time that is awaited: one waiter serves all commits of a batch, in whatever
/// order they come, and a time that a rollback has undone keeps no later one waiting.
void ReadableCommits::awaitMove(bson::Timestamp seen) {
  const auto next = bson::Timestamp::fromUint64(seen.asUint64() + 1);
  progress_->whenApplied(next, [this] { moved(); });
}

void ReadableCommits::moved() {
  bool goesOn = false;
  bson::Timestamp seen;
  {
    const std::lock_guard lock(mutex_);
    seen = progress_->lastApplied();
    goesOn = isAwaiting_ = newest_ > seen;
    if (!goesOn) newest_ = {};
  }
  hear_();  // behind the lock: a commit that was noted before is among those that are told of
  if (goesOn) awaitMove(seen);
}

}  // namespace troupe::server
