#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/view.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/wire/message_builder.hpp"
#include "messaging/wire/op_compressed.hpp"
#include "messaging/wire/op_msg.hpp"

namespace troupe::wire {

/// A driver's request, of any opcode. Borrows the frame; what had to be unpacked it owns.
struct Request {
  int32_t requestId = 0;
  uint32_t flags = 0;                    ///< of OP_MSG
  bool legacy = false;                   ///< came as OP_QUERY and is answered with OP_REPLY
  std::optional<Compressor> compressor;  ///< the answer is packed with the same one
  std::string_view database;
  bson::View body;  ///< the command; its first field names it
  std::vector<DocumentSequence> sequences;
  std::shared_ptr<const std::string> unpacked;  ///< keeps the bytes of a compressed request

  std::string_view commandName() const { return body.first().name(); }
  bool has(MsgFlag flag) const { return (flags & flag) != 0; }
  /// False when the client asked for no answer.
  bool expectsReply() const { return !has(kMoreToCome); }
  /// Bytes of the body and of all documents beside it.
  size_t bytes() const;
  const DocumentSequence* sequence(std::string_view name) const;

  /// The finished answer: OP_REPLY for legacy requests, packed when the request was and its command may be.
  /// `flags`: kMoreToCome when a further reply follows (exhaust). `inReplyTo`: in an exhaust stream the id of the
  /// previous reply, else 0 for this request.
  std::string reply(MessageBuilder&& answer, int32_t replyId, uint32_t replyFlags = 0, int32_t inReplyTo = 0) const;
};

/// Parses a frame of any opcode. When it fails, `closesConnection(code)` tells whether to hang up; otherwise the
/// failure is answered with `replyToMalformed`. Errors: those of op_msg.hpp, op_query.hpp and op_compressed.hpp;
/// ProtocolError for other opcodes. A compressed message may unpack to `largest` bytes.
StatusWith<Request> parseRequest(std::string_view frame, int32_t largest = kMaxMessageSize);

/// The answer to a frame that `parseRequest` refused, written from `answer`; empty when the client wants none. OP_QUERY
/// is told of the failure as OP_REPLY does: by the flag kQueryFailure, with `why` as `$err`.
std::string replyToMalformed(std::string_view frame, MessageBuilder&& answer, int32_t replyId, std::string_view why);

}  // namespace troupe::wire
