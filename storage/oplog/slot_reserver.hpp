#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "messaging/bson/types.hpp"
#include "messaging/clock/op_time.hpp"
#include "storage/oplog/oplog_visibility.hpp"

namespace troupe::storage {

/// Hands out the times of writes (OPL-006): unique, growing, at least the wall clock's second. Reserve within the unit
/// of work, after its snapshot began: then of two writes to one key the one that commits later also has the later time,
/// since the engine refuses a write over what its snapshot does not see. Times that are reserved and not yet committed
/// or given back are holes; readers of the log stop at the first one (OPL-009). Any thread.
class SlotReserver {
 public:
  /// N consecutive times. Open, thus a hole, until destroyed: after the unit of work has committed or rolled back.
  /// Move-only; must not outlive the reserver.
  class Slots {
   public:
    Slots() = default;
    Slots(Slots&& other) noexcept;
    Slots& operator=(Slots&& other) noexcept;
    ~Slots() { release(); }

    bool empty() const { return count_ == 0; }
    size_t size() const { return count_; }
    /// Position `index` < size().
    OpTime operator[](size_t index) const {
      return {term_, {first_.seconds, first_.increment + static_cast<uint32_t>(index)}};
    }
    OpTime last() const { return (*this)[count_ - 1]; }
    /// Each slot has its entry, which is committed. Without it they are left empty when they close.
    void markWritten() { written_ = true; }
    /// Closes the hole now.
    void release();

   private:
    friend class SlotReserver;
    Slots(SlotReserver* reserver, int64_t term, bson::Timestamp first, size_t count)
        : reserver_(reserver), term_(term), first_(first), count_(count) {}
    SlotReserver* reserver_ = nullptr;
    int64_t term_ = 0;
    bson::Timestamp first_;
    size_t count_ = 0;
    bool written_ = false;
  };

  /// `wallSeconds`: the node's clock, seconds since 1970. `visibility` follows `withoutHoles`, and is where readers
  /// wait for it; it outlives the reserver.
  SlotReserver(std::function<uint32_t()> wallSeconds, OplogVisibility& visibility)
      : wallSeconds_(std::move(wallSeconds)), visibility_(visibility) {}
  SlotReserver(const SlotReserver&) = delete;
  SlotReserver& operator=(const SlotReserver&) = delete;

  /// The next `count` (at least 1) times, all within one second of the clock or beyond the last one handed out.
  Slots reserve(int64_t term, size_t count);
  /// A time that is not later than any reservation that is open now, nor than any that comes: the oldest open one,
  /// which stays a hole as long as the result lives, or else a new one. For writes beside units of work that are under
  /// way.
  Slots reserveBeforeAll(int64_t term);
  /// Nothing up to `time` is handed out any more: it was seen on another node. The clock moves, not the log.
  void advanceTo(bson::Timestamp time);
  /// The log ends at `time`: found so at a start, or cut off there by a rollback. The clock does not go back with it.
  /// Moves the visibility point too, also back. Nothing may be open (BrokenInvariant), nor a unit of work be
  /// ending: the caller is alone, or holds the global lock exclusively, which operations give back after their slots.
  void resetTo(bson::Timestamp time);

  /// The last time handed out or seen.
  bson::Timestamp newest() const;
  /// The last time handed out, or the end of the log at which a start or a rollback has set it.
  bson::Timestamp lastHandedOut() const;
  /// The newest time handed out at and below which nothing is open: everything up to it can be read without missing a
  /// write of this node.
  bson::Timestamp withoutHoles() const;
  /// The newest of the times up to `withoutHoles` that was written: slots of units that were rolled back have no entry,
  /// and others must not be made to wait for one.
  bson::Timestamp lastWritten() const;
  /// The newest time that was written, whatever is open below it: what reads of this node's documents may have seen.
  bson::Timestamp newestWritten() const;
  size_t openReservations() const;

 private:
  Slots reserveLocked(int64_t term, size_t count, uint32_t now);
  /// `written`: the last time of the reservation, if it has entries.
  void close(bson::Timestamp first, std::optional<bson::Timestamp> written);
  bson::Timestamp withoutHolesLocked() const;

  const std::function<uint32_t()> wallSeconds_;
  OplogVisibility& visibility_;
  mutable std::mutex mutex_;
  bson::Timestamp newest_;         ///< the clock: handed out or seen
  bson::Timestamp lastHandedOut_;  ///< the end of the log, as far as this node writes it
  bson::Timestamp lastWritten_;
  std::multiset<bson::Timestamp> open_;  ///< the first time of each open reservation
  std::set<bson::Timestamp> written_;    ///< times with entries behind the first open reservation
};

}  // namespace troupe::storage
