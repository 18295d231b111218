#include "state_machines/replication/reconfiguration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "state_machines/replication/candidacy.hpp"
#include "state_machines/replication/heartbeats.hpp"
#include "state_machines/replication/member_views.hpp"
#include "state_machines/replication/roles.hpp"
#include "state_machines/replication/step_down.hpp"

namespace troupe::replication {

namespace {

using Phase = Topology::Phase;
using Stage = ConfigChange::Stage;

/// For what new members say, where the config has a majority without them: they may come later.
constexpr std::chrono::seconds kPatience(1);

bool isElectableIn(const ReplicaSetConfig& config, const NodeName& host) {
  const MemberConfig* member = config.member(host);
  return member && member->isElectable();
}

/// Whether the same members have what is committed by the one as by the other.
bool commitAlike(const ReplicaSetConfig& a, const ReplicaSetConfig& b) {
  return a.members == b.members && a.writeConcernMajorityJournalDefault == b.writeConcernMajorityJournalDefault;
}

/// From now on this config holds; the others are told at once.
void install(Turn& t, ReplicaSetConfig config) {
  if (!t.hasConfig() || !commitAlike(t.config(), config)) t.mem.inUseFrom.reset();
  t.doc.config = std::move(config);
  rebuildViews(t);
  t.perform(InstallConfig{t.config()});
  t.why = t.self() ? fmt::format("config version {} was installed", t.config().version)
                   : fmt::format("the new config, version {}, does not name it", t.config().version);
  if (t.isStanding()) giveUp(t, "the config has changed");
  else if (!t.isLeading()) settle(t);
  else if (!t.self()) stepDown(t, t.why);
  else if (!isElectableIn(t.config(), t.doc.self)) stepDown(t, "it is not electable in the new config");
  sendHeartbeats(t);
}

bool isVoterWithData(const MemberConfig& member) { return member.isVoter() && !member.arbiterOnly; }

/// The voters with data that have no entry of this term as new as that one.
std::vector<NodeName> votersBehind(const Turn& t, const OpTime& from) {
  const bool durably = t.config().writeConcernMajorityJournalDefault;
  const auto holds = [&](const OpTime& applied, const OpTime& durable) {
    const OpTime& reached = durably ? durable : applied;
    return reached.term == t.mem.term && reached >= from;
  };
  std::vector<NodeName> behind;
  for (const MemberConfig& member : t.config().members) {
    if (!isVoterWithData(member)) continue;
    const MemberView* const v = t.view(member.host);
    const bool isCaughtUp =
        v ? holds(v->applied, v->durable) : member.host == t.doc.self && holds(t.mem.applied, t.mem.durable);
    if (!isCaughtUp) behind.push_back(member.host);
  }
  return behind;
}

/// What was committed under earlier configs is on a majority of the present one, so that also a config after
/// next, whose majorities need not meet those of the one before, elects nobody without it. An entry of this term that
/// is as new as what this primary had when entries began to be counted by the present config stands for all that: while
/// that config was being written down, majorities of the one before still committed. Where there was no entry then,
/// nothing can be lost.
bool majorityHoldsData(const Turn& t) {
  if (!t.mem.inUseFrom) return false;
  if (*t.mem.inUseFrom == OpTime{}) return true;
  const auto voters = std::ranges::count_if(t.config().members, isVoterWithData);
  return voters - std::ssize(votersBehind(t, *t.mem.inUseFrom)) >= t.config().writeMajority();
}

/// Of the voters, those that are not known to hold the present config.
std::vector<NodeName> votersWithoutConfig(const Turn& t) {
  std::vector<NodeName> without;
  for (const MemberConfig& member : t.config().members) {
    const MemberView* const v = t.view(member.host);
    if (member.isVoter() && v && !(v->isAlive() && v->config == t.config().configVersion()))
      without.push_back(member.host);
  }
  return without;
}

Status notNamed(const NodeName& self) {
  return {ErrorCode::kNewReplicaSetConfigurationIncompatible,
          fmt::format("no member of the new config is this node, {}", self)};
}

Status checkPlaceIn(const ReplicaSetConfig& config, const NodeName& self) {
  if (!config.has(self)) return notNamed(self);
  if (!isElectableIn(config, self))
    return Status(ErrorCode::kNodeNotElectable,
                  fmt::format("this node, {}, could not be elected in the new config", self));
  return Status::OK();
}

Status checkFirstConfig(const ReplicaSetConfig& config, const std::string& setName, const NodeName& self) {
  TROUPE_TRY(config.validate());
  if (config.id != setName)
    return Status(ErrorCode::kInvalidReplicaSetConfig,
                  fmt::format("the config is for the set {}, but this node was started for {}", config.id, setName));
  if (config.version != 1)
    return Status(ErrorCode::kInvalidReplicaSetConfig, "the first config must have the version 1");
  if (config.settings.replicaSetId)
    return Status(ErrorCode::kInvalidReplicaSetConfig,
                  "settings.replicaSetId is drawn for the set and must not be given");
  return checkPlaceIn(config, self);
}

void endInitiation(Turn& t) {
  t.cancel(MembersDeadline{});
  t.cancel(HeartbeatDue{});
  t.mem.awaited.clear();
  t.mem.change.reset();
  t.mem.phase = Phase::kStartup;
}

void failInitiation(Turn& t, ErrorCode code, std::string why) {
  endInitiation(t);
  t.conclude(OpenCommand::kInitiate, Status(code, std::move(why)));
}

void finishInitiation(Turn& t) {
  ReplicaSetConfig config = std::move(t.mem.change->next);
  endInitiation(t);
  t.doc.founder = true;
  t.mem.ownData = false;
  t.mem.copyingData = false;
  install(t, std::move(config));
  t.conclude(OpenCommand::kInitiate, Status::OK());
}

bool isAsking(const Turn& t) { return t.mem.change && t.mem.change->stage == Stage::kAsking; }

std::chrono::seconds timeToAnswer(const Turn& t) {
  return std::chrono::seconds(t.mem.change->next.settings.heartbeatTimeoutSecs);
}

void endAsking(Turn& t) {
  if (!isAsking(t)) return;
  t.mem.awaited.clear();
  t.cancel(MembersDeadline{});
}

/// The change has ended: answers its command.
void concludeChange(Turn& t, Status outcome) {
  endAsking(t);
  t.mem.change.reset();
  t.cancel(ReconfigDeadline{});
  t.conclude(OpenCommand::kReconfig, std::move(outcome));
}

/// Why a change that waits for the present config does not come.
std::string whyNotClaimed(const Turn& t) {
  if (!majorityHoldsConfig(t))
    return fmt::format(
        "a majority of the voters has to have the present config, version {} of term {}; these have not: {}",
        t.config().version, t.config().term, fmt::join(votersWithoutConfig(t), ", "));
  if (!t.mem.inUseFrom) return "the present config is not in use yet";
  const OpTime& from = *t.mem.inUseFrom;
  return fmt::format(
      "a majority of the voters with data has to have an entry of term {} as new as Timestamp({}, {}); these have not: "
      "{}",
      t.mem.term, from.timestamp.seconds, from.timestamp.increment, fmt::join(votersBehind(t, from), ", "));
}

/// One whose process has just died is still alive to those that have heard of it within the election timeout.
bool isThere(const MemberView& member) { return member.isAlive() && member.state != MemberState::kDown; }

/// Whether a majority of the voters of the next config are there, as far as is known.
bool nextHasMajority(const Turn& t) {
  const ReplicaSetConfig& next = t.mem.change->next;
  const auto counts = [&t](const MemberConfig& member) {
    if (member.host == t.doc.self) return true;
    const MemberView* const known = t.view(member.host);
    return known ? isThere(*known) : !t.mem.awaited.contains(member.host);
  };
  const auto voters = std::ranges::count_if(next.members, [&](const auto& m) { return m.isVoter() && counts(m); });
  return voters >= next.majority();
}

/// The members of the next config that do not answer.
std::vector<NodeName> missingOfNext(const Turn& t) {
  std::vector<NodeName> missing;
  for (const MemberConfig& member : t.mem.change->next.members) {
    const MemberView* const known = t.view(member.host);
    if (t.mem.awaited.contains(member.host) || (known && !isThere(*known))) missing.push_back(member.host);
  }
  return missing;
}

/// The config gets the term of this primary, so that members take it from nobody of an earlier one. To a config without
/// a term, one that was forced, they compare versions alone: it gets the next one, and its successor one after that.
/// checkSuccessor has seen that there is room for both.
void claimConfig(Turn& t) {
  ReplicaSetConfig claimed = t.config();
  if (claimed.term == ConfigVersion::kNoTerm) ++claimed.version;
  claimed.term = t.mem.term;
  ReplicaSetConfig& next = t.mem.change->next;
  next.version = std::max(next.version, claimed.version + 1);
  install(t, std::move(claimed));
}

/// New members have answered, or had their time to.
void endOfQuestions(Turn& t) {
  if (!nextHasMajority(t)) {
    std::string missing = fmt::format("{}", fmt::join(missingOfNext(t), ", "));
    return abandonChange(
        t, ErrorCode::kNodeNotFound,
        "fewer than a majority of the new config's voters are there, so it would have no primary; these "
        "members do not answer: " +
            std::move(missing));
  }
  endAsking(t);
  t.mem.change->stage = Stage::kClaiming;
  if (t.config().term != t.mem.term) claimConfig(t);
  else putInUse(t);
}

/// Of a config that can have no successor, a version that checkSuccessor refuses.
int64_t versionAfter(const ReplicaSetConfig& config) {
  return std::min(config.version, ReplicaSetConfig::kMaxVersion) + 1;
}

/// By force a node may lose its candidacy, but not its place: a mistyped host would take away the last member that is
/// left. It may be named as it is called now, or as its present config calls it.
Status checkPlaceByForce(const ReplicaSetConfig& next, const Reconfig& command, const NodeName& self) {
  if (next.has(self) || next.has(command.self)) return Status::OK();
  return notNamed(command.self.empty() ? self : command.self);
}

/// On a node of any role, since the operator decides: for sets that have lost their majority.
void reconfigByForce(Turn& t, const Reconfig& command, ReplicaSetConfig next) {
  next.term = ConfigVersion::kNoTerm;
  next.version += command.versionJump;  // from one above the present version
  if (!next.has(t.doc.self) && next.has(command.self)) t.doc.self = command.self;
  abandonChange(t, ErrorCode::kNewReplicaSetConfigurationIncompatible, "another config was installed by force");
  if (t.mem.phase == Phase::kCatchingUp || t.mem.phase == Phase::kDraining)
    stepDown(t, "the config was changed by force while it stepped up");
  install(t, std::move(next));
  t.done();
}

}  // namespace

void onInitiate(Turn& t, const Initiate& command) {
  if (t.hasConfig()) return t.refuse(ErrorCode::kAlreadyInitialized, "already initialized");
  if (t.mem.phase == Phase::kInitiating)
    return t.refuse(ErrorCode::kConfigurationInProgress, "another replSetInitiate is running");
  const Status fits = checkFirstConfig(command.config, t.doc.setName, command.self);
  if (!fits.isOK()) return t.refuse(fits.code(), fits.reason());
  t.answering = OpenCommand::kInitiate;
  t.doc.self = command.self;
  t.mem.phase = Phase::kInitiating;
  t.mem.change = ConfigChange{Stage::kChecking, command.config};
  t.mem.change->next.term = 0;
  t.mem.change->next.settings.replicaSetId = command.replicaSetId;
  for (const MemberConfig& m : command.config.members)
    if (m.host != command.self) t.mem.awaited.insert(m.host);
  if (t.mem.awaited.empty()) return finishInitiation(t);
  t.arm(std::chrono::seconds(command.config.settings.heartbeatTimeoutSecs), MembersDeadline{});
  askMembersOfNewSet(t);
}

void askMembersOfNewSet(Turn& t) {
  for (const NodeName& host : t.mem.awaited) t.send(host, heartbeatFor(t, host));
  t.arm(t.mem.change->next.heartbeatInterval(), HeartbeatDue{});
}

void onMemberOfNewSet(Turn& t, const HeartbeatReply& reply) {
  const NodeName& host = reply.sender.from;
  if (!t.mem.awaited.contains(host)) return;
  if (!reply.refusal.isOK()) return failInitiation(t, reply.refusal.code(), reply.refusal.reason());
  if (reply.sender.config.version > 0)
    return failInitiation(t, ErrorCode::kNewReplicaSetConfigurationIncompatible, host + " has a config already");
  t.mem.awaited.erase(host);
  if (t.mem.awaited.empty()) finishInitiation(t);
}

void onNewMembersDeadline(Turn& t, const MembersDeadline&) {
  if (!isAsking(t)) return;
  endOfQuestions(t);
  proceedWithReconfig(t);
}

void onInitiateDeadline(Turn& t, const MembersDeadline&) {
  failInitiation(t, ErrorCode::kHostUnreachable,
                 fmt::format("these members of the new set did not answer: {}", fmt::join(t.mem.awaited, ", ")));
}

void onOwnData(Turn& t, const OwnData& report) { t.mem.ownData = report.held && !t.hasConfig(); }

void abandonChange(Turn& t, ErrorCode code, std::string why) {
  if (t.mem.change) concludeChange(t, Status(code, std::move(why)));
}

/// What has been heard without a heartbeat may be enough by now.
void onReconfigDeadline(Turn& t, const ReconfigDeadline&) {
  proceedWithReconfig(t);
  if (!t.mem.change) return;
  if (isAsking(t))
    return abandonChange(
        t, ErrorCode::kExceededTimeLimit,
        fmt::format("nothing was changed: these members did not answer in time: {}", fmt::join(t.mem.awaited, ", ")));
  if (t.mem.change->stage == Stage::kClaiming)
    return abandonChange(t, ErrorCode::kCurrentConfigNotCommittedYet,
                         fmt::format("the config stays as it is, version {}: {}. Bring one of them back, or use force: "
                                     "true, which may lose what only they have",
                                     t.config().version, whyNotClaimed(t)));
  abandonChange(t, ErrorCode::kExceededTimeLimit,
                fmt::format("the new config, version {}, is installed here, and not on a majority of the voters yet; "
                            "these take it as soon as they are reached: {}",
                            t.config().version, fmt::join(votersWithoutConfig(t), ", ")));
}

/// The present config is none of theirs, and they are not to fetch it: one without a version says so.
void askNewMembers(Turn& t) {
  if (!isAsking(t)) return;
  for (const NodeName& host : t.mem.awaited) {
    HeartbeatRequest question = heartbeatFor(t, host);
    question.sender.config = {};
    t.send(host, std::move(question));
  }
  if (t.mem.members.empty()) t.arm(t.config().heartbeatInterval(), HeartbeatDue{});
}

void onNewMember(Turn& t, const NodeName& host, const Status& refusal) {
  if (!isAsking(t) || t.mem.awaited.erase(host) == 0) return;
  if (!refusal.isOK())
    return abandonChange(t, ErrorCode::kNewReplicaSetConfigurationIncompatible,
                         fmt::format("{} cannot be added: {}", host, refusal.reason()));
  if (t.mem.awaited.empty()) endOfQuestions(t);
  else if (nextHasMajority(t)) t.arm(std::min(kPatience, timeToAnswer(t)), MembersDeadline{});
}

void onReconfig(Turn& t, const Reconfig& command) {
  if (!t.hasConfig()) return t.refuse(ErrorCode::kNotYetInitialized, "the replica set has not been initiated");
  ReplicaSetConfig next = command.config;
  if (!next.settings.replicaSetId) next.settings.replicaSetId = t.config().settings.replicaSetId;
  if (command.force) next.version = std::max(next.version, versionAfter(t.config()));
  else if (t.mem.phase != Phase::kPrimary)
    return t.refuse(ErrorCode::kNotWritablePrimary, "replSetReconfig without force needs the primary");
  else if (t.mem.change) return t.refuse(ErrorCode::kConfigurationInProgress, "another replSetReconfig is running");
  Status fits = next.validate();
  if (fits.isOK()) fits = checkSuccessor(t.config(), next, command.force);
  if (fits.isOK()) fits = command.force ? checkPlaceByForce(next, command, t.doc.self) : checkPlaceIn(next, t.doc.self);
  if (!fits.isOK()) return t.refuse(fits.code(), fits.reason());
  if (command.force) return reconfigByForce(t, command, std::move(next));
  t.answering = OpenCommand::kReconfig;
  next.term = t.mem.term;
  t.mem.change = ConfigChange{Stage::kAsking, std::move(next)};
  if (command.patience > Millis(0)) t.arm(command.patience, ReconfigDeadline{});
  for (const MemberConfig& member : t.mem.change->next.members)
    if (!t.config().has(member.host)) t.mem.awaited.insert(member.host);
  if (t.mem.awaited.empty()) {
    endOfQuestions(t);
    return proceedWithReconfig(t);
  }
  t.arm(nextHasMajority(t) ? std::min(kPatience, timeToAnswer(t)) : timeToAnswer(t), MembersDeadline{});
  askNewMembers(t);
}

void proceedWithReconfig(Turn& t) {
  if (t.mem.change && t.mem.change->stage == Stage::kClaiming && majorityHoldsConfig(t) && majorityHoldsData(t)) {
    t.mem.change->stage = Stage::kSpreading;
    install(t, t.mem.change->next);
  }
  if (t.mem.change && t.mem.change->stage == Stage::kSpreading && majorityHoldsConfig(t)) {
    concludeChange(t, Status::OK());
  }
}

void putInUse(Turn& t) {
  if (!t.mem.inUseFrom) t.perform(InstallConfig{t.config()});
}

void onConfigInUse(Turn& t, const ConfigInUse& report) {
  if (!t.isLeading() || report.config != t.config().configVersion()) return;
  if (!t.mem.inUseFrom) t.mem.inUseFrom = report.newest;
  proceedWithReconfig(t);
}

/// Where this member's config lacks the id of the set, the newer one may bring it; where that lacks it, the known one
/// stays.
void learnConfig(Turn& t, const ReplicaSetConfig& config, const NodeName& self) {
  if (config.id != t.doc.setName || !config.validate().isOK()) return;
  if (t.mem.ownData) return;
  if (t.hasConfig() && !config.configVersion().isNewerThan(t.config().configVersion())) return;
  ReplicaSetConfig next = config;
  if (!next.settings.replicaSetId) next.settings.replicaSetId = t.replicaSetId();
  if (t.replicaSetId() && next.settings.replicaSetId != t.replicaSetId()) return;
  if (!isPlausible(t, config.term)) return;
  const NodeName me = config.has(t.doc.self) || !config.has(self) ? t.doc.self : self;
  const bool stepsUp = t.mem.phase == Phase::kCatchingUp || t.mem.phase == Phase::kDraining;
  if (stepsUp && isElectableIn(config, me)) return;
  abandonChange(t, ErrorCode::kNewReplicaSetConfigurationIncompatible,
                "a newer config was learned from another member");
  t.doc.self = me;
  raiseTerm(t, config.term);
  install(t, std::move(next));
}

}  // namespace troupe::replication
