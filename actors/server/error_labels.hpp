#pragma once
#include "actors/server/request.hpp"

namespace troupe::server {

/// Failures that pass: the node or the way to it is gone for now, or is no primary. A numbered write may be sent again.
bool isRetryableWriteError(ErrorCode code);

/// Appends `errorLabels` to the reply of a command that failed, or whose write concern did, with this code:
/// RetryableWriteError tells a driver that it may send the command once more (SES-017, retryable writes of the drivers'
/// specifications). Nothing for other commands and codes, and where the reply has labels.
void appendErrorLabels(Request& request, ErrorCode failure);

}  // namespace troupe::server
