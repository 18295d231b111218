#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/types.hpp"
#include "messaging/errors/status.hpp"
#include "storage/engine/prepared_decisions.hpp"

namespace troupe::storage {

using bson::Timestamp;

/// A table as callers name it: the ident is the durable name ("collection-7-8723..."), the id a small number unique
/// within this open engine by which sessions cache cursors. Value type; obtained from Engine::openTable.
struct Table {
  std::string ident;
  uint32_t id = 0;
  /// Its rows belong to a replicated collection: on a member of a replica set they are written within reserved slots
  /// only (storage/oplog/write_slots.hpp). Set by the catalog; the engine does not look at it.
  bool replicated = false;
  /// The node cannot serve anybody without it (users, state of replication, the catalog): its file may be opened beyond
  /// the limit of open tables. Set by the catalog.
  bool essential = false;
};

struct TableOptions {
  /// Logged tables recover to their last flushed commit; unlogged ones to the last stable checkpoint.
  bool logged = true;
  /// "none", "snappy" or "zlib".
  std::string blockCompressor = "snappy";
  bool essential = false;  ///< as Table::essential, for its creation
  /// Kept with the table and returned by `tableMetadata`, e.g. "formatVersion=1".
  std::string appMetadata;
};

/// A position in one table within the session's transaction. Keys and values are bytes, ordered as memcmp orders
/// them; a key is never empty (nothing is found there, writing it is BadValue). Key and value are borrowed and valid
/// until the next call on this cursor or the end of the transaction. Used only by the thread that currently runs the
/// session's operation. Errors of all calls: WriteConflict (another transaction changed the row; roll back and retry),
/// its kin under cache pressure, TemporarilyUnavailable and TransactionTooLargeForCache (STX-007, STX-009),
/// PreparedTransactionInProgress (a prepared transaction wrote the row; see Engine::preparedDecisions), InternalError
/// (engine panic).
class Cursor {
 public:
  virtual ~Cursor() = default;
  /// Positions exactly on `key`; false when there is none (the cursor is then unpositioned).
  virtual StatusWith<bool> seek(std::string_view key) = 0;
  /// Positions on the first row at or after `key`; false at the end.
  virtual StatusWith<bool> seekAtOrAfter(std::string_view key) = 0;
  /// Positions on the last row at or before `key`; false at the beginning.
  virtual StatusWith<bool> seekAtOrBefore(std::string_view key) = 0;
  /// Moves one row; from an unpositioned cursor `next` starts at the first row and `previous` at the last.
  virtual StatusWith<bool> next() = 0;
  virtual StatusWith<bool> previous() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  // Writes need a transaction (else IllegalOperation). `update` and `remove` of the row the cursor stands on keep the
  // place: next and previous go on from there. After any other write the cursor is unpositioned. Arguments may point
  // into the cursor's own key and value.
  /// Adds a row; DuplicateKey when the key exists.
  virtual Status insert(std::string_view key, std::string_view value) = 0;
  /// Adds or replaces a row.
  virtual Status put(std::string_view key, std::string_view value) = 0;
  /// Replaces a row; NoSuchKey when there is none.
  virtual Status update(std::string_view key, std::string_view value) = 0;
  /// Removes a row; NoSuchKey when there is none.
  virtual Status remove(std::string_view key) = 0;
  /// Gives the position up (and the page it pins).
  virtual void reset() = 0;
};

struct BeginOptions {
  std::optional<Timestamp> readTimestamp;  ///< read as of this time; else the newest committed data
  bool roundUpReadTimestamp = false;       ///< an older time than `oldest` reads at `oldest` instead of failing
  bool ignorePrepare = false;              ///< read through prepared transactions; it cannot write (BadValue)
};

/// One transaction at a time over any number of tables, always with snapshot isolation. A session may move between
/// threads when used by one at a time. Closing it rolls back. Obtained from Engine::openSession, usually through the
/// pool (storage/transaction).
class Session {
 public:
  virtual ~Session() = default;
  /// SnapshotTooOld when the read timestamp is older than the oldest one; IllegalOperation in a transaction.
  virtual Status begin(const BeginOptions& options = {}) = 0;
  /// When it fails the transaction has been rolled back.
  virtual Status commit() = 0;
  virtual void rollback() = 0;
  virtual bool inTransaction() const = 0;
  /// Writes that follow carry this commit time (may be called again with a later one).
  /// BadValue when it is not newer than the stable time, or older than the transaction's first.
  virtual Status setCommitTimestamp(Timestamp ts) = 0;
  /// Afterwards only commitPrepared and rollback are allowed (else IllegalOperation). The transaction must not have a
  /// commit timestamp and must not have written a logged table.
  virtual Status prepare(Timestamp prepareTs) = 0;
  virtual Status commitPrepared(Timestamp commitTs, Timestamp durableTs) = 0;
  /// A cursor of this session, cached between uses; released (reset and returned to the cache) when the lease ends.
  /// NoSuchKey when the table does not exist.
  struct Release {
    Session* session = nullptr;
    uint32_t table = 0;
    void operator()(Cursor* cursor) const {
      if (session) session->releaseCursor(table, cursor);
    }
  };
  using CursorLease = std::unique_ptr<Cursor, Release>;
  virtual StatusWith<CursorLease> cursor(const Table& table) = 0;
  /// Removes all rows with from <= key < to, as one operation of the transaction (empty `to` means to the end).
  virtual Status truncate(const Table& table, std::string_view from, std::string_view to) = 0;
  /// Closes cached cursors of a table, so that it can be dropped.
  virtual void forgetTable(const Table& table) = 0;

 protected:
  virtual void releaseCursor(uint32_t table, Cursor* cursor) = 0;
};

struct CheckpointOptions {
  /// Unlogged tables as of the stable time, when one is set. After a full one (false) this holds only once everything
  /// in that is stable: pages that nobody changes since are not written again. A full one that gets its turn when the
  /// data have a time (Engine::initialDataTimestamp) is a stable one: an initial sync has ended while it waited. While
  /// data are copied (Engine::beginCopy) each is a full one.
  bool stable = true;
};

/// Whether writes to one table are to be logged; for Engine::setLogged.
struct TableLogging {
  std::string ident;
  bool logged = true;
};

/// A copy of the database in the making (BKP-001, BKP-002). Until it is destroyed it pins what it lists: the checkpoint
/// and the log files stay, tables cannot be dropped, while writes and checkpoints go on. Destroy it before the engine.
/// One thread at a time.
class Backup {
 public:
  virtual ~Backup() = default;
  /// Absolute paths of the files to copy; empty on the in-memory engine, whose copy is DeterministicEngine::backupDisk.
  virtual const std::vector<std::string>& files() const = 0;
  /// Stable time of the checkpoint in the copy, from which its unlogged tables recover; zero when it was a full one.
  virtual Timestamp checkpointTimestamp() const = 0;
  /// The log files as of now: copied too, they carry logged tables of the copy further than the start of the backup.
  virtual StatusWith<std::vector<std::string>> logFiles() = 0;
};

/// A check of the blocks of one table as its last checkpoint left them on the disk, made from there and not from the
/// engine's cache, in steps, beside readers and writers. A damaged block is found before a read of it ends the engine.
/// Destroy it before the engine. One thread at a time.
class BlockCheck {
 public:
  virtual ~BlockCheck() = default;
  /// Reads about `bytes` more (*blocks*); true when the table has been read, or was dropped. DataCorruptionDetected
  /// names the file, the place and the finding; the check then has ended. Other errors: those of reading files.
  virtual StatusWith<bool> step(int64_t bytes) = 0;
  virtual int64_t bytesRead() const = 0;
  virtual int64_t blocksRead() const = 0;
};

/// Rows for an empty table, in the order of their keys: much faster than transactions, for data that are made as a
/// whole. They have no time, and are there once `finish` has succeeded; what is left unfinished may leave some of them.
/// Nobody else may use the table until then, but checkpoints go on, without it. Destroy it before the engine. One
/// thread at a time; all calls *block*.
class BulkLoad {
 public:
  virtual ~BulkLoad() = default;
  /// BadValue for a key that is not greater than the one before.
  virtual Status add(std::string_view key, std::string_view value) = 0;
  /// The last call.
  virtual Status finish() = 0;
};

/// Figures of the engine for serverStatus and the admin page; bytes and counts since it was opened.
struct EngineStatistics {
  int64_t cacheBytesInUse = 0;
  int64_t cacheBytesDirty = 0;
  int64_t cacheBytesMax = 0;
  int64_t logSyncs = 0;
  int64_t logBytesWritten = 0;
  int64_t checkpoints = 0;
  int64_t lastCheckpointMillis = 0;
  int64_t transactionsBegun = 0;
  int64_t transactionsCommitted = 0;
  int64_t transactionsRolledBack = 0;
  int64_t openTables = 0;         ///< files that are open, a handful of the engine's own among them
  int64_t openTablesLimit = 0;    ///< 0: none
  int64_t openTablesRefused = 0;  ///< times a table was not opened because of it
};

/// Tables of bytes with snapshot transactions, a log and checkpoints. Two implementations pass one contract suite:
/// WiredTiger, and a deterministic in-memory one with exact crash semantics for the simulator. All members may be
/// called from any thread. Those marked *blocks* wait for the disk: call them on a detached actor or a tool's own
/// thread only.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual StatusWith<std::unique_ptr<Session>> openSession() = 0;

  /// Creates the table (schema changes are not transactional; IDX and CAT order their steps accordingly).
  /// NamespaceExists when there is one.
  virtual StatusWith<Table> createTable(std::string_view ident, const TableOptions& options) = 0;
  /// NoSuchKey when there is none.
  virtual StatusWith<Table> openTable(std::string_view ident) = 0;
  /// ObjectIsBusy while cursors (also cached ones, see Session::forgetTable) or readers use it; may be ObjectIsBusy
  /// while it has unflushed changes: retry after a checkpoint.
  virtual Status dropTable(std::string_view ident) = 0;
  virtual std::vector<std::string> listTables() = 0;
  virtual StatusWith<std::string> tableMetadata(std::string_view ident) = 0;
  virtual int64_t tableBytes(const Table& table) = 0;
  /// Bytes within the table's file that hold nothing and are kept for new blocks.
  virtual int64_t freeBytes(const Table& table) = 0;
  /// Begins to fill a table (*blocks*). ObjectIsBusy where it is in use; IllegalOperation for one that is logged, whose
  /// rows a recovery would lack, or that is not empty.
  virtual StatusWith<std::unique_ptr<BulkLoad>> bulkLoad(const Table& table) = 0;
  /// Moves blocks towards the beginning of the table's file and gives its free end back to the file system, for about a
  /// second (*blocks*). True when there is nothing more to gain; otherwise it goes on with the next call. Checkpoints
  /// and backups wait for it meanwhile, readers and writers do not. ObjectIsBusy under cache pressure, and while data
  /// are copied.
  virtual StatusWith<bool> compactTable(const Table& table) = 0;
  /// Checks a table's blocks and structure (*blocks*). ObjectIsBusy as for dropTable.
  virtual Status verifyTable(std::string_view ident) = 0;
  /// Begins a check of what is on the disk of a table. On the in-memory engine it is done at once: there is no disk.
  virtual std::unique_ptr<BlockCheck> checkBlocks(std::string_view ident) = 0;
  /// Rescues what is readable of a damaged table (*blocks*).
  virtual Status salvageTable(std::string_view ident) = 0;

  /// Makes all commits so far durable (*blocks*).
  virtual Status flushLog() = 0;
  /// Writes a checkpoint (*blocks*) and returns the stable time it holds: zero for a full one, or when no stable time
  /// is set.
  virtual StatusWith<Timestamp> checkpoint(const CheckpointOptions& options = {}) = 0;
  /// Stable time of the newest complete checkpoint, also of one that was recovered; zero when that was a full one.
  virtual Timestamp lastCheckpointTimestamp() = 0;
  /// Changes whether writes to tables are logged, when a node starts in another role. Tables that are as wanted cost
  /// nothing; otherwise it ends with a checkpoint, after which the change survives (*blocks*; nothing else may run).
  /// The data stay. ObjectIsBusy while cursors are open, NoSuchKey.
  virtual Status setLogged(std::span<const TableLogging> wanted) = 0;
  virtual StatusWith<bool> isLogged(std::string_view ident) = 0;

  /// Moving back is ignored. BadValue for zero, and when oldest would be newer than stable. After an open that
  /// recovered a stable checkpoint both are its time: no older history exists.
  virtual Status setStableTimestamp(Timestamp ts) = 0;
  virtual Status setOldestTimestamp(Timestamp ts) = 0;
  /// The newest time below which no commit is still open.
  virtual Timestamp allDurableTimestamp() = 0;
  virtual Timestamp stableTimestamp() = 0;
  virtual Timestamp oldestTimestamp() = 0;
  /// Stable time of the checkpoint that was recovered at open; zero when none.
  virtual Timestamp recoveryTimestamp() = 0;
  /// Takes unlogged tables back to the stable time (*blocks*; nothing else may run).
  virtual Status rollbackToStable() = 0;

  /// The time from which on the data are consistent; zero before and during initial sync, and on a node without
  /// replication, unless its data are those that a member has left: their time is kept. Set by replication, read when a
  /// checkpoint is taken (CKP-002 to 004).
  void setInitialDataTimestamp(Timestamp ts) { initialData_.store(ts.asUint64(), std::memory_order_release); }
  Timestamp initialDataTimestamp() const { return Timestamp::fromUint64(initialData_.load(std::memory_order_acquire)); }
  /// The data are copied anew, and have no time until it is set again. Meanwhile each checkpoint is a full one, also
  /// that of `close`, and no table is compacted: as of the time of the data before, rows would come back whose tables
  /// have been dropped.
  void beginCopy() {
    setInitialDataTimestamp({});
    hasBegunCopy_.store(true, std::memory_order_release);
  }
  bool isCopying() const {
    return hasBegunCopy_.load(std::memory_order_acquire) && initialDataTimestamp() == Timestamp{};
  }

  /// Where operations wait that met a prepared transaction.
  PreparedDecisions& preparedDecisions() { return *preparedDecisions_; }

  /// Begins a consistent copy. ObjectIsBusy while there is another.
  virtual StatusWith<std::unique_ptr<Backup>> beginBackup() = 0;

  virtual EngineStatistics statistics() = 0;
  virtual std::string version() const = 0;
  /// Checkpoints and closes; sessions must be gone (*blocks*).
  virtual Status close() = 0;

 protected:
  /// Whether a checkpoint that is taken now is as of the stable time.
  bool isStable(const CheckpointOptions& options) const {
    return initialDataTimestamp() != Timestamp{} || (options.stable && !isCopying());
  }

  /// Shared with sessions, which may outlive a crashed engine.
  const std::shared_ptr<PreparedDecisions> preparedDecisions_ = std::make_shared<PreparedDecisions>();

 private:
  std::atomic<uint64_t> initialData_{0};
  std::atomic<bool> hasBegunCopy_{false};
};

}  // namespace troupe::storage
