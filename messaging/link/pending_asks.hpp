#pragma once
#include <cstdint>
#include <vector>

#include "messaging/envelope/envelope.hpp"

namespace troupe::link {

/// Asks sent over a link whose reply is outstanding, by correlation number. The number of an ask that is over stays
/// invalid when its slot is used again: a late reply finds nothing. Not thread-safe.
class PendingAsks {
 public:
  /// Never 0.
  uint64_t add(ReplyDuty duty, TimePoint deadline);
  /// Empty if that ask is over or never was.
  ReplyDuty take(uint64_t correlation);
  std::vector<ReplyDuty> takeAll();
  /// Removes and returns the asks whose deadline has passed: the askers have gone on already.
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
