#include "actors/server/error_labels.hpp"

#include <algorithm>
#include <vector>

#include "actors/server/command.hpp"

namespace troupe::server {

bool isRetryableWriteError(ErrorCode code) {
  constexpr ErrorCode kPassing[] = {
      ErrorCode::kInterruptedAtShutdown, ErrorCode::kInterruptedDueToReplStateChange,
      ErrorCode::kNotWritablePrimary,    ErrorCode::kNotPrimaryNoSecondaryOk,
      ErrorCode::kNotPrimaryOrSecondary, ErrorCode::kPrimarySteppedDown,
      ErrorCode::kShutdownInProgress,    ErrorCode::kHostNotFound,
      ErrorCode::kHostUnreachable,       ErrorCode::kNetworkTimeout,
      ErrorCode::kSocketException,       ErrorCode::kExceededTimeLimit,
  };
  return std::ranges::find(kPassing, code) != std::end(kPassing);
}

void appendErrorLabels(Request& request, ErrorCode failure) {
  const bool isRetryable = request.command && request.command->retryable && request.arg("txnNumber");
  if (request.isLabelled || !isRetryable || request.arg("autocommit") || !isRetryableWriteError(failure)) return;
  request.isLabelled = true;
  request.reply().append("errorLabels", std::vector<std::string>{"RetryableWriteError"});
}

}  // namespace troupe::server
