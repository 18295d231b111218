#pragma once
#include "actors/server/request.hpp"

namespace troupe::server {

/// Fills the operation context from its command: session and statement, read and write concern, deadline. Each is
/// parsed once, here. Errors: those of parsing; IllegalOperation and BadValue for what this node cannot serve.
Status setUpOperation(Request& request);

}  // namespace troupe::server
