#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "messaging/clock/time_point.hpp"
#include "messaging/errors/status.hpp"
#include "storage/locks/locker.hpp"
#include "storage/operation/write_mode.hpp"
#include "storage/transaction/recovery_unit.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

/// An open unit of work between two commands, with all that it holds: its snapshot and writes, its slots and its right
/// to write (bound to the unit), its locks, which stay to its end, and what bound its operation. It has no ticket.
/// Destroying it rolls back. A plain value for one thread at a time.
struct OpenUnit {
  // In this order: at the end the unit of work goes first, then the recovery unit, then the locks.
  std::unique_ptr<Locker> locks;  ///< null: the work is alone on its node
  std::unique_ptr<RecoveryUnit> unit;
  std::unique_ptr<WriteUnitOfWork> work;
  WriteMode writeMode = WriteMode::kReplicated;
  std::optional<int64_t> writeTerm;
  std::optional<TimePoint> end;  ///< of its own lifetime, whatever its commands' deadlines: then it is ended while idle
};

/// The node's open units of work that no command works on at the moment. Their locks and their right to write would
/// keep a change of the role, and the end of the node, waiting for clients, so those changes end them here: rolled
/// back, everything released; the next command of the transaction gets the reason. A prepared unit is not this node's
/// to end: it stays through a change of the role, with all its locks but the state transition's, and it has handed over
/// its right to write when it was prepared (write_slots.hpp). Any thread; rollbacks run on the caller's, without the
/// mutex. Outlives all operations; empty before storage closes (`endAll`).
class IdleUnits {
 public:
  /// The place of one unit, by which it is taken up again. Destroying it ends the unit. Move-only.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept : units_(std::exchange(other.units_, nullptr)), id_(other.id_) {}
    Place& operator=(Place&& other) noexcept;
    ~Place() { leave(); }
    explicit operator bool() const { return units_ != nullptr; }
    /// For `IdleUnits::end`.
    uint64_t id() const { return id_; }
    /// The unit, for one command; the place is empty afterwards. Errors: the reason for which it was ended.
    StatusWith<OpenUnit> take();

   private:
    friend class IdleUnits;
    Place(IdleUnits* units, uint64_t id) : units_(units), id_(id) {}
    void leave();
    IdleUnits* units_ = nullptr;
    uint64_t id_ = 0;
  };

  IdleUnits() = default;
  IdleUnits(const IdleUnits&) = delete;
  IdleUnits& operator=(const IdleUnits&) = delete;

  /// Keeps a unit whose operation has stashed it. Ended at once when `interrupted` says so (the operation was killed),
  /// or while a change of the role is under way; a prepared one in neither case.
  Place add(OpenUnit unit, Status interrupted);

  /// Ends all units that are not prepared, and any that is added before `resume`: the role changes. Interruptions may
  /// overlap: each needs a `resume` of its own, and until the last one no unit is kept.
  void interrupt(ErrorCode why);
  void resume();
  /// Ends all units, and any that is added later: the node stops. Prepared units are found again in the log by the next
  /// start.
  void endAll(ErrorCode why);
  /// Ends the units whose lifetime is over (TransactionExceededLifetimeLimitSeconds), but for prepared ones. Returns
  /// how many.
  size_t endExpired(TimePoint now);
  /// Ends one that is not prepared: its session is killed. False when it is not here, or prepared.
  bool end(uint64_t id, ErrorCode why);

  size_t size() const;

 private:
  struct Slot {
    std::optional<OpenUnit> unit;  ///< nothing: it was ended
    Status ended;
  };
  /// Ends the slots for which `which` is true, under the mutex, and hands their units out to be destroyed without it.
  template <class Which>
  std::vector<OpenUnit> endIf(const Which& which, const Status& why);

  mutable std::mutex mutex_;
  uint64_t lastId_ = 0;
  std::map<uint64_t, Slot> slots_;
  int interruptions_ = 0;  ///< that have not been resumed
  Status interruption_;    ///< not OK while the role changes, or the node stops
  bool stopping_ = false;
};

}  // namespace troupe::storage
