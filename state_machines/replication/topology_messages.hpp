#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messaging/clock/op_time.hpp"
#include "messaging/description/message.hpp"
#include "messaging/errors/status.hpp"
#include "state_machines/replication/replica_set_config.hpp"
#include "state_machines/replication/set_identity.hpp"

/// Messages between the members of a replica set, and events that a member's topology machine gets from its own node.
namespace troupe::replication {

/// State of a member as others see it, with the numbers and names that `hello` and replSetGetStatus show.
enum class MemberState : int32_t {
  kStartup = 0,
  kPrimary = 1,
  kSecondary = 2,
  kRecovering = 3,
  kStartup2 = 5,
  kUnknown = 6,
  kArbiter = 7,
  kDown = 8,
  kRollback = 9,
  kRemoved = 10,
};

// Messages between members (REP-035, REP-036, REP-038, ELE-005, ELE-009). They may be lost, doubled and overtake each
// other. `replicaSetId` is the id of the sender's set: of a message from another set of the same name nothing counts.

/// A member's report about a third one, so that a member counts as alive as long as anyone hears of it.
struct Heard {
  NodeName host;
  int32_t distance = 0;  ///< 0: the sender heard from the member itself; 1: from another that did; ...
  OpTime applied;
  bool operator==(const Heard&) const = default;
};

/// A member's report about itself in each heartbeat.
struct Report {
  NodeName from;  ///< the sender, by its name in the config
  int64_t term = 0;
  ConfigVersion config;
  MemberState state = MemberState::kUnknown;
  OpTime applied;
  NodeName primary;           ///< the primary it knows; empty: none
  std::vector<Heard> others;  ///< the voters it hears of, itself and the receiver left out
  OpTime durable;             ///< it has on its disk
  NodeName source;            ///< the member it fetches from; empty: none
  bson::Date electedAt;       ///< a primary: when it was elected, by its own clock; zero: not told
  bool operator==(const Report&) const = default;
};

struct HeartbeatRequest {
  Report sender;
  NodeName to;  ///< how the sender calls the receiver: a node without a config learns its own name from it
  std::string setName;
  int64_t sentAt = 0;  ///< when, by the sender's clock, for the answer to bring back; set by the actor; 0: not told
  ReplicaSetId replicaSetId = {};
};

struct HeartbeatReply {
  Report sender;
  NodeName to;
  std::string setName;
  std::optional<ReplicaSetConfig> newer;  ///< the sender's config, if the other one has an older one
  Status refusal;                         ///< not OK: the heartbeat was not accepted, and nothing else in here counts
  int64_t sentAt = 0;                     ///< of the request
  ReplicaSetId replicaSetId = {};
};

struct VoteRequest {
  NodeName from;
  std::string setName;
  int64_t term = 0;  ///< in which it stands; for a dry run the one before
  ConfigVersion config;
  OpTime applied;
  bool dryRun = false;
  bool leaderless = false;  ///< it stands because it sees no primary
  ReplicaSetId replicaSetId = {};
};

struct VoteReply {
  NodeName from;
  int64_t term = 0;  ///< of the voter, after it has seen the request's
  bool dryRun = false;
  bool granted = false;
  std::string reason;  ///< why not
  ReplicaSetId replicaSetId = {};
};

/// A primary that steps down in this term asks the receiver to take over at once.
struct StepUpRequest {
  NodeName from;
  int64_t term = 0;
  ReplicaSetId replicaSetId = {};
};

/// The answer to a StepUpRequest of a member that may not stand: another one is to be asked.
struct StepUpRefusal {
  NodeName from;
  int64_t term = 0;  ///< of the request
  std::string why;
};

/// The answer to a command that succeeded.
struct Done {};

// Timers.

/// No primary was heard of for the election timeout, or an election takes that long.
struct ElectionTimeout {};
/// Another round of heartbeats is due.
struct HeartbeatDue {};
/// Nothing was heard of a member over that distance for the election timeout.
struct LivenessTimeout {
  NodeName host;
  int32_t distance = 0;
};
struct PriorityTakeoverDue {};
struct CatchUpTakeoverDue {};
/// The new primary no longer waits for answers to its first round of heartbeats.
struct CatchUpRoundOver {};
/// The new primary no longer waits for operations of the last one.
struct CatchUpTimeout {};
/// The time within which secondaries had to catch up for a step-down is over.
struct StepDownDeadline {};
/// A node may stand for election again.
struct FreezeOver {};
/// Members that were asked about a first config, or about the next one, had to answer by now.
struct MembersDeadline {};
/// A change of the config had to be over by now.
struct ReconfigDeadline {};

// Commands of operators. Each is answered once: by `Reply{Done}` or `Refuse` in the same step, or later by the action
// `Conclude`.

/// replSetInitiate.
struct Initiate {
  ReplicaSetConfig config;
  NodeName self;                ///< which of its hosts this node is
  bson::ObjectId replicaSetId;  ///< drawn for the new set
};
/// replSetReconfig.
struct Reconfig {
  ReplicaSetConfig config;
  bool force = false;
  int64_t versionJump = 10'000;  ///< drawn for a forced one, so that no two of them get the same version
  NodeName self = {};            ///< this node's name at present: a copy of a member may have been given another one
  Millis patience{};             ///< how long one without force may take; zero: as long as it takes
};
/// replSetStepDown.
struct StepDown {
  bool force = false;
  Millis stepDownPeriod{60'000};  ///< for which it won't stand again
  Millis catchUpPeriod{10'000};   ///< for which it waits until a majority has all it has
  bool handoff = true;            ///< the parameter enableElectionHandoff
};
/// replSetStepUp.
struct StepUp {
  bool skipDryRun = false;
};
/// replSetFreeze. Zero ends it.
struct Freeze {
  Millis period{};
};
/// replSetMaintenance; or the member's own: it is too stale to catch up. Each of the two ends what it has begun.
struct Maintenance {
  bool on = false;
  bool tooStale = false;
};
/// This node's rollback (rollback.hpp) begins, or is over: meanwhile it is in the state ROLLBACK and does not stand.
/// Refused (NotSecondary) by a node that stands or leads, whose log the others may have to follow.
struct RollingBack {
  bool on = false;
};
/// This node's initial sync (initial_sync.hpp) begins, or is over: meanwhile it is in the state STARTUP2 and does not
/// stand. Refused (NotSecondary) by a node that is no follower.
struct CopyingData {
  bool on = false;
};

// Reports of this node.

/// Whether a node without a config holds data of its own, as a standalone node that was started for a set does:
/// reported before it hears from members, for no set may take these data away from it.
struct OwnData {
  bool held = false;
};
/// The data layer has applied operations up to there; reported after a start too. The rest is passed on to the others
/// with heartbeats, and decides nothing here.
struct AppliedAdvanced {
  OpTime applied;
  OpTime durable;
  NodeName source;  ///< the member it fetches from; empty: none
  bool operator==(const AppliedAdvanced&) const = default;
};
/// Another member has reported what it has applied: told a node that leads, which need not wait for a heartbeat then.
struct MemberAdvanced {
  NodeName host;
  OpTime applied;
};
/// Members have reported their positions to this one, or to one that passes them on: signs of life, each over its
/// distance as this node sees it.
struct MembersHeard {
  std::vector<Heard> members;
};
/// This node was elected in that term, at that time by its clock. Only to be shown.
struct Elected {
  int64_t term = 0;
  bson::Date at;
};
/// The answer to `RefuseWrites`: no write of the term is under way any more, and this is the last one.
struct WritesEnded {
  int64_t term = 0;
  OpTime applied;
  int32_t attempt = 0;  ///< which was waited for: what one has found says nothing once writes were accepted again
};
/// The data layer has reached the target of `CatchUp`, or found that it can't.
struct CatchUpDone {
  int64_t term = 0;
};
/// The data layer has applied all that it had fetched.
struct DrainDone {
  int64_t term = 0;
};
/// The answer to `InstallConfig` on a node that leads: entries are counted by that config from now on. All that may
/// have been committed under an earlier one is not newer than `newest`.
struct ConfigInUse {
  ConfigVersion config;
  OpTime newest;
};
/// No connection can be made to a member just now.
struct Unreachable {
  NodeName host;
};
/// A member has reported its position in that term: in an earlier one no position counts any more
/// (ReplicationProgress).
struct TermHeard {
  int64_t term = 0;
};

// Actions of the actor around the machine on its node.

/// The node is something else to clients from now on.
struct AnnounceRole {
  MemberState state = MemberState::kUnknown;
  bool writable = false;
  int64_t term = 0;
  std::string why;  ///< for people; kStepDownCommand if an operator or a shutdown has asked for it
};
inline constexpr std::string_view kStepDownCommand = "replSetStepDown";
/// No operation that began under the old role may go on: kills those that conflict, aborts transactions that are not
/// prepared.
struct InterruptOperations {};
/// A step-down is being tried: new writes fail. Answered by `WritesEnded`.
struct RefuseWrites {
  int32_t attempt = 0;
};
/// Writes are welcome: a primary has come up (and writes down the begin of its term), or a step-down has failed.
struct AcceptWrites {
  int64_t term = 0;
};
/// The config has changed; it is persisted. A node that leads answers with `ConfigInUse`; it is asked once more where
/// an answer may have been lost.
struct InstallConfig {
  ReplicaSetConfig config;
};
/// Replicate up to the target from a member that has it; answered by `AppliedAdvanced` or `CatchUpDone`.
struct CatchUp {
  int64_t term = 0;
  OpTime target;
};
/// Apply the fetched operations and fetch no more; answered by `DrainDone`.
struct Drain {
  int64_t term = 0;
};

/// A command that may stay open for a while; of each kind at most one is.
enum class OpenCommand : int32_t { kInitiate, kReconfig, kStepDown, kStepUp };
/// The answer to the open command of that kind.
struct Conclude {
  OpenCommand command = OpenCommand::kInitiate;
  Status outcome;
};

}  // namespace troupe::replication

TROUPE_ENUM(troupe::replication::MemberState, (kStartup, "STARTUP"), (kPrimary, "PRIMARY"), (kSecondary, "SECONDARY"),
            (kRecovering, "RECOVERING"), (kStartup2, "STARTUP2"), (kUnknown, "UNKNOWN"), (kArbiter, "ARBITER"),
            (kDown, "DOWN"), (kRollback, "ROLLBACK"), (kRemoved, "REMOVED"))
TROUPE_ENUM(troupe::replication::OpenCommand, (kInitiate, "replSetInitiate"), (kReconfig, "replSetReconfig"),
            (kStepDown, "replSetStepDown"), (kStepUp, "replSetStepUp"))
TROUPE_DESCRIBE(troupe::replication::Heard, 0, host, distance, applied)
TROUPE_DESCRIBE(troupe::replication::Report, 0, from, term, config, state, applied, primary, others, durable, source,
                electedAt)
TROUPE_MESSAGE(troupe::replication::HeartbeatRequest, sender, to, setName, sentAt, replicaSetId)
TROUPE_MESSAGE(troupe::replication::HeartbeatReply, sender, to, setName, newer, refusal, sentAt, replicaSetId)
TROUPE_MESSAGE(troupe::replication::VoteRequest, from, setName, term, config, applied, dryRun, leaderless, replicaSetId)
TROUPE_MESSAGE(troupe::replication::VoteReply, from, term, dryRun, granted, reason, replicaSetId)
TROUPE_MESSAGE(troupe::replication::StepUpRequest, from, term, replicaSetId)
TROUPE_MESSAGE(troupe::replication::StepUpRefusal, from, term, why)
TROUPE_DESCRIBE(troupe::replication::Done, 0)
TROUPE_DESCRIBE(troupe::replication::ElectionTimeout, 0)
TROUPE_DESCRIBE(troupe::replication::HeartbeatDue, 0)
TROUPE_DESCRIBE(troupe::replication::LivenessTimeout, 0, host, distance)
TROUPE_DESCRIBE(troupe::replication::PriorityTakeoverDue, 0)
TROUPE_DESCRIBE(troupe::replication::CatchUpTakeoverDue, 0)
TROUPE_DESCRIBE(troupe::replication::CatchUpRoundOver, 0)
TROUPE_DESCRIBE(troupe::replication::CatchUpTimeout, 0)
TROUPE_DESCRIBE(troupe::replication::StepDownDeadline, 0)
TROUPE_DESCRIBE(troupe::replication::FreezeOver, 0)
TROUPE_DESCRIBE(troupe::replication::MembersDeadline, 0)
TROUPE_DESCRIBE(troupe::replication::ReconfigDeadline, 0)
TROUPE_DESCRIBE(troupe::replication::Initiate, 0, config, self, replicaSetId)
TROUPE_DESCRIBE(troupe::replication::Reconfig, 0, config, force, versionJump, self, patience)
TROUPE_DESCRIBE(troupe::replication::StepDown, 0, force, stepDownPeriod, catchUpPeriod, handoff)
TROUPE_DESCRIBE(troupe::replication::StepUp, 0, skipDryRun)
TROUPE_DESCRIBE(troupe::replication::Freeze, 0, period)
TROUPE_DESCRIBE(troupe::replication::Maintenance, 0, on, tooStale)
TROUPE_DESCRIBE(troupe::replication::RollingBack, 0, on)
TROUPE_DESCRIBE(troupe::replication::CopyingData, 0, on)
TROUPE_DESCRIBE(troupe::replication::OwnData, 0, held)
TROUPE_DESCRIBE(troupe::replication::AppliedAdvanced, 0, applied, durable, source)
TROUPE_DESCRIBE(troupe::replication::CatchUpDone, 0, term)
TROUPE_DESCRIBE(troupe::replication::DrainDone, 0, term)
TROUPE_DESCRIBE(troupe::replication::ConfigInUse, 0, config, newest)
TROUPE_DESCRIBE(troupe::replication::Unreachable, 0, host)
TROUPE_DESCRIBE(troupe::replication::TermHeard, 0, term)
TROUPE_DESCRIBE(troupe::replication::AnnounceRole, 0, state, writable, term, why)
TROUPE_DESCRIBE(troupe::replication::InterruptOperations, 0)
TROUPE_DESCRIBE(troupe::replication::RefuseWrites, 0, attempt)
TROUPE_DESCRIBE(troupe::replication::MemberAdvanced, 0, host, applied)
TROUPE_DESCRIBE(troupe::replication::MembersHeard, 0, members)
TROUPE_DESCRIBE(troupe::replication::Elected, 0, term, at)
TROUPE_DESCRIBE(troupe::replication::WritesEnded, 0, term, applied, attempt)
TROUPE_DESCRIBE(troupe::replication::AcceptWrites, 0, term)
TROUPE_DESCRIBE(troupe::replication::InstallConfig, 0, config)
TROUPE_DESCRIBE(troupe::replication::CatchUp, 0, term, target)
TROUPE_DESCRIBE(troupe::replication::Drain, 0, term)
TROUPE_DESCRIBE(troupe::replication::Conclude, 0, command, outcome)
