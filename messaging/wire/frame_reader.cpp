#include "messaging/wire/frame_reader.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "messaging/wire/header.hpp"

namespace troupe::wire {

void FrameReader::resize(size_t capacity) {
  auto bigger = std::make_unique_for_overwrite<char[]>(capacity);
  if (buffered()) std::memcpy(bigger.get(), buffer_.get() + consumed_, buffered());
  buffer_ = std::move(bigger);
  capacity_ = capacity;
  filled_ -= consumed_;
  consumed_ = 0;
}

size_t FrameReader::capacityToRead() const {
  if (consumed_ == filled_) return kIdleSize;
  if (filled_ < capacity_) return capacity_;
  // The incomplete frame moves to the front, and has twice the room if it already fills half of it.
  return buffered() > capacity_ / 2 ? capacity_ * 2 : std::max(kIdleSize, buffered() * 2);
}

std::span<char> FrameReader::prepare() {
  const size_t wanted = capacityToRead();
  if (consumed_ == filled_) consumed_ = filled_ = 0;
  if (wanted != capacity_ || filled_ == capacity_) resize(wanted);
  return {buffer_.get() + filled_, capacity_ - filled_};
}

void FrameReader::commit(size_t size) { filled_ += std::min(size, capacity_ - filled_); }

void FrameReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto room = prepare();
    const auto size = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), size);
    commit(size);
    bytes.remove_prefix(size);
  }
}

StatusWith<std::string_view> FrameReader::next() {
  if (buffered() < kHeaderSize) return std::string_view();
  const char* start = buffer_.get() + consumed_;
  TROUPE_ASSIGN(const auto header, parseHeader({start, buffered()}));
  if (header.messageLength > limit_)
    return Status(ErrorCode::kProtocolError, "a message of " + std::to_string(header.messageLength) + " bytes, but " +
                                                 std::to_string(limit_) + " are allowed before authentication");
  const auto size = static_cast<size_t>(header.messageLength);
  if (buffered() < size) return std::string_view();
  consumed_ += size;
  return std::string_view(start, size);
}

}  // namespace troupe::wire
