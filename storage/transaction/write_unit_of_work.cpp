#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

Status WriteUnitOfWork::prepare(Timestamp prepareTs) {
  if (unit_.depth_ != 1 || !unit_.active_) {
    return {ErrorCode::kIllegalOperation, "only an outermost unit of work that has begun can be prepared"};
  }
  return unit_.session_->prepare(prepareTs);
}

}  // namespace troupe::storage
