#pragma once
#include "messaging/bson/document.hpp"

namespace troupe::server {

/// Appends a command as logs and currentOp show it: passwords and log-in payloads are left out, long fields are shown
/// by their size, and of very many fields the first ones.
void appendShownCommand(bson::Builder& out, bson::View command, std::string_view name = "command");

}  // namespace troupe::server
