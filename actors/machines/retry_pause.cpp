#include "actors/machines/retry_pause.hpp"

namespace troupe::machines {

bool isWorthRetrying(const Status& status) {
  switch (status.code()) {
    case ErrorCode::kInterruptedAtShutdown:
    case ErrorCode::kShutdownInProgress:
    case ErrorCode::kInterruptedDueToReplStateChange:
    case ErrorCode::kNotWritablePrimary:
    case ErrorCode::kPrimarySteppedDown:
    case ErrorCode::kUnsatisfiableWriteConcern:
    case ErrorCode::kBSONObjectTooLarge:
    case ErrorCode::kBadValue:
    case ErrorCode::kInvalidNamespace:
    case ErrorCode::kCommandNotSupportedOnView: return false;
    default: return true;
  }
}

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
