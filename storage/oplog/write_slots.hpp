#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "messaging/clock/op_time.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

/// The times of consecutive operations of one unit of work. There are none where the namespace is not replicated, where
/// the node stands alone, where the unit is grouped (its operations share the time of the commit), and where the times
/// come from the log of another node. A plain value; the slots belong to the unit.
class WriteSlots {
 public:
  WriteSlots() = default;
  bool hasTimes() const { return count_ > 0; }
  /// Of operation `index`; the null OpTime where there are no times.
  OpTime operator[](size_t index) const {
    if (!hasTimes()) return {};
    return {first_.term, {first_.timestamp.seconds, first_.timestamp.increment + static_cast<uint32_t>(index)}};
  }
  /// The unit's next writes carry the time of operation `index`. To be called before its record, its keys and its log
  /// entry are written (OPL-015).
  Status stamp(RecoveryUnit& unit, size_t index) const {
    return hasTimes() ? unit.setCommitTimestamp((*this)[index].timestamp) : Status::OK();
  }

 private:
  friend class ReplicatedUnit;
  WriteSlots(OpTime first, size_t count) : first_(first), count_(count) {}
  OpTime first_;
  size_t count_ = 0;
};

/// Gate of replicated writes: admits a unit of work and reserves the times of its next `count` operations on documents,
/// collections or indexes of the namespace. The snapshot is opened before, so that of two writes
/// to one document the one that commits later has the later time (OPL-006). Called within a unit of work.
/// A unit that applies an entry of the log is stamped with the entry's time instead (`appliedTime`).
/// Errors: NotWritablePrimary, InterruptedDueToReplStateChange (the operation began to write in an earlier term).
StatusWith<WriteSlots> reserveSlots(RecoveryUnit& unit, const Namespace& ns, size_t count);

/// Admits a unit of work that writes to these tables of the namespace, and to no other replicated one, what follows
/// from documents that have been written: the keys of an index build, which are no operations of their own and have no
/// times; the index is read from the time of its commit on. It is fenced like a reservation, but for an applier. Called
/// within a unit of work. Errors: those of reserveSlots.
Status admitDerived(RecoveryUnit& unit, const Namespace& ns, std::vector<uint32_t> tables);

/// One slot, whose time the unit's next writes carry: of an operation that is alone. With `count` more than 1 it is the
/// last of so many; those ahead of it are for what is logged of its documents, or stay free (ImagePlan). The null
/// OpTime where there are no times. Errors: those of reserveSlots.
StatusWith<OpTime> reserveSlot(RecoveryUnit& unit, const Namespace& ns, size_t count = 1);

/// The time of a row that a unit of work writes aside, in a transaction of its own that commits first (a multikey
/// flag). While it lives, readers of the log and the stable time stay before `time`.
struct TimeAside {
  std::optional<bson::Timestamp> time;  ///< empty when the unit's writes have no times
  SlotReserver::Slots hole;
};

/// The row is written for this unit, but then holds for all others that write beside it, which do not write it again.
/// So it must not be later than any of their slots: else a recovery to a time in between would keep a document and
/// forget the flag that its index keys need. Nor may it be older than the row's last version, which `notBefore` is.
/// The oldest open slot meets both demands: a schema change holds its collection exclusively, so every open slot of a
/// writer of that collection is later than the change; and times given here never go back.
/// Where the log of another node gives the times (WriteMode::kApplied) it is that of the first entry of those that are
/// applied side by side (OperationContext::batchStart), or the unit's own where they are applied in their order.
TimeAside timeAside(RecoveryUnit& unit, bson::Timestamp notBefore);

/// The guard of what is replicated, on a member of a replica set (SessionPool::isMember), whatever the operation and
/// its mode: a write to a catalog row or a table needs a slot of `reserveSlots` and carries its time, or, where the
/// times are given (kApplied, kAside), such a time; a table also passes that was admitted as derived. Where it has a
/// slot, and is not of a grouped unit, its snapshot must be that of the newest data. Throws BrokenInvariant.
void requireSlots(const RecoveryUnit& unit);
void requireSlots(const RecoveryUnit& unit, const Table& table);

/// Whether this unit reserves slots for writes to replicated namespaces: its node is a member of a replica set, and the
/// operation writes as its primary.
bool writesAreReplicated(const RecoveryUnit& unit);

/// The slot at which a grouped unit of work is going to be prepared; the null OpTime without replicated writes. It is a
/// hole in the log until `WriteUnitOfWork::prepare` has had its entry written. The part that runs transactions writes
/// the entry of the decision likewise, in a transaction of its own, and gives the decision its time.
StatusWith<OpTime> reservePrepareSlot(RecoveryUnit& unit);

/// Held by a unit of work during replicated writes: its pass of the fence and its slots, which are holes in the log,
/// until it has ended or is prepared. Made by reserveSlots.
class ReplicatedUnit final : public BoundState {
 public:
  /// That of the open unit of work; null when it has written nothing that is replicated.
  static ReplicatedUnit* in(const RecoveryUnit& unit) {
    return static_cast<ReplicatedUnit*>(unit.unitState(UnitPart::kReplication));
  }

  /// In which it was admitted last.
  int64_t term() const { return term_; }
  /// The unit is prepared, and its entry is in the log: closes the slot and leaves the fence, in this order, so that a
  /// role whose fence has drained has no slot open.
  void handOver();
  /// Enters the fence again, in whatever term it is open, if the pass was handed over. Errors: NotWritablePrimary.
  Status enterAgain();
  /// The newest slot. A grouped unit has one only, for its entry, reserved before the other pre-commit handlers run.
  const OpTime& last() const { return last_; }

 private:
  friend StatusWith<WriteSlots> reserveSlots(RecoveryUnit&, const Namespace&, size_t);
  friend Status admitDerived(RecoveryUnit&, const Namespace&, std::vector<uint32_t>);
  friend TimeAside timeAside(RecoveryUnit&, bson::Timestamp);
  friend StatusWith<OpTime> reservePrepareSlot(RecoveryUnit&);
  ReplicatedUnit(ReplicatedWrites& writes, WriteFence::Pass pass)
      : writes_(writes), term_(pass.term()), pass_(std::move(pass)) {}
  static StatusWith<ReplicatedUnit*> enter(RecoveryUnit& unit);
  WriteSlots reserve(size_t count);

  ReplicatedWrites& writes_;
  int64_t term_;
  std::optional<WriteFence::Pass> pass_;
  std::vector<SlotReserver::Slots> slots_;  ///< released before the fence is left
  OpTime last_;
};

}  // namespace troupe::storage
