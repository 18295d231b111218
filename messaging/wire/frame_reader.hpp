#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "messaging/errors/status.hpp"
#include "messaging/wire/header.hpp"
#include "messaging/wire/read_buffer.hpp"

namespace troupe::wire {

/// Splits the bytes of a connection into frames. The socket reads straight into it:
///   for (;;) {
///     auto frame = reader.next();                       // a failure: close the connection
///     if (frame->empty()) { n = read(reader.prepare()); reader.commit(n); continue; }
///     handle(*frame);
///   }
/// A length is checked as soon as its header is there. Memory grows with the bytes that have arrived, not with those
/// that were announced, up to twice the largest message, and shrinks to kIdleSize once a big frame is consumed.
class FrameReader final : public ReadBuffer {
 public:
  static constexpr size_t kIdleSize = 16 * 1024;

  FrameReader() = default;

  /// Largest frame taken from now on, at most kMaxMessageSize.
  void setLimit(int32_t bytes) { limit_ = bytes; }

  /// Room to read into, never empty. Frames that `next` gave become invalid.
  std::span<char> prepare() override;
  /// `size` bytes of the room were filled.
  void commit(size_t size) override;
  /// Copies bytes in (tests, first bytes read elsewhere).
  void feed(std::string_view bytes);

  /// The next whole frame, or an empty view when more bytes are needed. Valid until the next call of `prepare`, `feed`
  /// or `next`. Errors: ProtocolError for a bad length or one above the limit; the stream cannot be resumed.
  StatusWith<std::string_view> next();

  /// Bytes that were read and not yet returned as a frame.
  std::string_view peek() const { return {buffer_.get() + consumed_, buffered()}; }
  /// Bytes of an incomplete frame that wait; 0 between frames.
  size_t buffered() const { return filled_ - consumed_; }
  /// Bytes that will be allocated once `prepare` was called.
  size_t capacityToRead() const;
  /// Bytes allocated.
  size_t capacity() const { return capacity_; }

 private:
  void resize(size_t capacity);

  std::unique_ptr<char[]> buffer_;
  size_t capacity_ = 0;
  size_t consumed_ = 0;
  size_t filled_ = 0;
  int32_t limit_ = kMaxMessageSize;
};

}  // namespace troupe::wire
