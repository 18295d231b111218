#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "messaging/link/byte_queue.hpp"

namespace troupe::link {

/// Which frames go first over one link.
enum class Lane : uint8_t {
  kUrgent,    ///< heartbeats, and messages of high priority
  kOrdinary,  ///< asks, answers and credit: small messages
  kBulk,      ///< messages beyond `kBulkFrom`, in parts
};
inline constexpr size_t kLanes = 3;
/// A message of more bytes travels in the bulk lane.
inline constexpr size_t kBulkFrom = 16 * 1024;

/// The outgoing queue of one link end: a queue of blocks for each lane. A block of an earlier lane overtakes those of
/// later ones, so a heartbeat waits for one block and not for a gigabyte; no lane waits for ever. Messages to one
/// receiver keep their order, unless their senders marked some as urgent.
class Lanes {
 public:
  /// Blocks that may overtake a waiting one before it has its turn.
  static constexpr int kOvertakenAtMost = 16;

  void setProven(bool proven) {
    for (auto& queue : queues_) queue.setProven(proven);
  }
  ByteQueue& queue(Lane lane) { return queues_[static_cast<size_t>(lane)]; }
  /// The lane of a small ordinary message to the receiver of that hash: behind bulk for the same receiver.
  Lane behindBulk(size_t receiver) const {
    return bulkOf_[receiver % kReceivers] > bulkTaken_ ? Lane::kBulk : Lane::kOrdinary;
  }
  /// The lane for a message that must not overtake any queued one.
  Lane behindAll() const { return queues_[static_cast<size_t>(Lane::kBulk)].empty() ? Lane::kOrdinary : Lane::kBulk; }
  /// Bulk for that receiver has been appended.
  void noteBulk(size_t receiver) {
    bulkOf_[receiver % kReceivers] = bulkTaken_ + queues_[static_cast<size_t>(Lane::kBulk)].frames();
  }

  bool empty() const {
    for (const auto& queue : queues_)
      if (!queue.empty()) return false;
    return true;
  }
  size_t bytes() const { return queues_[0].bytes() + queues_[1].bytes() + queues_[2].bytes(); }
  size_t frames() const { return queues_[0].frames() + queues_[1].frames() + queues_[2].frames(); }

  /// The block to be written next.
  std::optional<ByteQueue::Block> take() {
    std::optional<size_t> chosen;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      if (queues_[lane].empty()) continue;
      if (!chosen || overtaken_[lane] >= kOvertakenAtMost) chosen = lane;
    }
    if (!chosen) return std::nullopt;
    for (size_t lane = *chosen + 1; lane < kLanes; ++lane)
      if (!queues_[lane].empty()) ++overtaken_[lane];
    overtaken_[*chosen] = 0;
    auto block = queues_[*chosen].take();
    block.lane = *chosen;
    if (*chosen == static_cast<size_t>(Lane::kBulk)) bulkTaken_ += block.frames;
    return block;
  }
  void recycle(ByteQueue::Block block) { queues_[block.lane].recycle(std::move(block.bytes)); }
  void clear() {
    for (auto& queue : queues_) queue.clear();
    bulkOf_.fill(0);
    overtaken_.fill(0);
    bulkTaken_ = 0;
  }

 private:
  static constexpr size_t kReceivers = 64;  ///< a power of two; receivers that share a place wait for each other
  std::array<ByteQueue, kLanes> queues_;
  std::array<int, kLanes> overtaken_{};
  uint64_t bulkTaken_ = 0;                     ///< frames of bulk that were taken so far
  std::array<uint64_t, kReceivers> bulkOf_{};  ///< frames of bulk up to the last one for a receiver
};

}  // namespace troupe::link
