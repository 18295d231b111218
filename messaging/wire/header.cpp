#include "messaging/wire/header.hpp"

#include <cstring>

#include "messaging/bson/types.hpp"

namespace troupe::wire {

StatusWith<MsgHeader> parseHeader(std::string_view bytes) {
  if (bytes.size() < kHeaderSize) return {ErrorCode::kProtocolError, "message shorter than its header"};
  const char* p = bytes.data();
  const MsgHeader header{bson::load<int32_t>(p), bson::load<int32_t>(p + 4), bson::load<int32_t>(p + 8),
                         static_cast<OpCode>(bson::load<int32_t>(p + 12))};
  if (header.messageLength < static_cast<int32_t>(kHeaderSize) || header.messageLength > kMaxMessageSize)
    return {ErrorCode::kProtocolError, "message length " + std::to_string(header.messageLength) +
                                           " is not between 16 and " + std::to_string(kMaxMessageSize)};
  return header;
}

StatusWith<MsgHeader> parseFrameHeader(std::string_view frame) {
  auto header = parseHeader(frame);
  if (header.isOK() && static_cast<size_t>(header->messageLength) != frame.size())
    return {ErrorCode::kProtocolError, "message length " + std::to_string(header->messageLength) +
                                           " differs from the " + std::to_string(frame.size()) + " bytes received"};
  return header;
}

void writeHeader(char* at, const MsgHeader& header) {
  const int32_t fields[] = {header.messageLength, header.requestId, header.responseTo,
                            static_cast<int32_t>(header.opCode)};
  static_assert(sizeof fields == kHeaderSize);
  std::memcpy(at, fields, sizeof fields);
}

bool closesConnection(ErrorCode code) {
  switch (code) {
    case ErrorCode::kProtocolError:
    case ErrorCode::kIllegalOpMsgFlag:
    case ErrorCode::kChecksumMismatch:
    case ErrorCode::kTooManyDocumentSequences: return true;
    default: return false;
  }
}

}  // namespace troupe::wire
