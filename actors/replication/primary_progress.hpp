#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "actors/replication/replication_progress.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::replication {

/// Tells ReplicationProgress what a primary has applied: its own writes, up to the newest entry that is visible in the
/// log without holes. Each move of the visible end is noted on the thread that commits; several at once are noted
/// together. Made with make_shared; all arguments outlive all operations. Any thread.
class PrimaryProgress : public std::enable_shared_from_this<PrimaryProgress> {
 public:
  /// `hear` (may be null) is called with the newest entry each time, and must not block.
  PrimaryProgress(storage::ReplicatedWrites& writes, ReplicationProgress& progress,
                  std::function<void(const OpTime&)> hear = {})
      : writes_(writes), progress_(progress), hear_(std::move(hear)) {}

  /// What becomes visible from now on is of that term; nothing of it may have been written yet.
  void begin(int64_t term);
  /// The last write of the term has ended: notes it, and no more. Nothing if another term has begun meanwhile.
  void end(int64_t term);

 private:
  void watch(bson::Timestamp seen);
  void moved();
  void note();

  storage::ReplicatedWrites& writes_;
  ReplicationProgress& progress_;
  const std::function<void(const OpTime&)> hear_;
  std::mutex mutex_;
  std::optional<int64_t> term_;
  bson::Timestamp before_;  ///< the end of the log when the term began
  uint64_t watches_ = 0;    ///< of terms so far: a callback of an earlier one is not followed by another
  std::atomic<int64_t> pending_{0};
};

}  // namespace troupe::replication
