#pragma once
#include "actors/server/request.hpp"

namespace troupe::server {

/// Fills the operation context from its command: session and statement, read and write concern, deadline. Each is
/// parsed once, here; what a command does not say is taken from the defaults of the set. Errors: those of parsing;
/// IllegalOperation and BadValue for what this node cannot serve; LockTimeout while the defaults cannot be read.
Status setUpOperation(Request& request);

/// Whether the command may be read with that level of read concern.
bool takesReadConcern(const Request& request, storage::ReadConcernLevel level);

/// Gives the operation so much time from its start on, as a client asked for. The fail points maxTimeAlwaysTimeOut and
/// maxTimeNeverTimeOut change that. Errors: MaxTimeMSExpired, of the first of them.
Status limitTime(Request& request, Duration limit);

}  // namespace troupe::server
