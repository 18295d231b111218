#include "messaging/wire/message_builder.hpp"

#include <cstring>

#include "messaging/wire/crc32c.hpp"

namespace troupe::wire {
namespace {

// Header, flags, kind of the body section.
constexpr size_t kMsgPrefix = kHeaderSize + 4 + 1;
// Header, flags, cursor id, starting from, number returned.
constexpr size_t kReplyPrefix = kHeaderSize + 4 + 8 + 4 + 4;

void put32(std::string& frame, size_t at, uint32_t value) { std::memcpy(frame.data() + at, &value, sizeof value); }

void appendSequence(std::string& frame, const DocumentSequence& sequence) {
  const auto size = static_cast<uint32_t>(4 + sequence.name.size() + 1 + sequence.documents.bytes().size());
  frame.push_back(1);
  frame.append(reinterpret_cast<const char*>(&size), sizeof size);
  frame.append(sequence.name).push_back('\0');
  frame.append(sequence.documents.bytes());
}

void fixHeader(std::string& frame, const Envelope& envelope, OpCode opCode) {
  writeHeader(frame.data(), {static_cast<int32_t>(frame.size()), envelope.requestId, envelope.responseTo, opCode});
}

}  // namespace

MessageBuilder::MessageBuilder(std::string storage) : body_(kMsgPrefix, std::move(storage)) {}

void MessageBuilder::discard() { body_ = bson::Builder(kMsgPrefix, body_.finishBytes()); }

bson::Document MessageBuilder::finishBody() && {
  std::string bytes = body_.finishBytes();
  bytes.erase(0, kMsgPrefix);
  return bson::Document::adopt(std::move(bytes));
}

std::string MessageBuilder::finish(const Envelope& envelope) && { return std::move(*this).finish(envelope, {}); }

std::string MessageBuilder::finish(const Envelope& envelope, std::span<const DocumentSequence> sequences) && {
  std::string frame = body_.finishBytes();
  for (const auto& sequence : sequences) appendSequence(frame, sequence);
  put32(frame, kHeaderSize, envelope.flags);
  if (envelope.flags & kChecksumPresent) {
    frame.append(4, '\0');
    fixHeader(frame, envelope, OpCode::kMsg);
    const size_t covered = frame.size() - 4;
    put32(frame, covered, crc32c(std::string_view(frame).substr(0, covered)));
  } else {
    fixHeader(frame, envelope, OpCode::kMsg);
  }
  return frame;
}

std::string MessageBuilder::finishAsOpReply(const Envelope& envelope) && {
  constexpr uint32_t kAwaitCapable = 8;  // always set by servers since 1.6
  constexpr uint32_t kNumberReturned = 1;
  std::string frame = body_.finishBytes();
  // Once a connection: the larger prefix is not worth a second way to build bodies.
  frame.replace(0, kMsgPrefix, kReplyPrefix, '\0');
  fixHeader(frame, envelope, OpCode::kReply);
  put32(frame, kHeaderSize, kAwaitCapable | envelope.flags);
  put32(frame, kReplyPrefix - 4, kNumberReturned);
  return frame;
}

}  // namespace troupe::wire
