#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/wire/op_msg.hpp"

namespace troupe::wire {

/// Helpers of a small client (command line, tests, loader); the socket is the caller's.

/// An OP_MSG request: the fields of `command`, then `$db`. `documents` of a sequence must be valid.
std::string buildRequest(int32_t requestId, std::string_view database, bson::View command,
                         std::span<const DocumentSequence> sequences = {}, uint32_t flags = 0);

/// An OP_QUERY on `<database>.$cmd`, as old drivers open a connection.
std::string buildOpQuery(int32_t requestId, std::string_view database, bson::View command);

/// The body of a reply (OP_MSG or OP_REPLY), borrowed from the frame. Errors: ProtocolError, InvalidBSON; also when the
/// reply answers another request than `requestId`.
StatusWith<bson::View> parseReply(std::string_view frame, int32_t requestId);

/// The Status of a reply's body: OK, or its `code` and `errmsg`, with its other fields as the extra document.
Status replyStatus(bson::View body);

}  // namespace troupe::wire
