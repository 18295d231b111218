#pragma once
#include <functional>

#include "messaging/clock/op_time.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

/// Scope of one storage transaction (STX-002): what happens on the recovery unit between construction and `commit`
/// becomes visible together, or not at all when the scope is left without it (STX-003). Units nest; only the outermost
/// commits, and when an inner one was rolled back the outer ones cannot commit any more.
///   WriteUnitOfWork unit(recoveryUnit); ...writes...; TROUPE_TRY(unit.commit());
class WriteUnitOfWork {
 public:
  /// `logging` counts for the outermost unit.
  explicit WriteUnitOfWork(RecoveryUnit& unit, UnitLogging logging = UnitLogging::kEach) : unit_(unit) {
    unit_.enterUnit(logging);
  }
  ~WriteUnitOfWork() {
    if (open_) unit_.rollbackUnit();
  }
  WriteUnitOfWork(const WriteUnitOfWork&) = delete;
  WriteUnitOfWork& operator=(const WriteUnitOfWork&) = delete;

  /// WriteConflict and its kin when the engine had to roll back (handlers have then run as for a rollback);
  /// IllegalOperation when an inner unit was rolled back. Call at most once.
  Status commit() {
    open_ = false;
    return unit_.commitUnit();
  }
  /// Writes the entry of a prepare to the log, at the time of the slot, in a transaction of its own that it commits.
  using WritePrepare = std::function<Status(const OpTime& slot)>;
  /// Votes: afterwards only a decision or leaving the scope (rollback) is allowed. The outermost unit only, and it must
  /// not have written a logged table. One that has written what is replicated has reserved `prepareTs` as its slot
  /// (`reservePrepareSlot`) and brings what writes its entry (else BrokenInvariant). That is called once the engine has
  /// promised to commit; then the slot is closed and the pass of the fence given back, for the transaction may be
  /// decided in any later role and term of this node. Where the entry cannot be written the unit is rolled back, with
  /// that error.
  Status prepare(Timestamp prepareTs, const WritePrepare& write = {});
  /// On a primary the decision is a write of its term. Errors, after which the unit is still prepared:
  /// NotWritablePrimary.
  Status commitPrepared(Timestamp commitTs, Timestamp durableTs);
  /// Rolls a prepared unit back that the log aborts at `abortTs`. Errors: as commitPrepared.
  Status abortPrepared(Timestamp abortTs);

 private:
  /// A primary decides within the fence.
  Status enterToDecide();

  RecoveryUnit& unit_;
  bool open_ = true;
};

}  // namespace troupe::storage
