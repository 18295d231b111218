#pragma once
#include <cstdint>
#include <vector>

#include "messaging/envelope/envelope.hpp"

namespace troupe::link {

/// The duties to answer of the asks that a link has carried away, each under the number its answer will bear. Numbers
/// of asks that are over mean nothing any more, even when their place is used again. Not thread-safe.
class PendingAsks {
 public:
  /// Never 0.
  uint64_t add(ReplyDuty duty, TimePoint deadline);
  /// Empty if that ask is over or never was.
  ReplyDuty take(uint64_t correlation);
  std::vector<ReplyDuty> takeAll();
  /// Those whose deadline has passed: their askers have gone on already.
  std::vector<ReplyDuty> takeExpired(TimePoint now);
  size_t size() const { return slots_.size() - free_.size(); }

 private:
  struct Slot {
    ReplyDuty duty;
    TimePoint deadline = kNoDeadline;
    uint32_t round = 1;  ///< goes up when the slot is used again
  };
  ReplyDuty release(size_t index);
  std::vector<Slot> slots_;
  std::vector<uint32_t> free_;
};

}  // namespace troupe::link
