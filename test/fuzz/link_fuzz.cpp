// Bytes as another node may send them: split into frames in reads of changing sizes, given to both sides of the
// handshake, and, as if it were over, read as envelopes, bare or in a record that is proven. The first byte chooses who
// reads and how large the reads are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "messaging/link/frame.hpp"
#include "messaging/link/handshake.hpp"
#include "messaging/link/message_frame.hpp"
#include "messaging/schemas/testing.capnp.h"

using namespace troupe;
using namespace troupe::link;

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// Nonces are all the same, so that inputs can get past them.
void still(void* bytes, size_t size) { std::memset(bytes, 7, size); }

/// A step sends nothing or one whole frame, and never agrees with and rejects the same.
bool goesOn(const HandshakeStep& step) {
  if (!step.send.empty()) {
    FrameReader reader(false);
    reader.feed(step.send);
    Frame frame;
    require(reader.next(frame) == FrameReader::Outcome::kFrame && reader.buffered() == 0);
  }
  require(!(step.established && step.rejected));
  return !step.rejected && !step.established;
}

/// An envelope that was read is written again, and reads the same.
void carry(const Frame& frame) {
  const ImpliedNodes names{"b:2", "a:1"};
  const TimePoint now(std::chrono::hours(1));
  const auto envelope = readMessage(frame, now, names);
  if (!envelope.isOK()) return;
  if (envelope->payload.is<schema::Ping>()) {
    try {
      volatile int64_t number = envelope->payload.read<schema::Ping>()->getNumber();
      (void)number;
    } catch (const kj::Exception&) {
    }
  }
  ByteQueue queue;
  if (appendMessage(queue, *envelope, now, names, kLargestFrame, true) == 0) return;
  FrameReader reader(false, kLargestFrame);
  while (!queue.empty()) reader.feed(queue.take().bytes);
  Frame again;
  require(reader.next(again) == FrameReader::Outcome::kFrame);
  const auto copy = readMessage(again, now, names);
  require(copy.isOK() && copy->to == envelope->to && copy->from == envelope->from && copy->kind == envelope->kind &&
          copy->correlation == envelope->correlation && copy->payload.type() == envelope->payload.type());
}

/// Bytes within a record whose proof fits, as a node of the cluster may send them.
void takeRecord(std::string_view bytes) {
  const std::string key(kRecordKey, 'k');
  RecordProof proof(key);
  std::string record(ByteQueue::kRecordHeader, '\0');
  record += bytes.substr(0, (kLargestRecord - record.size() - kRecordProof) / 8 * 8);
  record.resize((record.size() + 7) / 8 * 8);
  sealRecord(record, proof);
  FrameReader reader(false, kLargestFrame);
  reader.expectProofs(key);
  reader.feed(record);
  Frame frame;
  while (reader.next(frame) == FrameReader::Outcome::kFrame) carry(frame);
  record[record.size() / 2] = static_cast<char>(record[record.size() / 2] + 1);
  FrameReader other(false, kLargestFrame);
  other.expectProofs(key);
  other.feed(record);
  require(other.next(frame) == FrameReader::Outcome::kRejected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  if (data[0] == 255) {
    takeRecord({reinterpret_cast<const char*>(data) + 1, size - 1});
    return 0;
  }
  const int role = data[0] % 3;  // 0: acceptor, 1: opener, 2: an open link
  const size_t step = 1 + data[0] / 3;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  AcceptorHandshake acceptor({"b:2", ""}, true, still);
  OpenerHandshake opener({"a:1", ""}, "b:2", [](void* to, size_t n) { std::memset(to, 8, n); });
  FrameReader reader(role == 0, role == 2 ? kLargestFrame : kHandshakeFrame);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    reader.feed(bytes.substr(0, step));
    Frame frame;
    for (;;) {
      const auto outcome = reader.next(frame);
      if (outcome == FrameReader::Outcome::kRejected) return 0;
      if (outcome == FrameReader::Outcome::kMore) break;
      if (role == 2) carry(frame);
      else if (!goesOn(role == 0 ? acceptor.take(frame) : opener.take(frame))) return 0;
    }
  }
  return 0;
}
