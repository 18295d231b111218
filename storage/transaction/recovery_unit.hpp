#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "storage/engine/engine.hpp"
#include "storage/transaction/session_pool.hpp"

namespace troupe::storage {

class OperationContext;

/// As of which time a unit reads (STX-001). On a node that stands alone the newest committed data are those of every
/// source but kProvided. A member of a replica set that does not know the time of kLastApplied or kMajority refuses the
/// snapshot (ReadConcernMajorityNotAvailableYet).
enum class ReadSource {
  kNoTimestamp,  ///< the newest committed data; on a member that applies batches those of the last whole one (REP-023)
  kProvided,     ///< a time named by the caller (`atClusterTime`)
  kLastApplied,  ///< the last operation applied on this node
  kMajority,     ///< the majority commit point
  kAllDurable,   ///< the newest time without holes before it: of reserved slots, where the node has an oplog
};

/// The times that replication publishes to readers; zero: not known yet. Any thread.
class ReadTimes {
 public:
  virtual ~ReadTimes() = default;
  virtual Timestamp lastApplied() const = 0;
  virtual Timestamp majority() const = 0;
};

/// State of a higher layer that is bound to a snapshot or to a unit of work, and destroyed with it: the catalog as the
/// snapshot sees it (catalog_view.hpp), the parts of a unit (UnitPart).
class BoundState {
 public:
  virtual ~BoundState() = default;
};
/// State that other layers attach to a unit of work; destroyed in this order when it has ended.
enum class UnitPart : uint8_t {
  kCatalogChanges,  ///< catalog_changes.hpp
  kOplogGroup,      ///< operations that its commit will log together: oplog_writer.hpp
  kSession,         ///< what it writes for a session: retryable_writes.hpp
  kDerivedRows,     ///< tables that it may write without slots: write_slots.hpp
  kReplication,     ///< its slots, and its right to write: write_slots.hpp
  kSizes,           ///< what it adds to the sizes of tables: record_store.cpp
};

/// How the operations of a unit of work enter the log of a replica set.
enum class UnitLogging : uint8_t {
  kEach,     ///< each at its own time, with an entry of its own
  kGrouped,  ///< together, at the time of the commit, in one `applyOps` entry (OPL-013)
};

/// One operation's view of storage: a leased session, at most one engine transaction with snapshot isolation, and the
/// handlers of its write unit of work. The transaction begins with the first access, or by `begin` (STX-004), and ends
/// with `abandonSnapshot`, the outermost unit of work, or the recovery unit. Writes go through a WriteUnitOfWork; what
/// was written outside of one is rolled back (STX-002).
/// Used by one thread at a time. Cursor leases and units of work must end before it.
class RecoveryUnit {
 public:
  /// `times` may be null on a node without replication and must outlive the unit.
  explicit RecoveryUnit(SessionPool& pool, const ReadTimes* times = nullptr) : pool_(pool), times_(times) {}
  ~RecoveryUnit();
  RecoveryUnit(const RecoveryUnit&) = delete;
  RecoveryUnit& operator=(const RecoveryUnit&) = delete;

  /// The operation that works with this unit; null only in tests of the lower layers. Observers of writes reach
  /// session, statement and write mode through it.
  OperationContext* operation() const { return operation_; }
  void setOperation(OperationContext* operation) { operation_ = operation; }

  /// Chooses what the next snapshot reads; `provided` goes with kProvided. IllegalOperation while a snapshot is open.
  Status setReadSource(ReadSource source, std::optional<Timestamp> provided = std::nullopt);
  ReadSource readSource() const { return source_; }
  /// The time of kProvided.
  std::optional<Timestamp> providedTime() const { return provided_; }
  /// The time the open snapshot reads at; nothing when it reads the newest data or no snapshot is open.
  std::optional<Timestamp> readTimestamp() const { return readTimestamp_; }
  /// Up to which time the open snapshot holds the oplog without holes: the visibility point before it was opened
  /// (TRN-008). Nothing on a node without an oplog.
  std::optional<Timestamp> oplogEnd() const { return oplogEnd_; }
  /// Reads through prepared transactions from the next snapshot on.
  void setIgnorePrepare(bool ignore) { ignorePrepare_ = ignore; }

  /// Opens the snapshot now. SnapshotTooOld when the wanted time is older than the history kept.
  Status begin() { return active_ ? Status::OK() : beginSlow(); }
  bool isActive() const { return active_; }
  /// A cursor in the current snapshot.
  StatusWith<Session::CursorLease> cursor(const Table& table) {
    TROUPE_TRY(begin());
    return session_->cursor(table);
  }
  /// A cursor for writing. IllegalOperation outside of a unit of work.
  StatusWith<Session::CursorLease> writeCursor(const Table& table);
  /// Removes from <= key < to (empty: to the end). IllegalOperation outside of a unit of work.
  Status truncate(const Table& table, std::string_view from, std::string_view to);

  /// Ends the snapshot so that the next access sees newer data; open cursors lose their position.
  /// Must not be called within a unit of work (throws std::logic_error).
  void abandonSnapshot();
  /// Also gives the session back to the pool, as before a long wait.
  void releaseSession();

  bool inUnitOfWork() const { return depth_ > 0; }
  /// A unit of work is open within another one.
  bool inNestedUnit() const { return depth_ > 1; }
  /// The unit of work has promised to commit.
  bool isPrepared() const { return prepared_; }
  UnitLogging unitLogging() const { return unitLogging_; }
  /// Called before each write to the table. IllegalOperation outside of a unit of work. Throws BrokenInvariant on a
  /// member of a replica set when the table is replicated and the write has neither a slot nor a given time.
  Status writable(const Table& table);
  /// Writes that follow carry this commit time (IllegalOperation outside of a unit of work).
  Status setCommitTimestamp(Timestamp ts);
  std::optional<Timestamp> commitTimestamp() const { return commitTimestamp_; }

  using CommitHandler = std::function<void(std::optional<Timestamp> commitTime)>;
  using RollbackHandler = std::function<void()>;
  /// Handlers of the outermost unit of work (STX-005): after the engine has committed they run in the order of
  /// registration, after a rollback in reverse order, both before the unit is left, thus with the operation's locks
  /// still held. They must not throw nor write. Registered outside of a unit of work they throw std::logic_error.
  void onCommit(CommitHandler handler);
  void onRollback(RollbackHandler handler);
  /// Both sides of one change of memory.
  void onChange(CommitHandler commit, RollbackHandler rollback);
  /// Handlers of a change that others read: `commit` runs before those of `onCommit`, which find it published
  /// (CAT-012).
  void onPublish(CommitHandler commit, RollbackHandler rollback);
  /// Runs before the engine commits the outermost unit, in the order of registration, and may write. A failure rolls
  /// the unit back and is the outcome of its commit; a prepared unit has promised to commit, so there it throws
  /// std::logic_error.
  using PreCommitHandler = std::function<Status(std::optional<Timestamp> commitTime)>;
  void onPreCommit(PreCommitHandler handler);

  /// Bound to the open snapshot (std::logic_error without one); destroyed when the snapshot ends, also on a yield.
  void bindToSnapshot(std::unique_ptr<BoundState> state);
  BoundState* snapshotState() const { return snapshotState_.get(); }
  /// Bound to the unit of work (std::logic_error outside of one); destroyed after its handlers have run.
  void bindToUnit(UnitPart part, std::unique_ptr<BoundState> state);
  BoundState* unitState(UnitPart part) const { return unitStates_[static_cast<size_t>(part)].get(); }

  SessionPool& pool() const { return pool_; }

 private:
  friend class WriteUnitOfWork;
  struct Change {
    CommitHandler commit;
    RollbackHandler rollback;
  };

  Status beginSlow();
  /// Whether the newest data may be the inside of a batch. An applier's own reads and units of work see it.
  bool readsWholeBatches() const;
  BeginOptions beginOptions() const;
  void enterUnit(UnitLogging logging) {
    if (++depth_ == 1) unitLogging_ = logging;
  }
  Status commitUnit();
  Status prepareUnit(Timestamp prepareTs);
  Status commitPreparedUnit(Timestamp commitTs, Timestamp durableTs);
  void abortPreparedUnit(Timestamp abortTs);
  void rollbackUnit();
  Status runPreCommit();
  Status finishCommit(Status outcome);
  void leaveUnit();
  void endTransaction();

  SessionPool& pool_;
  const ReadTimes* times_;
  OperationContext* operation_ = nullptr;
  SessionLease session_;
  ReadSource source_ = ReadSource::kNoTimestamp;
  std::optional<Timestamp> provided_;
  std::optional<Timestamp> readTimestamp_;
  std::optional<Timestamp> oplogEnd_;
  std::optional<Timestamp> commitTimestamp_;
  bool ignorePrepare_ = false;
  bool active_ = false;
  bool wrote_ = false;  ///< something since the unit of work began
  bool prepared_ = false;
  PreparedTimes::Id preparedId_ = 0;  ///< if it is
  bool failed_ = false;               ///< an inner unit was rolled back: the outer ones cannot commit
  UnitLogging unitLogging_ = UnitLogging::kEach;
  int depth_ = 0;
  std::vector<PreCommitHandler> preCommit_;
  std::vector<Change> publications_;
  std::vector<Change> changes_;
  std::unique_ptr<BoundState> snapshotState_;
  std::array<std::unique_ptr<BoundState>, 6> unitStates_;  ///< by UnitPart
};

}  // namespace troupe::storage
