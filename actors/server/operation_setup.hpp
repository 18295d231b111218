#pragma once
#include "actors/server/request.hpp"

namespace troupe::server {

/// Fills the operation context from its command: session and statement, read and write concern, deadline. Each is
/// parsed once, here. Errors: those of parsing; IllegalOperation and BadValue for what this node cannot serve.
Status setUpOperation(Request& request);

/// Gives the operation so much time from its start on, as a client asked for. The fail points maxTimeAlwaysTimeOut and
/// maxTimeNeverTimeOut change that. Errors: MaxTimeMSExpired, of the first of them.
Status limitTime(Request& request, std::chrono::milliseconds limit);

}  // namespace troupe::server
