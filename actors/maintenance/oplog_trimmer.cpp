#include "actors/maintenance/oplog_trimmer.hpp"

#include "actors/kernel/node.hpp"
#include "storage/oplog/replicated_writes.hpp"

namespace troupe::maintenance {

namespace {
constexpr auto kTrimEvery = std::chrono::seconds(1);
/// A slice is read in some milliseconds, so a stop need not wait long for it.
constexpr int kEntriesInSlice = 10'000;
}  // namespace

void OplogTrimmer::onStart() {
  setPhase("waiting", "for the oplog to outgrow its size");
  every(kTrimEvery, [this] { trim(); });
}

void OplogTrimmer::trim() {
  const auto pass = storage::BackgroundGate::enter(services_.replicated ? &services_.replicated->background : nullptr);
  if (!pass) return;  // a rollback cuts the log at its other end
  const Status status = trimOnce();
  lastError_ = status.isOK() ? "" : status.toString();
  // The obstacle (a conflict, a full pool of sessions) may be gone in a second.
  if (!status.isOK()) setPhase("retrying", "something is in the way of truncation; see lastError");
  else if (counted_) setPhase("waiting", "for the oplog to outgrow its size");
  else setPhase("counting", "the entries that were there at the start");
}

Status OplogTrimmer::trimOnce() {
  storage::OperationContext operation(services_);
  operation.setWriteMode(storage::WriteMode::kUnreplicated);
  storage::RecoveryUnit& unit = operation.recoveryUnit();
  if (!counted_) {
    const TimePoint begun = environment().now();
    TROUPE_ASSIGN(counted_, oplog_->scan(unit, kEntriesInSlice));
    oplog_->noteScan(std::chrono::duration_cast<std::chrono::microseconds>(environment().now() - begun));
    unit.abandonSnapshot();
    if (!counted_) return Status::OK();
  }
  const auto now = node().environment().wallNow().time_since_epoch();
  const int64_t millis = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  for (;;) {
    const TimePoint begun = environment().now();
    TROUPE_ASSIGN(const bool went, oplog_->truncateOldest(unit, millis, needed_ ? needed_() : std::nullopt));
    if (!went) return oplog_->noteBeginning(unit);
    oplog_->noteTruncation(std::chrono::duration_cast<std::chrono::microseconds>(environment().now() - begun));
  }
}

}  // namespace troupe::maintenance
