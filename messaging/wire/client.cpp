#include "messaging/wire/client.hpp"

#include "messaging/bson/document.hpp"
#include "messaging/wire/message_builder.hpp"
#include "messaging/wire/op_query.hpp"

namespace troupe::wire {
namespace {

bool isEnvelopeField(std::string_view name) {
  return name == "ok" || name == "code" || name == "codeName" || name == "errmsg" || name == "$clusterTime" ||
         name == "operationTime";
}

Status checkAnswers(const MsgHeader& header, int32_t requestId) {
  if (header.responseTo != requestId)
    return {ErrorCode::kProtocolError,
            "reply to request " + std::to_string(header.responseTo) + ", expected one to " + std::to_string(requestId)};
  return {};
}

}  // namespace

std::string buildRequest(int32_t requestId, std::string_view database, bson::View command,
                         std::span<const DocumentSequence> sequences, uint32_t flags) {
  MessageBuilder message;
  message.body().appendAll(command).append("$db", database);
  return std::move(message).finish({.requestId = requestId, .flags = flags}, sequences);
}

std::string buildOpQuery(int32_t requestId, std::string_view database, bson::View command) {
  std::string frame(kHeaderSize + 4, '\0');
  frame.append(database).append(".$cmd").push_back('\0');
  const int32_t skipAndReturn[] = {0, -1};
  frame.append(reinterpret_cast<const char*>(skipAndReturn), sizeof skipAndReturn);
  frame.append(command.bytes());
  writeHeader(frame.data(), {static_cast<int32_t>(frame.size()), requestId, 0, OpCode::kQuery});
  return frame;
}

StatusWith<bson::View> parseReply(std::string_view frame, int32_t requestId) {
  TROUPE_ASSIGN(const auto header, parseFrameHeader(frame));
  TROUPE_TRY(checkAnswers(header, requestId));
  if (header.opCode == OpCode::kReply) {
    TROUPE_ASSIGN(const auto reply, parseOpReply(frame));
    return reply.document;
  }
  TROUPE_ASSIGN(const auto message, parseOpMsg(frame, Direction::kReply));
  return message.body;
}

Status replyStatus(bson::View body) {
  if (body["ok"].truthy()) return {};
  const auto code = static_cast<ErrorCode>(body["code"].toInt64(static_cast<int64_t>(ErrorCode::kUnknownError)));
  bson::Builder extra;
  for (const auto& field : body)
    if (!isEnvelopeField(field.name())) extra.append(field);
  const auto document = extra.finish();
  const std::string reason(body["errmsg"].toStringOr("the reply names no reason"));
  return document.empty() ? Status(code, reason) : Status(code, reason, document);
}

}  // namespace troupe::wire
