#include "messaging/wire/request.hpp"

#include <algorithm>

#include "messaging/bson/validate.hpp"
#include "messaging/wire/op_query.hpp"

namespace troupe::wire {
namespace {

StatusWith<Request> fromOpMsg(std::string_view frame) {
  TROUPE_ASSIGN(OpMsg message, parseOpMsg(frame));
  Request request;
  request.requestId = message.header.requestId;
  request.flags = message.flags;
  request.database = message.database;
  request.body = message.body;
  request.sequences = std::move(message.sequences);
  return request;
}

StatusWith<Request> fromOpQuery(std::string_view frame) {
  TROUPE_ASSIGN(const OpQuery query, parseOpQuery(frame));
  Request request;
  request.requestId = query.header.requestId;
  request.legacy = true;
  request.database = query.database;
  request.body = query.command;
  return request;
}

StatusWith<Request> fromCompressed(std::string_view frame, int32_t largest) {
  TROUPE_ASSIGN(std::string inner, decompress(frame, largest));
  auto unpacked = std::make_shared<const std::string>(std::move(inner));
  TROUPE_ASSIGN(Request request, parseRequest(*unpacked));
  request.compressor = compressorOf(frame);
  request.unpacked = std::move(unpacked);
  return request;
}

}  // namespace

size_t Request::bytes() const {
  size_t sum = body.size();
  for (const DocumentSequence& sequence : sequences) sum += sequence.documents.bytes().size();
  return sum;
}

const DocumentSequence* Request::sequence(std::string_view name) const {
  const auto found = std::ranges::find(sequences, name, &DocumentSequence::name);
  return found == sequences.end() ? nullptr : &*found;
}

std::string Request::reply(MessageBuilder&& answer, int32_t replyId, uint32_t replyFlags, int32_t inReplyTo) const {
  Envelope envelope{replyId, inReplyTo ? inReplyTo : requestId, replyFlags};
  if (flags & kChecksumPresent) envelope.flags |= kChecksumPresent;
  auto frame = legacy ? std::move(answer).finishAsOpReply(envelope) : std::move(answer).finish(envelope);
  if (compressor && mayCompress(commandName())) {
    auto packed = compress(frame, *compressor);
    if (packed.isOK() && packed->size() < frame.size()) return std::move(packed).value();
  }
  return frame;
}

StatusWith<Request> parseRequest(std::string_view frame, int32_t largest) {
  TROUPE_ASSIGN(const auto header, parseFrameHeader(frame));
  switch (header.opCode) {
    case OpCode::kMsg: return fromOpMsg(frame);
    case OpCode::kQuery: return fromOpQuery(frame);
    case OpCode::kCompressed: return fromCompressed(frame, largest);
    default:
      return {ErrorCode::kProtocolError, "unsupported opcode " + std::to_string(static_cast<int32_t>(header.opCode))};
  }
}

std::string replyToMalformed(std::string_view frame, MessageBuilder&& answer, int32_t replyId, std::string_view why) {
  const auto header = parseFrameHeader(frame);
  if (!header.isOK()) return {};
  if (header->opCode == OpCode::kCompressed) {
    // Whether an answer is wanted, and in which form, is known from the packed message only.
    const auto inner = decompress(frame);
    if (inner.isOK()) return replyToMalformed(*inner, std::move(answer), replyId, why);
  }
  if (!expectsReply(frame)) return {};
  Envelope envelope{replyId, header->requestId, 0};
  if (header->opCode != OpCode::kQuery) return std::move(answer).finish(envelope);
  envelope.flags = kQueryFailure;
  answer.body().append("$err", bson::asUtf8(std::string(why)));
  return std::move(answer).finishAsOpReply(envelope);
}

}  // namespace troupe::wire
