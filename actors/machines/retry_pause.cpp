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

}  // namespace troupe::machines
