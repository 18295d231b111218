#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "state_machines/core/machine.hpp"
#include "state_machines/replication/topology_messages.hpp"

namespace troupe::replication {

using machines::Durability;
using machines::Effect;
using machines::Snapshot;
using machines::Step;

/// The last vote of a node. It never votes twice in a term, restarts included.
struct LastVote {
  int64_t term = 0;
  NodeName candidate;
  bool operator==(const LastVote&) const = default;
};

/// A node's view of another member.
struct MemberView {
  NodeName host;
  MemberState state = MemberState::kUnknown;
  int64_t term = 0;
  OpTime applied, durable;
  NodeName source;  ///< the member it fetches from, as it says; empty: none
  ConfigVersion config;
  /// Over which distances something was heard of it within the election timeout: 0 is from itself, 1 from someone who
  /// heard from it, and so on. A report from a distance stands for one from the next distance only, so that rumours
  /// die.
  std::set<int32_t> heard;
  bson::Date electedAt;  ///< as primary, as it says; zero: not known
  std::string refusal;   ///< why its last answer refused this node's heartbeat; empty: it did not, or nothing is there

  bool isAlive() const { return !heard.empty(); }
  /// It is well, as far as is known: others may have heard of it within the election timeout although the connection to
  /// it is lost, and a primary counts members as there before it has heard of them.
  bool isUp() const { return isAlive() && state != MemberState::kDown && state != MemberState::kUnknown; }
  bool operator==(const MemberView&) const = default;
};

enum class ElectionReason : int32_t {
  kElectionTimeout,
  kPriorityTakeover,
  kCatchUpTakeover,
  kStepUpCommand,
  kHandoff,
  kOnlyVoter
};

/// A conditional step-down that waits for secondaries to catch up.
struct StepDownAttempt {
  bool force = false;
  Millis stepDownPeriod{};
  bool handoff = true;
  bool writesEnded = false;  ///< what the node has applied is all that others have to catch up with
  int32_t number = 0;        ///< of this leader's attempts
  bool operator==(const StepDownAttempt&) const = default;
};

/// A former primary looks for a member that takes over at once.
struct Handoff {
  NodeName asked;                ///< it may be about to stand
  std::set<NodeName> unwilling;  ///< they may not stand, or are out of reach
  bool operator==(const Handoff&) const = default;
};

/// What the source of a follower that cannot reach the primary itself says about it.
struct Hearsay {
  NodeName primary;
  bool isBelieved = false;  ///< it was named twice since it went out of reach here: this node does not stand
  bool operator==(const Hearsay&) const = default;
};

/// A change of the config that is under way.
struct ConfigChange {
  enum class Stage : int32_t {
    kChecking,   ///< initiating: all members have to answer
    kAsking,     ///< new members are asked whether they are there, and of this set
    kClaiming,   ///< a majority has to hold the present config in this primary's term
    kSpreading,  ///< installed; a majority has to hold it
  };
  Stage stage = Stage::kChecking;
  ReplicaSetConfig next;
  bool operator==(const ConfigChange&) const = default;
};

/// The topology machine of one member of a replica set: heartbeats, elections, step-downs, the config.
/// docs/protocols/elections.md tells it as a story; the rules are in the files beside this one, by concern.
///
/// It knows no time. Freshness is a timer that is armed anew (LivenessTimeout, ElectionTimeout), and equal situations
/// are equal values, so that all of them can be visited.
///
/// The actor around it
/// - makes the first document ({self, setName}) when there is none, and resumes the machine;
/// - feeds messages, timers and commands, and reports `AppliedAdvanced` after the start if there are operations;
/// - answers `CatchUp` and `Drain` (a node without replicated data: at once, `CatchUpDone` and `DrainDone`), and, while
///   it leads, `InstallConfig`;
/// - shows `stateOf`, `isWritable`, `primaryOf` and the snapshot in `hello` and replSetGetStatus.
struct Topology : machines::Machine<Topology> {
  static constexpr const char* kName = "topology";

  enum class Phase : int32_t {
    kStartup,
    kInitiating,
    kRemoved,
    kArbiter,
    kFollower,
    kDryRun,
    kCandidate,
    kCatchingUp,
    kDraining,
    kPrimary,
    kSteppingDown,
  };
  static constexpr auto kPhases = machines::phases<Phase>(
      {{Phase::kStartup, "startup", "the node has no config and waits for one"},
       {Phase::kInitiating, "initiating", "it was given the first config and asks whether all its members are there"},
       {Phase::kRemoved, "removed", "the config does not name this node"},
       {Phase::kArbiter, "arbiter", "it votes, and never stands"},
       {Phase::kFollower, "follower", "it follows a primary, or waits for one"},
       {Phase::kDryRun, "dry run", "it asks whether it would be elected; its term is still the old one"},
       {Phase::kCandidate, "candidate", "it has voted for itself in a new term and asks the others"},
       {Phase::kCatchingUp, "catching up", "it is elected and fetches what others have; no writes yet"},
       {Phase::kDraining, "draining", "it applies what it has fetched; no writes yet"},
       {Phase::kPrimary, "primary", "it leads the set and takes writes"},
       {Phase::kSteppingDown, "stepping down", "it leads, refuses writes, and waits for others to catch up"}});

  struct Document {
    NodeName self;        ///< this node's name in the config
    std::string setName;  ///< of the set it was started for
    LastVote lastVote;
    std::optional<ReplicaSetConfig> config;
    bool founder =
        false;  ///< replSetInitiate gave it the first config: the set's data are its own, and its log is the first
    /// Of the set that its config is of; unknown without one.
    ReplicaSetId replicaSetId() const { return config ? config->settings.replicaSetId : std::nullopt; }
    bool operator==(const Document&) const = default;
  };

  /// Fields that mean nothing in a phase have their defaults in it.
  struct Memory {
    Phase phase = Phase::kStartup;
    int64_t term = 0;
    OpTime applied, durable;
    NodeName source;                          ///< the member whose log it fetches; empty: none
    std::vector<MemberView> members;          ///< the others, in the order of the config
    std::optional<ElectionReason> standing;   ///< while it stands: why
    std::set<NodeName> granted, refused;      ///< while it stands: answers of voters
    std::set<NodeName> awaited;               ///< initiating, catching up, asking new members: those yet to answer
    OpTime target;                            ///< catching up: the newest operation that answers told of
    std::optional<StepDownAttempt> stepDown;  ///< stepping down
    int32_t stepDowns = 0;                    ///< leading: attempts so far
    std::optional<Handoff> handoff;           ///< following, until somebody stands
    std::optional<Hearsay> hearsay;           ///< following, standing
    bson::Date electedAt;                     ///< leading: when, by this node's clock
    std::optional<OpTime> inUseFrom;          ///< leading: the config is in use, and what may have been committed under
                                              ///< earlier ones ends there; absent: it is not in use yet
    std::optional<ConfigChange> change;       ///< of which replSetInitiate or replSetReconfig is open
    bool frozen = false;                      ///< it does not stand until FreezeOver
    bool maintenance = false;                 ///< it is RECOVERING to others, and does not stand
    bool tooStale = false;                    ///< the same: nobody has the entries that it lacks
    bool rollingBack = false;                 ///< it is in ROLLBACK, and does not stand
    bool copyingData = false;  ///< as a follower it is in STARTUP2, and does not stand; also of arbiters, which may
                               ///< become members with data
    bool ownData = false;      ///< without a config: it holds data, and joins no set
    bool priorityTakeover = false;  ///< PriorityTakeoverDue is armed
    bool catchUpTakeover = false;   ///< CatchUpTakeoverDue is armed
    bool operator==(const Memory&) const = default;
  };

  using Event =
      std::variant<HeartbeatRequest, HeartbeatReply, VoteRequest, VoteReply, StepUpRequest, StepUpRefusal,  // messages
                   ElectionTimeout, HeartbeatDue, LivenessTimeout, PriorityTakeoverDue, CatchUpTakeoverDue,
                   CatchUpRoundOver, CatchUpTimeout, StepDownDeadline, FreezeOver, MembersDeadline,
                   ReconfigDeadline,                                                                     // timers
                   Initiate, Reconfig, StepDown, StepUp, Freeze, Maintenance, RollingBack, CopyingData,  // commands
                   OwnData, AppliedAdvanced, MemberAdvanced, MembersHeard, Elected, WritesEnded, CatchUpDone, DrainDone,
                   ConfigInUse, Unreachable, TermHeard>;  // reports
  using Message =
      std::variant<HeartbeatRequest, HeartbeatReply, VoteRequest, VoteReply, StepUpRequest, StepUpRefusal, Done>;
  using Action = std::variant<AnnounceRole, InterruptOperations, RefuseWrites, AcceptWrites, InstallConfig, CatchUp,
                              Drain, Conclude>;

  static const machines::Transitions<Topology>& transitions();
  /// State of the node's data that its document does not tell. At no moment it passes for a secondary meanwhile.
  struct AtStart {
    /// The node has no data of its set, or half of them. As a follower it is in STARTUP2 until its initial sync is
    /// over. A node that founds a set has the set's data.
    bool lacksData = false;
    /// A rollback is under way, which outlives this machine. As a follower it is in ROLLBACK until RollingBack{false}.
    bool rollsBack = false;
    /// Nobody has the entries that it lacks. As a follower it is RECOVERING until that has ended.
    bool tooStale = false;
    /// In which its positions are reported: they outlive this machine, which is in no earlier term.
    int64_t newestTerm = 0;
  };
  static Step<Topology> resume(const Document& document) { return resume(document, AtStart{}); }
  static Step<Topology> resume(const Document& document, const AtStart& atStart);
  static std::vector<machines::Invariant> invariants();
  /// "leader of term T" is a node; "vote of NODE in term T" is a candidate.
  static void facts(const NodeName& node, const Snapshot<Topology>& now, machines::Facts& facts);
};

/// Elected, and not stepped down since.
bool leads(Topology::Phase phase);
/// The node's state as others see it.
MemberState stateOf(const Snapshot<Topology>& now);
/// Whether it takes writes.
bool isWritable(const Snapshot<Topology>& now);
/// The primary of its term, as far as it knows: itself, or a member that said so within the election timeout; empty:
/// nobody.
NodeName primaryOf(const Snapshot<Topology>& now);
/// Whether it hears of a majority of the voters, itself included.
bool seesMajority(const Snapshot<Topology>& now);
/// Whether a term may be what somebody says (isPlausible of roles.hpp).
bool isPlausibleTerm(const Snapshot<Topology>& now, int64_t term);

}  // namespace troupe::replication

TROUPE_DESCRIBE(troupe::replication::LastVote, 0, term, candidate)
TROUPE_DESCRIBE(troupe::replication::MemberView, 0, host, state, term, applied, durable, source, config, heard,
                electedAt, refusal)
TROUPE_DESCRIBE(troupe::replication::StepDownAttempt, 0, force, stepDownPeriod, handoff, writesEnded, number)
TROUPE_DESCRIBE(troupe::replication::Handoff, 0, asked, unwilling)
TROUPE_DESCRIBE(troupe::replication::Hearsay, 0, primary, isBelieved)
TROUPE_DESCRIBE(troupe::replication::ConfigChange, 0, stage, next)
TROUPE_DESCRIBE(troupe::replication::Topology::Memory, 0, phase, term, applied, durable, source, members, standing,
                granted, refused, awaited, target, stepDown, stepDowns, handoff, hearsay, electedAt, inUseFrom, change,
                frozen, maintenance, tooStale, rollingBack, copyingData, ownData, priorityTakeover, catchUpTakeover)
TROUPE_ENUM(troupe::replication::ElectionReason, (kElectionTimeout, "electionTimeout"),
            (kPriorityTakeover, "priorityTakeover"), (kCatchUpTakeover, "catchupTakeover"),
            (kStepUpCommand, "stepUpRequest"), (kHandoff, "stepUpRequestSkipDryRun"),
            (kOnlyVoter, "singleNodePromptElection"))
TROUPE_ENUM(troupe::replication::ConfigChange::Stage, (kChecking, "checking"), (kAsking, "asking"),
            (kClaiming, "claiming"), (kSpreading, "spreading"))
TROUPE_MACHINE(troupe::replication::Topology, 1, self, setName, lastVote, config, founder)
