#include "storage/transaction/write_unit_of_work.hpp"

#include "messaging/errors/invariant.hpp"
#include "storage/oplog/write_slots.hpp"

namespace troupe::storage {

Status WriteUnitOfWork::prepare(Timestamp prepareTs, const WritePrepare& write) {
  if (unit_.depth_ != 1 || !unit_.active_) {
    return {ErrorCode::kIllegalOperation, "only an outermost unit of work that has begun can be prepared"};
  }
  ReplicatedUnit* const replicated = ReplicatedUnit::in(unit_);
  invariant(!replicated || replicated->last().timestamp == prepareTs,
            "a replicated unit of work is prepared at the time of its slot");
  invariant(!replicated || write, "the log has an entry of each prepare");
  TROUPE_TRY(unit_.prepareUnit(prepareTs));
  if (!replicated) return Status::OK();
  if (Status written = write(replicated->last()); !written.isOK()) {
    const PreparedTimes::Id id = unit_.preparedId_;
    open_ = false;
    unit_.rollbackUnit();
    unit_.pool_.preparedTimes().withdraw(id);
    return written;
  }
  replicated->handOver();
  return Status::OK();
}

Status WriteUnitOfWork::enterToDecide() {
  ReplicatedUnit* const replicated = ReplicatedUnit::in(unit_);
  return replicated && writesAreReplicated(unit_) ? replicated->enterAgain() : Status::OK();
}

Status WriteUnitOfWork::commitPrepared(Timestamp commitTs, Timestamp durableTs) {
  TROUPE_TRY(enterToDecide());
  open_ = false;
  return unit_.commitPreparedUnit(commitTs, durableTs);
}

Status WriteUnitOfWork::abortPrepared(Timestamp abortTs) {
  if (!unit_.prepared_) return {ErrorCode::kIllegalOperation, "only a prepared unit of work is aborted so"};
  TROUPE_TRY(enterToDecide());
  open_ = false;
  unit_.abortPreparedUnit(abortTs);
  return Status::OK();
}

}  // namespace troupe::storage
