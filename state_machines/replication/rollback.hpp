#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "messaging/clock/op_time.hpp"
#include "state_machines/core/machine.hpp"

namespace troupe::replication {

// What a rollback hears. All of it is local to the node.

/// The fetcher: the newest entry of this node is not in the log of its source (OplogStartMissing, RBK-001).
struct Diverged {
  machines::NodeName source;
};
struct FollowingStopped {};
/// The newest entry that both logs have. `newest`: of the own log; `committed`: the stable point, which no rollback may
/// go behind, and not the commit point alone where the data on the disk are later.
struct CommonPointFound {
  OpTime common, newest, committed;
  int64_t undone = 0;  ///< entries behind it
};
/// The logs share no entry.
struct NothingInCommon {};
/// The source could not be read, or fetcher and applier not be stopped: nothing has been changed yet.
struct SourceFailed {};
/// The state is ROLLBACK, and no operation is left that reads or writes data.
struct OperationsEnded {};
/// This node is, or stands as, primary: the others follow its log.
struct RoleTaken {};
struct UndoneSaved {};
struct StorageTakenDown {};
struct StorageRolledBack {};
struct LogReplayed {};
struct RollbackOver {};
/// What was begun cannot be ended (RBK-015).
struct RollbackFailed {
  std::string why;
  bool mayPass = false;  ///< another start may get further: a step failed, and not for what the logs say
};

// What it has done on its node.

/// No more entries are fetched, all that was fetched is applied, and builds of indexes have ended (RBK-003).
struct StopFollowing {};
struct FindCommonPoint {
  machines::NodeName source;
};
struct EnterRollback {};
/// Writes the documents that are undone into files.
struct SaveUndone {
  OpTime common;
};
/// Background work pauses, the global lock is exclusive, the end of the log is noted on the disk, the catalog closed.
struct TakeStorageDown {
  OpTime common;
};
/// The engine goes back to its stable time, the log is cut.
struct RollStorageBack {
  OpTime common;
};
/// The catalog is read again and the log replayed from the stable time to the common point.
struct ReplayLog {
  OpTime common;
};
/// Times are reset, sessions invalidated, storage is up again, the state is SECONDARY.
struct EndRollback {
  OpTime common;
};
/// Fetches again, if this node follows.
struct GoOnFollowing {};
/// Ends the node: its data must not be served.
struct GiveUp {
  std::string why;
  bool mayPass = false;  ///< of the failure
};

/// Takes a member back to the newest entry that its log shares with another member's (RBK-001 to RBK-018).
/// docs/protocols/rollback.md tells it as a story.
///
/// The document is the rollback id alone. It moves, durably, before anything is undone, and with a start whose log may
/// have lost its end: who reads this node's log twice under one id has read one history. All else is found again: a
/// node that dies before its log is cut has the log and the data it had, and will diverge again; one that dies later
/// has a log that ends at the common point, and its start replays that log over the data of the last stable checkpoint,
/// which are older.
struct Rollback : machines::Machine<Rollback> {
  static constexpr const char* kName = "rollback";

  enum class Phase : int32_t {
    kFollowing,
    kStopping,
    kComparing,
    kEntering,
    kSaving,
    kTakingDown,
    kRollingBack,
    kReplaying,
    kEnding,
    kFailed,
  };
  static constexpr auto kPhases = machines::phases<Phase>(
      {{Phase::kFollowing, "following", "its log is that of its set, as far as it knows"},
       {Phase::kStopping, "stopping", "fetcher, applier and builds of indexes end what they do"},
       {Phase::kComparing, "comparing", "it reads both logs backwards to the newest entry that they share"},
       {Phase::kEntering, "entering", "its state becomes ROLLBACK, its operations are ended"},
       {Phase::kSaving, "saving", "the documents that will be undone are written into files"},
       {Phase::kTakingDown, "taking down", "background work pauses, the catalog is closed"},
       {Phase::kRollingBack, "rolling back", "the engine goes back to the stable time, the log is cut"},
       {Phase::kReplaying, "replaying", "the log is carried out again up to the common point"},
       {Phase::kEnding, "ending", "times are reset and storage is up again; then it is SECONDARY"},
       {Phase::kFailed, "failed", "the node ends: its data are not those of its set"}});

  struct Document {
    std::string id = "rollbackId";
    int64_t rollbackId = 1;  ///< RBK-005: as replSetGetRBID shows it
    bool operator==(const Document&) const = default;
  };

  /// Fields that mean nothing in a phase have their defaults in it.
  struct Memory {
    Phase phase = Phase::kFollowing;
    machines::NodeName source;
    OpTime common, newest, committed;
    int64_t undone = 0;
    int64_t idBefore = 0;  ///< the rollback id under which the entries were read that go
    bool operationsEnded = false;
    bool saved = false;
    std::string why;  ///< failed
    bool operator==(const Memory&) const = default;
  };

  using Event = std::variant<Diverged, FollowingStopped, CommonPointFound, NothingInCommon, SourceFailed,
                             OperationsEnded, RoleTaken, UndoneSaved, StorageTakenDown, StorageRolledBack, LogReplayed,
                             RollbackOver, RollbackFailed>;
  using Action = std::variant<StopFollowing, FindCommonPoint, EnterRollback, SaveUndone, TakeStorageDown,
                              RollStorageBack, ReplayLog, EndRollback, GoOnFollowing, GiveUp>;

  static const machines::Transitions<Rollback>& transitions();
  /// It begins as one that follows, whatever it died in.
  static machines::Step<Rollback> resume(const Document& document);
  static std::vector<machines::Invariant> invariants();
  /// "history of NODE under rollback id I": the point behind which its log was cut under the next one.
  static void facts(const machines::NodeName& node, const machines::Snapshot<Rollback>& now, machines::Facts& facts);
};

/// Whether the node's storage is not to be used, or its log not to be read.
bool isUndoing(Rollback::Phase phase);
/// Whether going back to the common point would lose what is committed or stable. Both are points of this node's own
/// log, where times grow alone. Of what is stable after a start the term is not known until the commit point is.
bool losesCommitted(const OpTime& common, const OpTime& committed);

}  // namespace troupe::replication

TROUPE_DESCRIBE(troupe::replication::Diverged, 0, source)
TROUPE_DESCRIBE(troupe::replication::FollowingStopped, 0)
TROUPE_DESCRIBE(troupe::replication::CommonPointFound, 0, common, newest, committed, undone)
TROUPE_DESCRIBE(troupe::replication::NothingInCommon, 0)
TROUPE_DESCRIBE(troupe::replication::SourceFailed, 0)
TROUPE_DESCRIBE(troupe::replication::OperationsEnded, 0)
TROUPE_DESCRIBE(troupe::replication::RoleTaken, 0)
TROUPE_DESCRIBE(troupe::replication::UndoneSaved, 0)
TROUPE_DESCRIBE(troupe::replication::StorageTakenDown, 0)
TROUPE_DESCRIBE(troupe::replication::StorageRolledBack, 0)
TROUPE_DESCRIBE(troupe::replication::LogReplayed, 0)
TROUPE_DESCRIBE(troupe::replication::RollbackOver, 0)
TROUPE_DESCRIBE(troupe::replication::RollbackFailed, 0, why, mayPass)
TROUPE_DESCRIBE(troupe::replication::StopFollowing, 0)
TROUPE_DESCRIBE(troupe::replication::FindCommonPoint, 0, source)
TROUPE_DESCRIBE(troupe::replication::EnterRollback, 0)
TROUPE_DESCRIBE(troupe::replication::SaveUndone, 0, common)
TROUPE_DESCRIBE(troupe::replication::TakeStorageDown, 0, common)
TROUPE_DESCRIBE(troupe::replication::RollStorageBack, 0, common)
TROUPE_DESCRIBE(troupe::replication::ReplayLog, 0, common)
TROUPE_DESCRIBE(troupe::replication::EndRollback, 0, common)
TROUPE_DESCRIBE(troupe::replication::GoOnFollowing, 0)
TROUPE_DESCRIBE(troupe::replication::GiveUp, 0, why, mayPass)
TROUPE_DESCRIBE(troupe::replication::Rollback::Memory, 0, phase, source, common, newest, committed, undone, idBefore,
                operationsEnded, saved, why)
TROUPE_MACHINE(troupe::replication::Rollback, 1, id, rollbackId)
