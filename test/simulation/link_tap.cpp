#include "test/simulation/link_tap.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "messaging/link/message_frame.hpp"
#include "test/simulation/network.hpp"

namespace troupe::sim {

namespace {

constexpr size_t kTypeAt = 4;
constexpr uint8_t kTypeBits = 0x7f;

std::string nameOf(const Envelope& envelope) {
  switch (envelope.kind) {
    case MessageKind::kFailure: return "failure " + errorName(envelope.failure.code());
    case MessageKind::kWatch: return "watch";
    case MessageKind::kUnwatch: return "unwatch";
    case MessageKind::kDown: return "down";
    default: return envelope.payload.typeName();
  }
}

}  // namespace

LinkTap::LinkTap(bool byOpener, std::string from, std::string to, uint64_t& lastNumber, Note note)
    : from_(std::move(from)),
      to_(std::move(to)),
      lastNumber_(lastNumber),
      note_(std::move(note)),
      magicLeft_(byOpener ? link::kMagic.size() : 0),
      reader_(false, link::kLargestFrame) {}

/// A record is opened without its proof: the tap has no key, and need not doubt.
void LinkTap::sent(std::string_view bytes) {
  const size_t magic = std::min(magicLeft_, bytes.size());
  magicLeft_ -= magic;
  sent_ += magic;
  begun_ += bytes.substr(magic);
  size_t taken = 0;
  while (begun_.size() - taken >= link::kFrameHeader) {
    uint32_t size = 0;
    std::memcpy(&size, begun_.data() + taken, sizeof size);
    if (size < link::kFrameHeader || begun_.size() - taken < size) break;
    std::string_view whole(begun_.data() + taken, size);
    const auto type = static_cast<link::FrameType>(static_cast<uint8_t>(whole[kTypeAt]) & kTypeBits);
    taken += size;
    sent_ += size;
    if (type == link::FrameType::kRecord) {
      constexpr size_t around = link::ByteQueue::kRecordHeader + link::ByteQueue::kRecordTrailer;
      whole = whole.substr(link::ByteQueue::kRecordHeader, size - around);
    }
    takeFrames(whole, sent_);
  }
  begun_.erase(0, taken);
}

void LinkTap::takeFrames(std::string_view bytes, uint64_t end) {
  reader_.feed(bytes);
  link::Frame frame;
  while (reader_.next(frame) == link::FrameReader::Outcome::kFrame) {
    if (frame.type != link::FrameType::kMessage) continue;
    const auto envelope = link::readMessage(frame, simulationStart(), {to_, from_});
    underWay_.push_back({++lastNumber_, envelope.isOK() ? nameOf(*envelope) : envelope.status().reason(), end});
    note_(TraceEvent::Kind::kSend, underWay_.back());
  }
}

void LinkTap::read(size_t bytes) {
  read_ += bytes;
  while (!underWay_.empty() && underWay_.front().end <= read_) {
    note_(TraceEvent::Kind::kDeliver, underWay_.front());
    underWay_.pop_front();
  }
}

void LinkTap::ended() {
  for (const Message& message : std::exchange(underWay_, {})) note_(TraceEvent::Kind::kDrop, message);
}

}  // namespace troupe::sim
