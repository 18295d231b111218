#include "messaging/link/frame.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "messaging/auth/crypto.hpp"
#include "messaging/wire/crc32c.hpp"

namespace troupe::link {

namespace {

static_assert(std::endian::native == std::endian::little, "frame headers are stored as they are in memory");

constexpr uint8_t kChecksummed = 0x80;
constexpr size_t kIdleBuffer = 256 * 1024;  // the largest record, and the beginning of the next
constexpr size_t kFirstBuffer = 8 * 1024;

struct Header {
  uint32_t size = 0;
  uint8_t type = 0;
  uint8_t padding = 0;
  uint16_t headWords = 0;
  uint32_t checksum = 0;
  uint32_t payloadWords = 0;
};
static_assert(sizeof(Header) == kFrameHeader);

constexpr size_t padded(size_t size) { return (size + 7) / 8 * 8; }

/// Of the header with its checksum zero, and what follows.
uint32_t checksumOf(Header header, std::string_view body) {
  header.checksum = 0;
  return wire::crc32c(body, wire::crc32c({reinterpret_cast<const char*>(&header), sizeof header}));
}

Header headerOf(const Frame& frame, bool checksummed) {
  Header header;
  header.size = static_cast<uint32_t>(frameSize(frame));
  header.type = static_cast<uint8_t>(frame.type) | (checksummed ? kChecksummed : 0);
  header.padding = static_cast<uint8_t>(padded(frame.attachment.size()) - frame.attachment.size());
  header.headWords = static_cast<uint16_t>(frame.head.size() / 8);
  header.payloadWords = static_cast<uint32_t>(frame.words.size() / 8);
  return header;
}

void appendTo(std::string& out, const Frame& frame, bool checksummed) {
  const size_t from = out.size();
  Header header = headerOf(frame, checksummed);
  out.append(reinterpret_cast<const char*>(&header), sizeof header);
  out.append(frame.head).append(frame.words).append(frame.attachment).append(header.padding, '\0');
  if (!checksummed) return;
  header.checksum = checksumOf(header, std::string_view(out).substr(from + sizeof header));
  std::memcpy(out.data() + from, &header, sizeof header);
}

}  // namespace

size_t frameSize(const Frame& frame) {
  return kFrameHeader + frame.head.size() + frame.words.size() + padded(frame.attachment.size());
}

void appendFrame(ByteQueue& out, const Frame& frame, bool checksummed) {
  appendTo(out.room(frameSize(frame)), frame, checksummed);
}

void appendInParts(ByteQueue& out, const Frame& frame, bool checksummed) {
  size_t left = frameSize(frame);
  if (left <= kLargestPart) return appendFrame(out, frame, checksummed);
  const Header whole = headerOf(frame, false);
  const std::string_view zeros("\0\0\0\0\0\0\0", 7);
  std::string_view pieces[] = {{reinterpret_cast<const char*>(&whole), sizeof whole},
                               frame.head,
                               frame.words,
                               frame.attachment,
                               zeros.substr(0, whole.padding)};
  for (size_t piece = 0; left > 0;) {
    // All sizes are whole words, so no part needs padding.
    const size_t size = std::min(left, kLargestPart - kFrameHeader);
    std::string& room = out.room(kFrameHeader + size);
    const size_t from = room.size();
    Header part{static_cast<uint32_t>(kFrameHeader + size), static_cast<uint8_t>(FrameType::kPart)};
    if (checksummed) part.type |= kChecksummed;
    room.append(reinterpret_cast<const char*>(&part), sizeof part);
    for (size_t missing = size; missing > 0;) {
      const auto taken = pieces[piece].substr(0, missing);
      room.append(taken);
      missing -= taken.size();
      pieces[piece].remove_prefix(taken.size());
      if (pieces[piece].empty()) ++piece;
    }
    if (checksummed) {
      part.checksum = checksumOf(part, std::string_view(room).substr(from + sizeof part));
      std::memcpy(room.data() + from, &part, sizeof part);
    }
    left -= size;
  }
}

void sealRecord(std::string& block, RecordProof& proof) {
  static_assert(ByteQueue::kRecordHeader == sizeof(Header) && ByteQueue::kRecordTrailer == kRecordProof);
  const Header header{static_cast<uint32_t>(block.size() + kRecordProof), static_cast<uint8_t>(FrameType::kRecord)};
  std::memcpy(block.data(), &header, sizeof header);
  const auto proven = proof.next(block);
  block.append(proven.data(), proven.size());
}

std::string frameBytes(const Frame& frame, bool checksummed) {
  std::string out;
  appendTo(out, frame, checksummed);
  return out;
}

void FrameReader::resize(size_t capacity) {
  auto bigger = std::make_unique_for_overwrite<uint64_t[]>(padded(capacity) / 8);
  if (buffered()) std::memcpy(bigger.get(), reinterpret_cast<const char*>(buffer_.get()) + consumed_, buffered());
  buffer_ = std::move(bigger);
  capacity_ = padded(capacity);
  filled_ -= consumed_;
  consumed_ = 0;
}

std::span<char> FrameReader::prepare() {
  const size_t usual = limit_ <= kHandshakeFrame ? kFirstBuffer : kIdleBuffer;
  if (gathered_ == 0) message_.reset();
  if (consumed_ == filled_) {
    consumed_ = filled_ = 0;
    if (capacity_ != usual) resize(usual);
  }
  // The frame that has begun has to fit; as long as its size is not known, a good part of what may come.
  const size_t needed = wanted_ > buffered() ? wanted_ : buffered() + usual / 4;
  if (consumed_ + needed > capacity_) {
    if (needed > capacity_) {
      resize(std::max(needed, usual));
    } else {
      auto* bytes = reinterpret_cast<char*>(buffer_.get());
      std::memmove(bytes, bytes + consumed_, buffered());
      filled_ -= consumed_;
      consumed_ = 0;
    }
  }
  return {reinterpret_cast<char*>(buffer_.get()) + filled_, capacity_ - filled_};
}

void FrameReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto room = prepare();
    const size_t size = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), size);
    commit(size);
    bytes.remove_prefix(size);
  }
}

FrameReader::Outcome FrameReader::reject(Rejection reason, std::string detail) {
  if (!rejected_) rejected_ = {reason, std::move(detail)};
  return Outcome::kRejected;
}

FrameReader::Outcome FrameReader::next(Frame& frame) {
  if (rejected_) return Outcome::kRejected;
  for (;;) {
    Outcome outcome = nextWhole(frame);
    if (outcome != Outcome::kFrame || frame.type != FrameType::kPart) return outcome;
    outcome = gather(frame);
    if (outcome != Outcome::kMore) return outcome;
  }
}

FrameReader::Outcome FrameReader::openRecord() {
  const std::string_view bytes(reinterpret_cast<const char*>(buffer_.get()) + consumed_, buffered());
  wanted_ = 0;
  if (bytes.size() < kFrameHeader) return Outcome::kMore;
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.type != static_cast<uint8_t>(FrameType::kRecord))
    return reject(Rejection::kProof, "a frame without a proof of origin");
  if (header.size > kLargestRecord)
    return reject(Rejection::kOversized, "a record of " + std::to_string(header.size) + " bytes, where at most " +
                                             std::to_string(kLargestRecord) + " are allowed");
  if (header.size < kFrameHeader + kRecordProof || header.size % 8 != 0)
    return reject(Rejection::kMalformed, "a record of " + std::to_string(header.size) + " bytes");
  if (bytes.size() < header.size) {
    wanted_ = header.size;
    return Outcome::kMore;
  }
  const size_t proven = header.size - kRecordProof;
  const auto expected = proof_->next(bytes.substr(0, proven));
  if (!auth::equalInConstantTime(bytes.substr(proven, kRecordProof), {expected.data(), expected.size()}))
    return reject(Rejection::kProof, "the proof of origin of a record does not fit");
  consumed_ += kFrameHeader;
  provenLeft_ = proven - kFrameHeader;
  if (provenLeft_ == 0) return reject(Rejection::kMalformed, "a record without frames");
  return Outcome::kFrame;
}

/// A part of a message has come; kFrame once it is whole.
FrameReader::Outcome FrameReader::gather(Frame& frame) {
  const std::string_view part = frame.attachment;
  if (gathered_ == 0) {
    Header whole;
    if (part.size() < sizeof whole) return reject(Rejection::kMalformed, "a message begins with a part too small");
    std::memcpy(&whole, part.data(), sizeof whole);
    if (whole.size > limit_)
      return reject(Rejection::kOversized, "a message of " + std::to_string(whole.size) + " bytes, where at most " +
                                               std::to_string(limit_) + " are allowed");
    if (whole.type != static_cast<uint8_t>(FrameType::kMessage) || whole.size % 8 != 0 || whole.size <= kLargestPart)
      return reject(Rejection::kMalformed, "what comes in parts is no large message");
    message_ = std::make_unique_for_overwrite<uint64_t[]>(whole.size / 8);
    messageSize_ = whole.size;
  }
  if (part.empty() || part.size() > messageSize_ - gathered_)
    return reject(Rejection::kMalformed, "the parts of a message do not fit");
  auto* bytes = reinterpret_cast<char*>(message_.get());
  std::memcpy(bytes + gathered_, part.data(), part.size());
  gathered_ += part.size();
  if (gathered_ < messageSize_) return Outcome::kMore;
  gathered_ = 0;
  return split({bytes, messageSize_}, frame);
}

FrameReader::Outcome FrameReader::nextWhole(Frame& frame) {
  if (proof_ && provenLeft_ == 0) {
    const Outcome outcome = openRecord();
    if (outcome != Outcome::kFrame) return outcome;
  }
  std::string_view bytes(reinterpret_cast<const char*>(buffer_.get()) + consumed_, buffered());
  if (expectMagic_) {
    const size_t known = std::min(bytes.size(), kMagic.size());
    if (bytes.substr(0, known) != kMagic.substr(0, known)) return reject(Rejection::kBadMagic, "this is no link");
    if (known < kMagic.size()) return Outcome::kMore;
    expectMagic_ = false;
    consumed_ += kMagic.size();
    bytes.remove_prefix(kMagic.size());
  }
  wanted_ = 0;
  if (proof_) bytes = bytes.substr(0, provenLeft_);
  if (bytes.size() < kFrameHeader)
    return proof_ ? reject(Rejection::kMalformed, "a record ends within a frame") : Outcome::kMore;
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.size > limit_)
    return reject(Rejection::kOversized, "a frame of " + std::to_string(header.size) + " bytes, where at most " +
                                             std::to_string(limit_) + " are allowed");
  if (header.size < kFrameHeader || header.size % 8 != 0)
    return reject(Rejection::kMalformed, "a frame of " + std::to_string(header.size) + " bytes");
  if (bytes.size() < header.size) {
    if (proof_) return reject(Rejection::kMalformed, "a record ends within a frame");
    wanted_ = header.size;
    return Outcome::kMore;
  }
  consumed_ += header.size;
  if (proof_ && (provenLeft_ -= header.size) == 0) consumed_ += kRecordProof;
  return split(bytes.substr(0, header.size), frame);
}

FrameReader::Outcome FrameReader::split(std::string_view bytes, Frame& frame) {
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string_view body = bytes.substr(sizeof header);
  const size_t head = size_t{header.headWords} * 8, words = size_t{header.payloadWords} * 8;
  if (head + words > body.size() || header.padding > 7 || header.padding > body.size() - head - words)
    return reject(Rejection::kMalformed, "the parts of a frame do not fit into it");
  if ((header.type & kChecksummed) && checksumOf(header, body) != header.checksum)
    return reject(Rejection::kChecksum, "a frame was damaged on its way");
  const uint8_t type = header.type & static_cast<uint8_t>(~kChecksummed);
  if (type < static_cast<uint8_t>(FrameType::kHello) || type > static_cast<uint8_t>(FrameType::kPart))
    return reject(Rejection::kMalformed, "a frame of the unknown type " + std::to_string(type));
  frame.type = static_cast<FrameType>(type);
  frame.head = body.substr(0, head);
  frame.words = body.substr(head, words);
  frame.attachment = body.substr(head + words, body.size() - head - words - header.padding);
  return Outcome::kFrame;
}

}  // namespace troupe::link
