#include "state_machines/core/refusal.hpp"

namespace troupe::machines {

bool isFailureOfTheWay(const Status& status) {
  switch (status.code()) {
    case ErrorCode::kHostUnreachable:
    case ErrorCode::kNetworkTimeout:
    case ErrorCode::kExceededTimeLimit:
    case ErrorCode::kNoSuchKey:  // the actor is not there (yet)
    case ErrorCode::kShutdownInProgress:
    case ErrorCode::kInterruptedAtShutdown:
    case ErrorCode::kInterruptedDueToReplStateChange:
    case ErrorCode::kNotWritablePrimary:
    case ErrorCode::kPrimarySteppedDown:
    case ErrorCode::kInternalError:  // the receiver failed and is being restarted
      return true;
    default: return false;
  }
}

}  // namespace troupe::machines
