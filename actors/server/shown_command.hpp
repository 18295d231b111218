#pragma once
#include "messaging/bson/document.hpp"

namespace troupe::server {

/// Appends a command as logs and currentOp show it, under `command`: passwords and log-in payloads are left out, long
/// fields are shown by their size.
void appendShownCommand(bson::Builder& out, bson::View command);

}  // namespace troupe::server
