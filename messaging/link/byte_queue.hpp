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

  struct Block {
    std::string bytes;
    size_t frames = 0;
  };

  /// The block to append one further frame of exactly `size` bytes to.
  std::string& room(size_t size) {
    bytes_ += size;
    ++frames_;
    if (blocks_.empty() || blocks_.back().bytes.capacity() - blocks_.back().bytes.size() < size) {
      blocks_.push_back({std::exchange(spare_, {})});
      blocks_.back().bytes.reserve(std::max(size, kBlock));
    }
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
  /// Gives a block back whose memory is to be used again.
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
};

}  // namespace troupe::link
