#pragma once
#include <functional>

#include "storage/catalog/catalog.hpp"
#include "storage/oplog/oplog_replay.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "storage/oplog/truncate_after_point.hpp"

namespace troupe::storage {

/// Takes the storage of a member back to an entry of its log (SRC-008, SRC-009, TRN-010): the engine to the stable
/// time, the log to the common point, then the data forward again by a replay. Its steps are called in their order,
/// once, with nothing else at work: the global lock is held exclusively, no slot is open, background work is paused
/// (BackgroundGate). All of them *block*.
///
/// A crash ends in one of two states, which the next start makes of what it finds. Before `takeDown` has ended: the log
/// and the data as they were. Later: both as of the common point, since the truncate-after point is on the disk, to
/// which a start cuts the log before it replays it over the last stable checkpoint. What the engine does lies between
/// and needs no order: it only takes data back to a time that no checkpoint is ahead of.
///
/// After a failure of `goBack` (but ObjectIsBusy) or `replay` the data are of no time at all: the node must end.
class StorageRollback {
 public:
  /// All outlive it. `services` name the pool of sessions and nothing that would wait: no locks, tickets and slots.
  struct Parts {
    Catalog& catalog;
    OplogStore& log;
    TruncateAfterPoint& end;
    ReplicatedWrites& writes;
    OperationServices services;
  };
  /// `common`: the entry that becomes the newest one, which the log holds.
  StorageRollback(Parts parts, bson::Timestamp common) : parts_(parts), common_(common) {}

  /// Puts in doubt what the undone entries have counted, writes the collections' sizes, makes the new end of the log
  /// durable, and closes the catalog. Errors: IllegalOperation, when there is no stable time, or the common point is
  /// before it; those of the engine. Until it has succeeded nothing is changed but the notes of the end and of doubts.
  Status takeDown();
  /// Rolls the engine back and cuts the log; slots and visible end are at the common point then. Errors: ObjectIsBusy
  /// (a transaction is still open: to be called again), those of the engine.
  Status goBack();
  /// Reads the catalog again, replays the log from the stable time on, and recounts what was touched. Errors: those of
  /// Catalog::reload and replayOplog.
  StatusWith<Replayed> replay(const std::function<void(const Replayed&)>& progress = {});

  /// From where the log is replayed; after `takeDown`.
  bson::Timestamp stable() const { return stable_; }

 private:
  const Parts parts_;
  const bson::Timestamp common_;
  bson::Timestamp stable_;
};

}  // namespace troupe::storage
