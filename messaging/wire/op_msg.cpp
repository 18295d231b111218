#include "messaging/wire/op_msg.hpp"

#include <algorithm>

#include "messaging/bson/validate.hpp"
#include "messaging/wire/crc32c.hpp"

namespace troupe::wire {
namespace {

constexpr size_t kChecksumSize = 4;
constexpr uint32_t kRequiredBits = 0xFFFF;
constexpr uint32_t kKnownRequiredBits = kChecksumPresent | kMoreToCome;

Status illFormed(int code, std::string reason) { return {ErrorCode(code), std::move(reason)}; }

/// Reads the sections from front to back; `rest_` is what is not read yet.
class SectionParser {
 public:
  SectionParser(std::string_view sections, OpMsg& message) : rest_(sections), message_(message) {}

  Status run() {
    while (!rest_.empty()) {
      const auto kind = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      if (kind == 0) {
        TROUPE_TRY(body());
      } else if (kind == 1) {
        TROUPE_TRY(sequence());
      } else {
        return illFormed(40432, "Unknown section kind " + std::to_string(kind));
      }
    }
    if (!haveBody_) return illFormed(40587, "OP_MSG messages must have a body");
    return {};
  }

 private:
  Status body() {
    if (haveBody_) return illFormed(40430, "Multiple body sections in message");
    TROUPE_ASSIGN(const auto size, bson::validate(rest_));
    message_.body = bson::View(rest_.data());
    rest_.remove_prefix(static_cast<size_t>(size));
    haveBody_ = true;
    return {};
  }

  Status sequence() {
    if (message_.sequences.size() == kMaxDocumentSequences)
      return {ErrorCode::kTooManyDocumentSequences, "Too many document sequences in OP_MSG"};
    if (rest_.size() < sizeof(int32_t)) return {ErrorCode::kInvalidBSON, "document sequence is truncated"};
    const auto size = bson::load<int32_t>(rest_.data());
    if (size < static_cast<int32_t>(sizeof(int32_t)) || static_cast<size_t>(size) > rest_.size())
      return {ErrorCode::kInvalidBSON, "document sequence has the wrong size " + std::to_string(size)};
    auto section = rest_.substr(sizeof size, static_cast<size_t>(size) - sizeof size);
    rest_.remove_prefix(static_cast<size_t>(size));

    const auto end = section.find('\0');
    if (end == std::string_view::npos) return {ErrorCode::kInvalidBSON, "document sequence has no name"};
    const auto name = section.substr(0, end);
    if (message_.sequence(name)) return illFormed(40431, "Duplicate document sequence: " + std::string(name));
    section.remove_prefix(end + 1);
    TROUPE_ASSIGN(const auto count, countDocuments(section));
    message_.sequences.push_back({name, DocumentRange(section, count)});
    return {};
  }

  static StatusWith<size_t> countDocuments(std::string_view bytes) {
    size_t count = 0;
    for (; !bytes.empty(); ++count) {
      TROUPE_ASSIGN(const auto size, bson::validate(bytes));
      bytes.remove_prefix(static_cast<size_t>(size));
    }
    return count;
  }

  std::string_view rest_;
  OpMsg& message_;
  bool haveBody_ = false;
};

Status checkChecksum(std::string_view frame) {
  const auto covered = frame.substr(0, frame.size() - kChecksumSize);
  if (bson::load<uint32_t>(frame.data() + covered.size()) != crc32c(covered))
    return {ErrorCode::kChecksumMismatch, "OP_MSG checksum does not match contents"};
  return {};
}

/// A command's arguments are its body and its sequences together, so a name may occur in one of them only.
Status readNames(OpMsg& message, Direction direction) {
  for (const auto& sequence : message.sequences) {
    if (message.body.has(sequence.name))
      return illFormed(40433, "Duplicate field between body and document sequence " + std::string(sequence.name));
  }
  if (direction == Direction::kReply) return {};
  const auto database = message.body["$db"];
  if (!database.ok()) return illFormed(40571, "OP_MSG requests require a $db argument");
  if (!database.is(bson::Type::kString))
    return {ErrorCode::kTypeMismatch, "BSON field 'OP_MSG.$db' is the wrong type '" +
                                          std::string(bson::typeName(database.type())) + "', expected type 'string'"};
  message.database = database.asString();
  return {};
}

}  // namespace

const DocumentSequence* OpMsg::sequence(std::string_view name) const {
  const auto found = std::ranges::find(sequences, name, &DocumentSequence::name);
  return found == sequences.end() ? nullptr : &*found;
}

StatusWith<OpMsg> parseOpMsg(std::string_view frame, Direction direction) {
  OpMsg message;
  TROUPE_ASSIGN(message.header, parseFrameHeader(frame));
  if (message.header.opCode != OpCode::kMsg) return {ErrorCode::kProtocolError, "not an OP_MSG"};
  auto sections = frame.substr(kHeaderSize);
  if (sections.size() < sizeof message.flags) return {ErrorCode::kProtocolError, "OP_MSG without flags"};
  message.flags = bson::load<uint32_t>(sections.data());
  sections.remove_prefix(sizeof message.flags);
  if (const auto unknown = message.flags & kRequiredBits & ~kKnownRequiredBits)
    return {ErrorCode::kIllegalOpMsgFlag, "Message contains unknown required flags: " + std::to_string(unknown)};
  if (message.has(kChecksumPresent)) {
    if (sections.size() < kChecksumSize) return {ErrorCode::kProtocolError, "OP_MSG too short for its checksum"};
    sections.remove_suffix(kChecksumSize);
    TROUPE_TRY(checkChecksum(frame));
  }
  TROUPE_TRY(SectionParser(sections, message).run());
  TROUPE_TRY(readNames(message, direction));
  return message;
}

bool expectsReply(std::string_view frame) {
  const auto header = parseFrameHeader(frame);
  if (!header.isOK() || header->opCode != OpCode::kMsg || frame.size() < kHeaderSize + sizeof(uint32_t)) return true;
  return (bson::load<uint32_t>(frame.data() + kHeaderSize) & kMoreToCome) == 0;
}

}  // namespace troupe::wire
