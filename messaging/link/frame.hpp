#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "messaging/link/byte_queue.hpp"
#include "messaging/link/rejection.hpp"
#include "messaging/wire/read_buffer.hpp"

namespace troupe::link {

/// The first bytes of whoever opens a link. Read as the length of a message of the wire protocol they are far beyond
/// the largest one, and they begin no TLS record: a node tells links from drivers by them on its one port.
inline constexpr std::string_view kMagic = "TROUPELK";
inline constexpr uint32_t kProtocolVersion = 1;
/// Before the other side is known no frame may be larger.
inline constexpr size_t kHandshakeFrame = 4096;
/// The largest frame a node takes unless told otherwise: an attachment of the wire protocol's largest message, and room
/// around it.
inline constexpr size_t kLargestFrame = 64 * 1024 * 1024;

enum class FrameType : uint8_t {
  kHello = 1,
  kChallenge,
  kProof,
  kWelcome,  ///< the handshake, in this order
  kMessage,  ///< an envelope
  kBeat,
  kBeatBack,  ///< heartbeat and its answer
  kClosing,   ///< the sender closes
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
/// with this field zero (4); words of the payload (4). Head, payload, attachment and padding follow.
inline constexpr size_t kFrameHeader = 16;
inline constexpr size_t kLargestHead = 0xFFFF * 8;

/// Bytes that a frame of these parts takes.
size_t frameSize(const Frame& frame);
/// Appends the frame. The head must not exceed `kLargestHead`; head and words must be whole words.
void appendFrame(ByteQueue& out, const Frame& frame, bool checksummed);
/// The same as a string, for what is written once.
std::string frameBytes(const Frame& frame, bool checksummed = true);

/// Splits the bytes of a link into frames:
///   for (;;) {
///     const auto outcome = reader.next(frame);
///     if (outcome == kFrame) handle(frame);
///     else if (outcome == kMore) reader.commit(read(reader.prepare()));  // the socket reads straight into it
///     else reject(reader.rejected());
///   }
/// A size is checked against the limit before room is made for it; then the room is made at once, so that a large frame
/// is read where it stays.
class FrameReader final : public wire::ReadBuffer {
 public:
  enum class Outcome { kFrame, kMore, kRejected };

  /// `expectMagic`: the stream begins with it.
  explicit FrameReader(bool expectMagic, size_t limit = kHandshakeFrame) : limit_(limit), expectMagic_(expectMagic) {}

  /// From the next frame on.
  void setLimit(size_t limit) { limit_ = limit; }
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
  size_t capacity() const { return capacity_; }

 private:
  Outcome reject(Rejection reason, std::string detail);
  Outcome split(std::string_view bytes, Frame& frame);
  void resize(size_t capacity);

  size_t limit_;
  bool expectMagic_;
  std::optional<Rejected> rejected_;
  std::unique_ptr<uint64_t[]> buffer_;  // aligned for Cap'n Proto
  size_t capacity_ = 0, consumed_ = 0, filled_ = 0;
  size_t wanted_ = 0;  ///< size of the frame that has begun, once known
};

}  // namespace troupe::link
