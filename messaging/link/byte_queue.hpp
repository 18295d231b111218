#pragma once
#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>
#include <utility>

namespace troupe::link {

/// Frames that wait to be written, gathered into blocks that never grow once begun: what is appended is copied once and
/// not again.
class ByteQueue {
 public:
  static constexpr size_t kBlock = 128 * 1024;
  /// Room that a block of proven frames keeps before its first frame, and behind its last one.
  static constexpr size_t kRecordHeader = 16;
  static constexpr size_t kRecordTrailer = 16;

  struct Block {
    std::string bytes;
    size_t frames = 0;
    bool proven = false;  ///< begins with room for the header of a record, and has room for its proof
    size_t lane = 0;      ///< which of several queues it came from
  };

  /// Whether the frames to come are sent as records with a proof of origin.
  void setProven(bool proven) { proven_ = proven; }
  /// The block to append one further frame of exactly `size` bytes to.
  std::string& room(size_t size) {
    const size_t around = proven_ ? kRecordHeader + kRecordTrailer : 0;
    const bool fits =
        !blocks_.empty() && blocks_.back().proven == proven_ &&
        blocks_.back().bytes.capacity() - blocks_.back().bytes.size() >= size + (proven_ ? kRecordTrailer : 0);
    if (!fits) {
      blocks_.push_back({std::exchange(spare_, {}), 0, proven_, 0});
      blocks_.back().bytes.reserve(std::max(size, kBlock) + around);
      if (proven_) {
        blocks_.back().bytes.resize(kRecordHeader);
        bytes_ += kRecordHeader;
      }
    }
    bytes_ += size;
    ++frames_;
    ++blocks_.back().frames;
    return blocks_.back().bytes;
  }
  bool empty() const { return blocks_.empty(); }
  size_t bytes() const { return bytes_; }
  size_t frames() const { return frames_; }

  /// The oldest block; the queue must not be empty.
  Block take() {
    Block block = std::move(blocks_.front());
    blocks_.pop_front();
    bytes_ -= block.bytes.size();
    frames_ -= block.frames;
    return block;
  }
  /// Returns a block, whose memory is reused.
  void recycle(std::string block) {
    if (block.capacity() > 2 * kBlock) return;
    block.clear();
    spare_ = std::move(block);
  }
  void clear() {
    blocks_.clear();
    bytes_ = frames_ = 0;
  }

 private:
  std::deque<Block> blocks_;
  std::string spare_;
  size_t bytes_ = 0, frames_ = 0;
  bool proven_ = false;
};

}  // namespace troupe::link
