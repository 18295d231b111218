#include "storage/transaction/write_unit_of_work.hpp"

#include "messaging/errors/invariant.hpp"
#include "storage/oplog/write_slots.hpp"

namespace troupe::storage {

Status WriteUnitOfWork::prepare(Timestamp prepareTs) {
  if (unit_.depth_ != 1 || !unit_.active_) {
    return {ErrorCode::kIllegalOperation, "only an outermost unit of work that has begun can be prepared"};
  }
  ReplicatedUnit* const replicated = ReplicatedUnit::in(unit_);
  invariant(!replicated || replicated->last().timestamp == prepareTs,
            "a replicated unit of work is prepared at the time of its slot");
  TROUPE_TRY(unit_.session_->prepare(prepareTs));
  unit_.prepared_ = true;
  if (replicated) replicated->handOverPass();
  return Status::OK();
}

Status WriteUnitOfWork::commitPrepared(Timestamp commitTs, Timestamp durableTs) {
  if (ReplicatedUnit* const replicated = ReplicatedUnit::in(unit_); replicated && writesAreReplicated(unit_))
    TROUPE_TRY(replicated->enterAgain());
  open_ = false;
  return unit_.commitPreparedUnit(commitTs, durableTs);
}

}  // namespace troupe::storage
