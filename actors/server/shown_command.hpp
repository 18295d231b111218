#pragma once
#include "messaging/bson/document.hpp"

namespace troupe::server {

/// Fields of a command that are longer are shown by their size: in lines of the log, and for cursors that stay open.
constexpr size_t kShownFieldBytes = 2048;
constexpr size_t kShownFieldBytesOfCursor = 32 * 1024;

/// Appends a command as logs and currentOp show it, under `command`: passwords and log-in payloads are left out, long
/// fields are shown by their size, and of very many fields the first ones.
void appendShownCommand(bson::Builder& out, bson::View command, size_t fieldBytes = kShownFieldBytes);

}  // namespace troupe::server
