#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/engine/deterministic_engine.hpp"

namespace troupe::storage::deterministic {

inline constexpr Timestamp kNoTime{};

/// A transaction as the rows it wrote know it. Shared by its session and its updates.
struct Txn {
  enum class State { kActive, kPrepared, kCommitted };
  State state = State::kActive;
  uint64_t sequence = 0;  ///< place in the order of commits and preparations, once it has one
  uint64_t snapshot = 0;  ///< commits up to this one are visible
  std::optional<Timestamp> readTimestamp;
  bool ignorePrepare = false;
  Timestamp prepareTimestamp;
  Timestamp firstCommitTimestamp;
  Timestamp commitTimestamp;  ///< carried by the writes that follow
};

/// One version of a row; without a value, its removal.
struct Update {
  std::shared_ptr<Txn> txn;
  Timestamp timestamp;  ///< zero: visible at every time
  std::shared_ptr<const std::string> value;
  /// From when on a stable checkpoint holds it; later than `timestamp` only for a prepared transaction.
  Timestamp durable{};
};

/// The versions of a row, the newest last.
using Row = std::vector<Update>;

struct TableState {
  uint32_t id = 0;
  TableOptions options;
  std::map<std::string, Row, std::less<>> rows;
  int cursors = 0;                                        ///< open ones, also cached: the table cannot be dropped
  uint64_t changed = 0;                                   ///< sequence of the last commit that wrote here
  std::map<std::string, std::string, std::less<>> image;  ///< unlogged: the rows at the last checkpoint
  uint64_t imageOf = 0;                                   ///< the sequence which the last checkpoint covered
  bool imageComplete = true;                              ///< whether that checkpoint left nothing out as unstable
};

/// Outcome of reading a row.
enum class Visible { kNothing, kValue, kPreparedConflict };

/// Everything in memory. Sessions hold it too, so that they may outlive a crashed engine.
struct State {
  bool closed = false;
  uint64_t sequence = 0;  ///< of the last commit
  uint64_t flushed = 0;   ///< commits up to this one are in the durable log
  bool backup = false;    ///< one is open: no table can be dropped
  Timestamp stable, oldest, newestDurable, recovery, checkpointStable;
  std::shared_ptr<PreparedDecisions> decisions;
  std::map<std::string, std::unique_ptr<TableState>, std::less<>> tables;
  std::vector<std::weak_ptr<Txn>> active;
  uint32_t nextTable = 1;
  EngineStatistics statistics;

  TableState* find(const Table& table);
  /// The version of `row` that `reader` sees; `value` is set when it is one.
  static Visible visible(const Row& row, const Txn& reader, const std::string** value);
  /// Whether `writer` may put a new version on top of the row.
  static bool mayWrite(const Row& row, const Txn& writer);
  /// Drops versions that no present or future reader can see, nor a crash or a rollback can need.
  void trim(TableState& table, Row& row);
  void trimAll();
  /// Forgets transactions that have ended, and returns the others.
  std::vector<std::shared_ptr<Txn>> activeTransactions();
  Timestamp allDurable();
  /// The newest version committed up to `sequence` and, when given, not after `stable`.
  static const Update* newest(const Row& row, uint64_t sequence, std::optional<Timestamp> stable);
  void writeImage(TableState& table, bool useStable);
  DeterministicDisk disk() const;
};

}  // namespace troupe::storage::deterministic
