#include "messaging/link/message_frame.hpp"

#include <kj/exception.h>

#include <cstring>
#include <iterator>

#include "messaging/link/flat_message.hpp"

namespace troupe::link {

namespace {

std::string_view bytesOf(kj::ArrayPtr<const capnp::word> words) {
  return {reinterpret_cast<const char*>(words.begin()), words.size() * sizeof(capnp::word)};
}

/// The parts of the frame besides its head.
Frame partsOf(const Envelope& envelope) {
  Frame frame;
  frame.type = FrameType::kMessage;
  if (!envelope.payload) return frame;
  frame.words = bytesOf(envelope.payload.words());
  if (envelope.payload.attachment()) frame.attachment = *envelope.payload.attachment();
  return frame;
}

}  // namespace

size_t contentSize(const Envelope& envelope) { return frameSize(partsOf(envelope)); }

Status checkSendable(const Envelope& envelope, size_t largestFrame) {
  if (!envelope.payload.isSerializable())
    return {ErrorCode::kIllegalOperation,
            std::string("a ") + envelope.payload.typeName() + " may not leave the process"};
  const size_t size = contentSize(envelope);
  if (size > largestFrame)
    return {ErrorCode::kInvalidLength, std::string("a ") + envelope.payload.typeName() + " of " + std::to_string(size) +
                                           " bytes is larger than a link carries"};
  return Status::OK();
}

size_t appendMessage(ByteQueue& out, const Envelope& envelope, TimePoint now, const ImpliedNodes& implied,
                     size_t largestFrame, bool checksummed) {
  capnp::word first[128] = {};
  capnp::MallocMessageBuilder message(kj::arrayPtr(first, std::size(first)));
  writeEnvelopeHead(message.initRoot<schema::Envelope>(), envelope, now, implied);
  // In flat form on the stack when it is as small as usual: a table of one segment, then the segment.
  const auto segments = message.getSegmentsForOutput();
  Frame frame = partsOf(envelope);
  constexpr size_t kUsual = 256;
  capnp::word flat[kUsual];
  kj::Array<capnp::word> large;
  if (segments.size() == 1 && segments[0].size() < kUsual) {
    auto* table = reinterpret_cast<uint32_t*>(flat);
    table[0] = 0;
    table[1] = static_cast<uint32_t>(segments[0].size());
    std::memcpy(static_cast<void*>(flat + 1), segments[0].begin(), segments[0].size() * sizeof(capnp::word));
    frame.head = {reinterpret_cast<const char*>(flat), (segments[0].size() + 1) * sizeof(capnp::word)};
  } else {
    large = capnp::messageToFlatArray(segments);
    frame.head = bytesOf(large);
  }
  const size_t size = frameSize(frame);
  if (frame.head.size() > kLargestHead || size > largestFrame) return 0;
  appendInParts(out, frame, checksummed);
  return size;
}

StatusWith<Envelope> readMessage(const Frame& frame, TimePoint now, const ImpliedNodes& implied) {
  StatusWith<Envelope> result = Status(ErrorCode::kProtocolError, "an envelope without a root");
  const size_t words = frame.head.size() / sizeof(capnp::word);
  try {
    // Each word once, and the few of addresses again.
    capnp::FlatArrayMessageReader reader(kj::arrayPtr(reinterpret_cast<const capnp::word*>(frame.head.data()), words),
                                         {words * 2 + 64, 16});
    result = readEnvelopeHead(reader.getRoot<schema::Envelope>(), now, implied, frame.words, frame.attachment);
  } catch (const kj::Exception& damage) {
    result = Status(ErrorCode::kProtocolError, std::string("a damaged envelope: ") + damage.getDescription().cStr());
  }
  return result;
}

}  // namespace troupe::link
