#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "state_machines/core/machine.hpp"
#include "state_machines/replication/sync_source.hpp"
#include "state_machines/replication/topology_messages.hpp"

namespace troupe::replication {

using machines::Effect;
using machines::Snapshot;
using machines::Step;

/// Why a source is not asked for a while.
enum class Denial : int32_t {
  kFailed,    ///< it gave an error; may pass in an instant
  kUnusable,  ///< its log cannot be, or lacks what this member's data need, or is another branch of a new primary's
  kBehind,    ///< it has less than this member
  kTooNew,    ///< its log begins behind this member's newest entry
  kSilent,    ///< it gave nothing, not even an answer, though another member leads, or this one is about to
};

// Reports of the actor around the machine.

/// The ends of a source's log, as reading it gave them (REP-007 to REP-010).
struct Probed {
  NodeName source;
  OpTime oldest, newest;
  int64_t rollbackId = 0;
  bool hasRequiredEntry = true;  ///< it has the entry up to which this member's data are inconsistent, if there is one
};
struct ProbeFailed {
  NodeName source;
  std::string why;
};

/// How a fetch came to its end.
enum class FetchEnd : int32_t {
  kUnfit,       ///< whyToChangeSource said so (REP-034)
  kBroken,      ///< the cursor or the way to the source broke (REP-016)
  kBehind,      ///< it has no entry from this member's newest one on (REP-013)
  kDiverged,    ///< its first entry is not the newest one of this member (REP-014)
  kTooNew,      ///< its log begins behind this member's newest entry by now
  kRolledBack,  ///< it has rolled back since it was probed (REP-010, REP-017)
  kDamaged,     ///< its entries are no log: out of order, or not to be read
  kClosed,      ///< the buffer was closed or emptied by somebody else
};
struct FetchEnded {
  NodeName source;
  FetchEnd how = FetchEnd::kBroken;
  bool progressed = false;  ///< entries were fetched before it ended
  std::string why;          ///< for people
};
/// Nothing has come from the source for more than `kSilence`, or for `kLongSilence` while the end of its log was not
/// reached; in a catch-up no entry has come for `kLongSilence`. Said again while that lasts.
struct SourceSilent {
  NodeName source;
  NodeName primary;  ///< that is known now; empty: none
};
/// No fetch is under way, and nothing more will be pushed; the answer to EndFetch.
struct FetchIsOver {
  bool progressed = false;  ///< entries were fetched before it ended
};
struct RollbackEnded {};
struct InitialSyncEnded {};
/// There was no source to copy, and this member's data are what they were.
struct InitialSyncGivenUp {};

// Commands of this node.

/// The set or this member's view of it has changed: looks again.
struct SetChanged {};
/// Fetches from now on, as a secondary does. Answered with Done.
struct Follow {};
/// Fetches what others have, as a new primary does, up to `target` at least. Answered with Done.
struct CatchUpTo {
  OpTime target;
  int64_t term = 0;  ///< in which it leads
};
/// Fetches no more. Answered by the actor, with Done, when nothing more will be pushed.
struct StopFetching {};
/// replSetSyncFrom, checked by checkRequestedSource: the next choice falls on that member (REP-003). Answered with
/// PreviousSource, or refused with NotSecondary.
struct SyncFrom {
  NodeName host;
};
/// An operator has a member that is too stale copy all data anew (ISY-020). Answered with Done when that has begun, or
/// refused with NotSecondary.
struct Resync {};
struct PreviousSource {
  NodeName host;  ///< empty: there was none
};

// Timers.

/// Nobody could be the source: looks again (REP-006).
struct RetryDue {};
struct DenialOver {
  NodeName host;
};
/// A probe has not been answered for `kSilence`, or in a catch-up for `kLongSilence`; looked at twice.
struct ProbeOverdue {};
/// A catch-up began `kLongSilence` ago, or its last fetch that gave entries ended then.
struct PatienceOver {};

// Actions of the actor around the machine.

/// Tell what is known of the set: answered by Candidates. `opens`: if the buffer is closed, what is in it is applied
/// first, but for what a delayed member has to fetch again later, and it is opened again, empty.
struct LookAround {
  bool opens = false;
};
/// Read the ends of its log and its rollback id: answered by Probed or ProbeFailed.
struct Probe {
  NodeName source;
};
/// Fetch into the buffer what the source has, from this member's newest entry on; with an empty log of its own from the
/// first entry of the set. Ends with FetchEnded. `requested`: an operator asked for the source.
struct Fetch {
  NodeName source;
  int64_t rollbackId = 0;  ///< as probed
  bool requested = false;
  Mission mission = Mission::kFollow;
};
/// Answered by FetchIsOver, once the fetch that was given up has ended.
struct EndFetch {};
/// Nothing more may be pushed; the applier comes to an end with what is there.
struct CloseBuffer {};
/// Apply what is in the (closed) buffer, and take back what this member and the source do not have in common; answered
/// by RollbackEnded.
struct RollBack {
  NodeName source;
};
/// Copy all data of another member; answered by InitialSyncEnded, or by InitialSyncGivenUp.
struct NeedInitialSync {};
/// A new primary finds nobody, time and again, who has what it lacks: that member has gone, or failed as a source, or
/// is on another branch of history, and a primary does not go back. What it has was never acknowledged by a majority,
/// and the primary leads on without it. Performed with each such look, for what comes of it may be lost.
struct EndCatchUp {
  int64_t term = 0;  ///< of the catch-up: by the time it is done the node may catch up in a later one
};
/// Be RECOVERING to others, or no longer (REP-011, OPL-016).
struct SetMaintenance {
  bool on = false;
};

/// Decides from whom a member fetches the log of its set, and what a source's answers mean.
/// docs/protocols/fetching.md tells it as a story.
///
/// It knows no time, and sees no entries: the actor around it (actors/replication/oplog_fetcher.hpp) reads them, checks
/// that each follows the one before, and says how the fetch ended. There is never more than one fetch: a new one begins
/// when the last one has said that it is over.
struct Fetching : machines::Machine<Fetching> {
  static constexpr const char* kName = "fetching";
  /// How often a broken cursor is opened again before its source is given up (REP-016).
  static constexpr int kMostRestarts = 3;
  static constexpr Millis kRetryPause{1000};  // REP-006
  /// A source that is well sends an empty batch each second to a reader of its log's end.
  static constexpr Millis kSilence{2000};
  /// One that is far behind may take long for a batch. A new primary waits as long for what it would lead without.
  static constexpr Millis kLongSilence{10'000};
  /// A process that was stopped finds its timers due before it has read what has come.
  static constexpr Millis kSecondLook{500};
  /// Looks without a source after which a new primary does not catch up any further. It asks nobody again that was
  /// silent, or two of them would hold it by turns for ever; one that failed it asks again while its patience lasts.
  static constexpr int32_t kFruitlessLooks = 2;
  static Millis denialOf(Denial why);

  enum class Phase : int32_t {
    kIdle,
    kChoosing,
    kProbing,
    kFetching,
    kEnding,
    kDiverged,
    kTooStale,
    kNeedsInitialSync,
  };
  static constexpr auto kPhases = machines::phases<Phase>(
      {{Phase::kIdle, "idle", "the node does not follow anyone: it has no config, leads, or drains"},
       {Phase::kChoosing, "choosing", "it looks for a source among the members"},
       {Phase::kProbing, "probing", "it reads the ends of the source's log"},
       {Phase::kFetching, "fetching", "it fetches the source's log as it grows"},
       {Phase::kEnding, "ending", "the fetch was told to end and has not yet"},
       {Phase::kDiverged, "diverged", "its newest entry is not in the source's log: it is rolled back"},
       {Phase::kTooStale, "too stale",
        "every source has forgotten what it would need next: it waits for an operator: `resync`"},
       {Phase::kNeedsInitialSync, "needs initial sync",
        "it copies the data of another member: it has none, or was too stale"}});

  /// Outlives the actor, not the process.
  struct Document {
    NodeName self;
    Mission mission = Mission::kNothing;
    OpTime target;             ///< catching up: fetches that far at least
    int64_t term = 0;          ///< catching up: in which it leads
    bool maintenance = false;  ///< it has put the node into maintenance mode
    bool operator==(const Document&) const = default;
  };
  struct Memory {
    Phase phase = Phase::kIdle;
    NodeName source;                    ///< probing, fetching, ending, diverged, needs initial sync: of whom
    OpTime own;                         ///< its newest entry when it chose
    OpTime oldest;                      ///< fetching: where the source's log began when it was probed
    int64_t rollbackId = 0;             ///< fetching: of the source
    int32_t restarts = 0;               ///< fetching: of the cursor, since it last gave something
    NodeName requested;                 ///< the next source, as an operator asked; empty: none
    bool isRequested = false;           ///< the present source was asked for
    bool isOverdue = false;             ///< probing: the time for the answer is over, which is looked at once more
    bool isPulling = false;             ///< a fetch has begun and has not said that it is over
    std::map<NodeName, Denial> denied;  ///< until their DenialOver
    NodeName lastResort;              ///< follows: was silent, and is asked again since there is no other; empty: none
    std::map<NodeName, Denial> left;  ///< catching up: sources that are not asked again in this catch-up
    bool isImpatient = false;         ///< catching up: since PatienceOver, a source that fails is left
    NodeName primary;                 ///< when it looked last; empty: none was known
    int32_t fruitless = 0;            ///< choosing, to catch up: looks that found no source, at most kFruitlessLooks
    bool operator==(const Memory&) const = default;
  };

  using Event = std::variant<Candidates, Probed, ProbeFailed, FetchEnded, SourceSilent, FetchIsOver, RollbackEnded,
                             InitialSyncEnded, InitialSyncGivenUp,                           // reports
                             SetChanged, Follow, CatchUpTo, StopFetching, SyncFrom, Resync,  // commands
                             RetryDue, DenialOver, ProbeOverdue, PatienceOver>;              // timers
  using Message = std::variant<PreviousSource, Done>;
  using Action = std::variant<LookAround, Probe, Fetch, EndFetch, CloseBuffer, RollBack, NeedInitialSync, EndCatchUp,
                              SetMaintenance>;

  static const machines::Transitions<Fetching>& transitions();
  static Step<Fetching> resume(const Document& document);
  static std::vector<machines::Invariant> invariants();
};

/// Why the fetch should end and another source be chosen; empty: it should not. The fetch asks before each batch
/// (REP-034).
std::string whyToChange(const Snapshot<Fetching>& now, const Candidates& known);
/// The member it fetches from, and shows as syncSourceHost; empty: none.
NodeName syncSourceOf(const Snapshot<Fetching>& now);
/// Whether what a look finds decides about the next source: the buffer is opened for it.
bool looksForSource(Fetching::Phase phase);
/// Whether entries may still be pushed into the buffer.
bool mayPush(Fetching::Phase phase);

}  // namespace troupe::replication

TROUPE_ENUM(troupe::replication::Denial, (kFailed, "failed"), (kUnusable, "unusable"), (kBehind, "behind"),
            (kTooNew, "too new"), (kSilent, "silent"))
TROUPE_ENUM(troupe::replication::FetchEnd, (kUnfit, "unfit"), (kBroken, "broken"), (kBehind, "behind"),
            (kDiverged, "diverged"), (kTooNew, "too new"), (kRolledBack, "rolled back"), (kDamaged, "damaged"),
            (kClosed, "closed"))
TROUPE_DESCRIBE(troupe::replication::Probed, 0, source, oldest, newest, rollbackId, hasRequiredEntry)
TROUPE_DESCRIBE(troupe::replication::ProbeFailed, 0, source, why)
TROUPE_DESCRIBE(troupe::replication::FetchEnded, 0, source, how, progressed, why)
TROUPE_DESCRIBE(troupe::replication::SourceSilent, 0, source, primary)
TROUPE_DESCRIBE(troupe::replication::FetchIsOver, 0, progressed)
TROUPE_DESCRIBE(troupe::replication::RollbackEnded, 0)
TROUPE_DESCRIBE(troupe::replication::InitialSyncEnded, 0)
TROUPE_DESCRIBE(troupe::replication::InitialSyncGivenUp, 0)
TROUPE_DESCRIBE(troupe::replication::SetChanged, 0)
TROUPE_DESCRIBE(troupe::replication::Follow, 0)
TROUPE_DESCRIBE(troupe::replication::CatchUpTo, 0, target, term)
TROUPE_DESCRIBE(troupe::replication::StopFetching, 0)
TROUPE_DESCRIBE(troupe::replication::SyncFrom, 0, host)
TROUPE_DESCRIBE(troupe::replication::Resync, 0)
TROUPE_DESCRIBE(troupe::replication::PreviousSource, 0, host)
TROUPE_DESCRIBE(troupe::replication::RetryDue, 0)
TROUPE_DESCRIBE(troupe::replication::DenialOver, 0, host)
TROUPE_DESCRIBE(troupe::replication::ProbeOverdue, 0)
TROUPE_DESCRIBE(troupe::replication::PatienceOver, 0)
TROUPE_DESCRIBE(troupe::replication::LookAround, 0, opens)
TROUPE_DESCRIBE(troupe::replication::Probe, 0, source)
TROUPE_DESCRIBE(troupe::replication::Fetch, 0, source, rollbackId, requested, mission)
TROUPE_DESCRIBE(troupe::replication::EndFetch, 0)
TROUPE_DESCRIBE(troupe::replication::CloseBuffer, 0)
TROUPE_DESCRIBE(troupe::replication::RollBack, 0, source)
TROUPE_DESCRIBE(troupe::replication::NeedInitialSync, 0)
TROUPE_DESCRIBE(troupe::replication::EndCatchUp, 0, term)
TROUPE_DESCRIBE(troupe::replication::SetMaintenance, 0, on)
TROUPE_DESCRIBE(troupe::replication::Fetching::Memory, 0, phase, source, own, oldest, rollbackId, restarts, requested,
                isRequested, isOverdue, isPulling, denied, lastResort, left, isImpatient, primary, fruitless)
TROUPE_MACHINE(troupe::replication::Fetching, 1, self, mission, target, term, maintenance)
