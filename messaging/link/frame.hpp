#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messaging/link/byte_queue.hpp"
#include "messaging/link/record_proof.hpp"
#include "messaging/link/rejection.hpp"
#include "messaging/wire/read_buffer.hpp"

namespace troupe::link {

/// The first bytes of a link's opener. Read as the length of a message of the wire protocol they are far beyond
/// the largest one, and they begin no TLS record: a node tells links from drivers by them on its one port.
inline constexpr std::string_view kMagic = "TROUPELK";
inline constexpr uint32_t kProtocolVersion = 2;
/// Before the other side is known no frame may be larger.
inline constexpr size_t kHandshakeFrame = 4096;
/// The largest message a node takes unless told otherwise: an attachment of the wire protocol's largest message, and
/// room around it.
inline constexpr size_t kLargestFrame = 64 * 1024 * 1024;
/// A message whose frame would be larger is sent in parts of at most this size, so that others can go in between.
inline constexpr size_t kLargestPart = 64 * 1024;
/// The largest record: a block of frames with its header and its proof.
inline constexpr size_t kLargestRecord = ByteQueue::kBlock + ByteQueue::kRecordHeader + ByteQueue::kRecordTrailer;

enum class FrameType : uint8_t {
  kHello = 1,
  kChallenge,
  kProof,
  kWelcome,  ///< the handshake, in this order
  kMessage,  ///< an envelope
  kBeat,
  kBeatBack,  ///< heartbeat and its answer
  kClosing,   ///< the sender closes
  kPart,      ///< a part of a large message's frame; its parts follow each other, other whole frames may come between
  kRecord,    ///< whole frames, and the proof of origin of all of them
};

/// A frame, borrowed from where it was read. `head` and `words` are flat Cap'n Proto messages, aligned to words.
struct Frame {
  FrameType type{};
  std::string_view head;        ///< the frame's own content
  std::string_view words;       ///< of a message: its payload
  std::string_view attachment;  ///< of a message: bytes that ride along
};

/// Every frame begins with 16 bytes, little-endian: size of the whole in bytes, a multiple of 8 (4); type, with the top
/// bit set if there is a checksum (1); bytes of padding at the end (1); words of the head (2); CRC-32C of the frame
/// with this field zero (4); words of the payload (4). Head, payload, attachment and padding follow. After a handshake
/// with the cluster's key all frames come in records: a header of this form, frames, and a proof (RecordProof) of both.
inline constexpr size_t kFrameHeader = 16;
inline constexpr size_t kLargestHead = 0xFFFF * 8;

/// Bytes that a frame of these parts takes.
size_t frameSize(const Frame& frame);
/// Appends the frame. The head must not exceed `kLargestHead`; head and words must be whole words.
void appendFrame(ByteQueue& out, const Frame& frame, bool checksummed);
/// Appends the frame, split into frames of type kPart when it is larger than one of those.
void appendInParts(ByteQueue& out, const Frame& frame, bool checksummed);
/// Makes a record of a block of frames that was begun as one: fills in its header and adds its proof.
void sealRecord(std::string& block, RecordProof& proof);
/// The bytes of one frame, for frames that are written outside of a queue.
std::string frameBytes(const Frame& frame, bool checksummed = true);

/// Splits the bytes of a link into frames:
///   for (;;) {
///     const auto outcome = reader.next(frame);
///     if (outcome == kFrame) handle(frame);
///     else if (outcome == kMore) reader.commit(read(reader.prepare()));  // the socket reads straight into it
///     else reject(reader.rejected());
///   }
/// A size is checked against the limit before room is made for it; then the room is made at once. A large message in
/// parts is put together; `next` gives the whole. Once proofs are due nothing is given that is not proven.
class FrameReader final : public wire::ReadBuffer {
 public:
  enum class Outcome { kFrame, kMore, kRejected };

  /// `expectMagic`: the stream begins with it.
  explicit FrameReader(bool expectMagic, size_t limit = kHandshakeFrame) : limit_(limit), expectMagic_(expectMagic) {}

  /// From the next frame on.
  void setLimit(size_t limit) { limit_ = limit; }
  /// From the next byte on all comes in records, proven with this key.
  void expectProofs(std::string_view key) { proof_.emplace(key); }
  /// Room to read into, never empty. Frames that were given become invalid.
  std::span<char> prepare() override;
  void commit(size_t size) override { filled_ += size; }
  /// Copies bytes in (what was read elsewhere, tests).
  void feed(std::string_view bytes);
  /// The frame is valid until the next `prepare` or `feed`. After kRejected the stream cannot go on.
  Outcome next(Frame& frame);
  const Rejected& rejected() const { return *rejected_; }
  /// Bytes of an incomplete frame.
  size_t buffered() const { return filled_ - consumed_; }
  /// True between the first and the last part of a message.
  bool isWithinMessage() const { return gathered_ > 0; }
  size_t capacity() const { return capacity_; }

 private:
  Outcome reject(Rejection reason, std::string detail);
  Outcome nextWhole(Frame& frame);
  Outcome openRecord();
  Outcome gather(Frame& frame);
  Outcome split(std::string_view bytes, Frame& frame);
  void resize(size_t capacity);

  size_t limit_;
  bool expectMagic_;
  std::optional<Rejected> rejected_;
  std::unique_ptr<uint64_t[]> buffer_;  // aligned for Cap'n Proto
  size_t capacity_ = 0, consumed_ = 0, filled_ = 0;
  size_t wanted_ = 0;  ///< size of the frame or record that has begun, once known
  std::optional<RecordProof> proof_;
  size_t provenLeft_ = 0;                ///< of the record whose frames are being given: bytes of frames to come
  std::unique_ptr<uint64_t[]> message_;  ///< one that came in parts
  size_t messageSize_ = 0, gathered_ = 0;
};

}  // namespace troupe::link
