#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "messaging/clock/op_time.hpp"
#include "state_machines/core/machine.hpp"
#include "state_machines/replication/sync_source.hpp"

namespace troupe::replication {

// Commands of this node.

/// The fetcher: this member has no data, and the log of its source does not go back to the beginning of the set; or its
/// data are of no use to the set. Answered by the actor, with Done, when the member has those of another one; with
/// NodeNotFound when nobody could be the source and its data are still there, as they were.
struct BeginInitialSync {};

// Reports of the actor around the machine.

/// The state is STARTUP2: nobody takes this node for a member with data.
struct StartupEntered {};
struct DataReset {};
/// Where the log of the source is, read before anything was cloned. `beginFetching`: the oldest entry of a transaction
/// that was open, or else `beginApplying`; `beginApplying`: its newest entry. The own log has the entry of
/// `beginFetching`.
struct BeginningFound {
  OpTime beginFetching, beginApplying;
  int64_t rollbackId = 0;  ///< of the source
};
struct DataCloned {};
/// The newest entry of the source, read when all was cloned.
struct EndFound {
  OpTime stop;
};
/// The own log has all entries up to `newest`, which is not before the stop time; nothing more is fetched.
struct LogFetched {
  OpTime newest;
  int64_t rollbackId = 0;  ///< of the source, after the last entry was read
};
struct LogApplied {
  OpTime applied;
};
/// A checkpoint holds all of the data.
struct DataSafe {};
/// The attempt cannot go on: its source is gone, or what came of it cannot be used.
struct AttemptFailed {
  std::string why;
};
/// Nothing of the attempt is under way any more.
struct AttemptEnded {};
/// The member is what it was before, with the data that it had.
struct DataKept {};

// Timers.

/// Nobody could be the source: looks again.
struct LookDue {};
/// The pause between two attempts is over.
struct AttemptDue {};

// Actions of the actor around the machine.

struct EnterStartup {};
/// Tell what is known of the set, with this member's newest entry: answered by Candidates.
struct LookForSource {};
/// Drops everything that is replicated, then the log.
struct ResetData {};
struct FindBeginning {
  NodeName source;
};
/// Fetches the log into the own one, beyond its visible end, until the attempt ends or FetchUpTo says where to stop.
/// Heard of only when it fails.
struct FetchLog {
  NodeName source;
  OpTime from;
};
/// Copies databases, collections and documents, stamped with `at`.
struct CloneData {
  NodeName source;
  OpTime at;
};
struct FindEnd {
  NodeName source;
};
/// Answered by LogFetched.
struct FetchUpTo {
  NodeName source;
  OpTime stop;
};
/// Carries out the own log behind `after`, to its end `to`.
struct ApplyLog {
  OpTime after, to;
};
/// The data begin at `at`: tells storage, and takes a checkpoint.
struct MakeDataSafe {
  OpTime at;
};
/// The attempt is over: what is under way for it ends. Answered by AttemptEnded.
struct EndAttempt {};
/// The state is SECONDARY, and the member follows from `at` on: answered by StartupLeft.
struct LeaveStartup {
  OpTime at;
};
struct StartupLeft {};
/// Nothing was dropped: the state is what it was, and the member follows others again. Answered by DataKept.
struct KeepData {};
/// Ends the node: it has no data to serve, and no hope of any.
struct GiveUpSync {
  std::string why;
};

/// Gives a member without data those of another one (ISY-001 to ISY-020). docs/protocols/initial-sync.md tells it as a
/// story.
///
/// The document is a mark: a sync is under way. It is durable before anything is dropped, but not before there is a
/// source, for the data of a member that was too stale may be the last ones; it goes, durably, when a checkpoint holds
/// all of the copy. A node that finds it at a start takes its data for nothing, and begins anew.
///
/// What is copied while it changes is of no time at all. The log makes it one: it is fetched from before the first
/// document was read, and carried out over the copy up to an entry that is newer than the last document read.
struct InitialSync : machines::Machine<InitialSync> {
  static constexpr const char* kName = "initial-sync";
  static constexpr int32_t kMostAttempts = 10;               ///< numInitialSyncAttempts
  static constexpr int32_t kMostLooks = 10;                  ///< for a source, while the member has its data
  static constexpr machines::Millis kLookPause{1000};        ///< between two looks for a source
  static constexpr machines::Millis kPauseOfAttempts{1000};  ///< before the next attempt

  enum class Phase : int32_t {
    kIdle,
    kEntering,
    kChoosing,
    kResetting,
    kBeginning,
    kCloning,
    kFindingEnd,
    kFetching,
    kApplying,
    kMakingSafe,
    kLeaving,
    kEnding,
    kPausing,
    kReturning,
    kFailed,
  };
  static constexpr auto kPhases = machines::phases<Phase>(
      {{Phase::kIdle, "idle", "the member has its data, or knows of none to copy"},
       {Phase::kEntering, "entering", "its state becomes STARTUP2"},
       {Phase::kChoosing, "choosing", "it looks for a source among the members"},
       {Phase::kResetting, "resetting", "all that is replicated is dropped, and its log cut to nothing"},
       {Phase::kBeginning, "beginning", "it asks the source from where on its log has to be fetched"},
       {Phase::kCloning, "cloning", "databases are copied, while the source's log is fetched"},
       {Phase::kFindingEnd, "finding the end", "it asks the source up to where the log has to be carried out"},
       {Phase::kFetching, "fetching", "the last entries of the log up to there are fetched"},
       {Phase::kApplying, "applying", "the log is carried out over what was copied"},
       {Phase::kMakingSafe, "making safe", "the data begin at the stop time; a checkpoint writes them to the disk"},
       {Phase::kLeaving, "leaving", "the mark is gone; its state becomes SECONDARY"},
       {Phase::kEnding, "ending", "an attempt has failed, and what is under way for it ends"},
       {Phase::kPausing, "pausing", "the next attempt is due in a moment"},
       {Phase::kReturning, "returning", "no source was found, and nothing dropped: its state becomes what it was"},
       {Phase::kFailed, "failed", "the node ends: too many attempts have failed"}});

  struct Document {
    std::string id = "initialSync";
    bool isUnderWay = false;
    int32_t attempt = 0;  ///< attempts begun, those of earlier lives of the node included
    /// Where the last copy ended: its data are of that time or later, there is no way back before it.
    std::optional<OpTime> copied;
    bool operator==(const Document&) const = default;
  };

  /// Fields that mean nothing in a phase have their defaults in it.
  struct Memory {
    Phase phase = Phase::kIdle;
    machines::NodeName source;  ///< of the attempt
    int32_t looks = 0;          ///< choosing: that found no source, while the data are there
    bool isReset = false;       ///< nothing is left of what was there before the attempt
    bool isCloned = false;
    OpTime beginFetching, beginApplying;      ///< cloning and later
    OpTime stop;                              ///< fetching and later
    OpTime applied;                           ///< making safe and later
    int64_t rollbackId = 0;                   ///< cloning and later: of the source, before anything was cloned
    int64_t rollbackIdAtEnd = 0;              ///< applying and later
    int32_t failed = 0;                       ///< attempts of this life of the node
    std::set<machines::NodeName> failedWith;  ///< sources that others are preferred to
    std::string why;                          ///< of the last failure; idle: that it keeps its data
    bool operator==(const Memory&) const = default;
  };

  using Event = std::variant<BeginInitialSync,  // commands
                             StartupEntered, Candidates, DataReset, BeginningFound, DataCloned, EndFound, LogFetched,
                             LogApplied, DataSafe, StartupLeft, AttemptFailed, AttemptEnded, DataKept,  // reports
                             LookDue, AttemptDue>;                                                      // timers
  using Action = std::variant<EnterStartup, LookForSource, ResetData, FindBeginning, FetchLog, CloneData, FindEnd,
                              FetchUpTo, ApplyLog, MakeDataSafe, EndAttempt, LeaveStartup, KeepData, GiveUpSync>;

  static const machines::Transitions<InitialSync>& transitions();
  static machines::Step<InitialSync> resume(const Document& document);
  static std::vector<machines::Invariant> invariants();
  /// "attempt N of NODE" is kept, or given up.
  static void facts(const machines::NodeName& node, const machines::Snapshot<InitialSync>& now, machines::Facts& facts);
};

/// Whether the member's data are not to be served, nor its log to be read or fetched by anybody else.
bool isSyncing(const machines::Snapshot<InitialSync>& now);

}  // namespace troupe::replication

TROUPE_DESCRIBE(troupe::replication::BeginInitialSync, 0)
TROUPE_DESCRIBE(troupe::replication::StartupEntered, 0)
TROUPE_DESCRIBE(troupe::replication::DataReset, 0)
TROUPE_DESCRIBE(troupe::replication::BeginningFound, 0, beginFetching, beginApplying, rollbackId)
TROUPE_DESCRIBE(troupe::replication::DataCloned, 0)
TROUPE_DESCRIBE(troupe::replication::EndFound, 0, stop)
TROUPE_DESCRIBE(troupe::replication::LogFetched, 0, newest, rollbackId)
TROUPE_DESCRIBE(troupe::replication::LogApplied, 0, applied)
TROUPE_DESCRIBE(troupe::replication::DataSafe, 0)
TROUPE_DESCRIBE(troupe::replication::StartupLeft, 0)
TROUPE_DESCRIBE(troupe::replication::AttemptFailed, 0, why)
TROUPE_DESCRIBE(troupe::replication::AttemptEnded, 0)
TROUPE_DESCRIBE(troupe::replication::DataKept, 0)
TROUPE_DESCRIBE(troupe::replication::LookDue, 0)
TROUPE_DESCRIBE(troupe::replication::AttemptDue, 0)
TROUPE_DESCRIBE(troupe::replication::EnterStartup, 0)
TROUPE_DESCRIBE(troupe::replication::LookForSource, 0)
TROUPE_DESCRIBE(troupe::replication::ResetData, 0)
TROUPE_DESCRIBE(troupe::replication::FindBeginning, 0, source)
TROUPE_DESCRIBE(troupe::replication::FetchLog, 0, source, from)
TROUPE_DESCRIBE(troupe::replication::CloneData, 0, source, at)
TROUPE_DESCRIBE(troupe::replication::FindEnd, 0, source)
TROUPE_DESCRIBE(troupe::replication::FetchUpTo, 0, source, stop)
TROUPE_DESCRIBE(troupe::replication::ApplyLog, 0, after, to)
TROUPE_DESCRIBE(troupe::replication::MakeDataSafe, 0, at)
TROUPE_DESCRIBE(troupe::replication::EndAttempt, 0)
TROUPE_DESCRIBE(troupe::replication::LeaveStartup, 0, at)
TROUPE_DESCRIBE(troupe::replication::KeepData, 0)
TROUPE_DESCRIBE(troupe::replication::GiveUpSync, 0, why)
TROUPE_DESCRIBE(troupe::replication::InitialSync::Memory, 0, phase, source, looks, isReset, isCloned, beginFetching,
                beginApplying, stop, applied, rollbackId, rollbackIdAtEnd, failed, failedWith, why)
TROUPE_MACHINE(troupe::replication::InitialSync, 1, id, isUnderWay, attempt, copied)
