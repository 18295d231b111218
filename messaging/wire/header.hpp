#pragma once
#include <cstdint>
#include <string_view>

#include "messaging/errors/status.hpp"

namespace troupe::wire {

/// Operation codes of the MongoDB wire protocol.
enum class OpCode : int32_t {
  kReply = 1,           ///< answer to kQuery
  kUpdate = 2001,       ///< legacy, refused
  kInsert = 2002,       ///< legacy, refused
  kQuery = 2004,        ///< legacy, served for the handshake only
  kGetMore = 2005,      ///< legacy, refused
  kDelete = 2006,       ///< legacy, refused
  kKillCursors = 2007,  ///< legacy, refused
  kCompressed = 2012,   ///< another message, compressed
  kMsg = 2013,          ///< everything else
};

inline constexpr size_t kHeaderSize = 16;
/// Largest message in bytes, header included; told to clients as maxMessageSizeBytes.
inline constexpr int32_t kMaxMessageSize = 48'000'000;

/// The sixteen bytes before every message.
struct MsgHeader {
  int32_t messageLength = 0;  ///< bytes, header included
  int32_t requestId = 0;
  int32_t responseTo = 0;  ///< requestId of the message that is answered; 0 in requests
  OpCode opCode = OpCode::kMsg;
};

/// Reads the header at the start of `bytes`. Errors: ProtocolError when there are fewer than sixteen bytes or the
/// length is not in [16, 48,000,000]; the connection cannot be used any more.
StatusWith<MsgHeader> parseHeader(std::string_view bytes);
/// Reads the header of a complete frame: as `parseHeader`, and the length must be that of the frame.
StatusWith<MsgHeader> parseFrameHeader(std::string_view frame);
/// Writes sixteen bytes.
void writeHeader(char* at, const MsgHeader& header);

/// Whether a failure to parse leaves the peer's intentions so unclear that the connection has to be closed without
/// an answer (broken framing, unknown required flags, wrong checksum). All other failures are answered.
bool closesConnection(ErrorCode code);

}  // namespace troupe::wire
