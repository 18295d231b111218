#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/wire/op_msg.hpp"

namespace troupe::wire {

/// In the flags of OP_REPLY: the query failed, and the document tells why in `$err`.
inline constexpr uint32_t kQueryFailure = 2;

/// Framing of a message that is sent: its header, flags and checksum.
struct Envelope {
  int32_t requestId = 0;
  int32_t responseTo = 0;
  /// Of OP_MSG: kMoreToCome, kExhaustAllowed; with kChecksumPresent a checksum is computed. Of OP_REPLY: kQueryFailure.
  uint32_t flags = 0;
};

/// Writes a message into one buffer: the header's bytes are reserved, the body is built behind them, `finish` fills in
/// the lengths. Documents go straight into the reply without a copy in between:
///   MessageBuilder reply;
///   reply.body().openDocument("cursor").openArray("firstBatch");
///   for (View d : found) reply.body().push(d);        // reply.body().size() bounds the batch
///   reply.body().close().append("id", cursorId).append("ns", ns).close().append("ok", 1.0);
///   std::string frame = std::move(reply).finish({.requestId = 7, .responseTo = request.header.requestId});
/// Not thread-safe.
class MessageBuilder {
 public:
  /// `storage`: an old buffer whose capacity is used again.
  explicit MessageBuilder(std::string storage = {});

  bson::Builder& body() { return body_; }
  /// Forgets what was written, so that an error can be answered instead.
  void discard();

  /// The complete frame. The builder is used up.
  std::string finish(const Envelope& envelope) &&;
  /// The frame with sections of kind 1 after the body (requests of clients).
  std::string finish(const Envelope& envelope, std::span<const DocumentSequence> sequences) &&;
  /// The body alone, for what is no message of the wire protocol. The builder is used up.
  bson::Document finishBody() &&;
  /// The frame as OP_REPLY with one document: the answer to OP_QUERY.
  std::string finishAsOpReply(const Envelope& envelope) &&;

 private:
  bson::Builder body_;
};

}  // namespace troupe::wire
