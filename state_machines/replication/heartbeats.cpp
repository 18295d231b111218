#include "state_machines/replication/heartbeats.hpp"

#include <fmt/format.h>

#include "state_machines/replication/candidacy.hpp"
#include "state_machines/replication/member_views.hpp"
#include "state_machines/replication/reconfiguration.hpp"
#include "state_machines/replication/roles.hpp"
#include "state_machines/replication/step_down.hpp"
#include "state_machines/replication/step_up.hpp"
#include "state_machines/replication/takeovers.hpp"

namespace troupe::replication {

namespace {

using Phase = Topology::Phase;

ConfigVersion configVersion(const Turn& t) { return t.hasConfig() ? t.config().configVersion() : ConfigVersion{}; }

/// REP-042: the primary of this term is there, so nobody has to be elected. This ends an election that was held for
/// want of a primary, and one that another node has won. Other members' reports about it are ignored here: after
/// it has died, each would hold the others up.
void sawPrimary(Turn& t) {
  if (t.mem.phase == Phase::kCandidate ||
      (t.mem.phase == Phase::kDryRun && t.mem.standing == ElectionReason::kElectionTimeout))
    giveUp(t, "there is a primary");
  if (t.mem.phase == Phase::kFollower) armElectionTimeout(t);
}

/// As the primary's own sign of life: also an election that is for want of a primary comes to nothing.
void waitForPrimary(Turn& t) {
  if (t.mem.phase == Phase::kDryRun && t.mem.standing == ElectionReason::kElectionTimeout)
    giveUp(t, "its source sees the primary");
  else if (t.mem.phase == Phase::kFollower) armElectionTimeout(t);
}

/// REP-032: this node's source sees the primary, which then need not be elected anew because this node cannot reach it.
/// If it was found out of reach here, the source may only not have noticed yet that it is gone: its first word after
/// that does not count. Once a source that was believed sees no primary any more, this node stands soon. As long as a
/// follower hears the primary itself, the source's word adds nothing: else it would put the election off once more
/// when both have just lost the primary.
void heedSource(Turn& t, const Report& report) {
  if (report.from != t.mem.source || report.from == report.primary) return;
  if (report.term != t.mem.term || t.isLeading()) return;
  const NodeName heard = primaryOf(t.now());
  const MemberView* primary = t.view(report.primary);
  const bool isFollower = t.mem.phase == Phase::kFollower;
  if (!primary || (isFollower && heard == primary->host)) {
    const bool lost = !primary && heard.empty() && t.mem.hearsay && t.mem.hearsay->isBelieved;
    t.mem.hearsay.reset();
    if (lost && isFollower) expectElection(t);
    return;
  }
  const bool again = t.mem.hearsay && t.mem.hearsay->primary == primary->host;
  const bool isBelieved = again || primary->state != MemberState::kDown;
  t.mem.hearsay = Hearsay{primary->host, isBelieved};
  if (isBelieved) waitForPrimary(t);
}

/// Everything that a member's report may lead to.
void takeIn(Turn& t, const Report& report) {
  if (!isPlausible(t, report.term)) return;
  raiseTerm(t, report.term);
  note(t, report);
  if (report.state == MemberState::kPrimary && report.term == t.mem.term && t.view(report.from)) sawPrimary(t);
  if (t.mem.phase == Phase::kFollower) considerTakeovers(t);
  if (t.mem.phase == Phase::kSteppingDown) tryStepDown(t);
  if (t.isLeading()) proceedWithReconfig(t);
}

Status notOfTheSet(const NodeName& host, const std::string& its, const std::string& other) {
  return {ErrorCode::kInconsistentReplicaSetNames, fmt::format("{} is in the set {}, not in {}", host, its, other)};
}

/// Why the sender of a reply is no member of this node's set; OK: it is one.
Status refusalOf(const Turn& t, const HeartbeatReply& reply) {
  if (!reply.refusal.isOK()) return reply.refusal;
  if (reply.setName != t.doc.setName) return notOfTheSet(reply.sender.from, reply.setName, t.doc.setName);
  return checkSameSet(reply.sender.from, t.doc.setName, reply.replicaSetId, t.replicaSetId());
}

/// A host that a reconfig would add is asked whether it would join. Until it is a member its term is not one of this
/// set, unless it has a config that this node has missed. (It shows any config, being asked as if there were none yet.)
bool isOnlyAsked(const Turn& t, const HeartbeatReply& reply) {
  if (!t.isLeading() || t.view(reply.sender.from)) return false;
  return !reply.newer || !reply.newer->configVersion().isNewerThan(configVersion(t));
}

/// Why this node takes nothing in of what the sender of a request says; OK: it does.
Status whyNotTakeIn(const Turn& t, const HeartbeatRequest& request) {
  if (request.setName != t.doc.setName) return notOfTheSet(request.to, t.doc.setName, request.setName);
  TROUPE_TRY(checkSameSet(request.to, t.doc.setName, t.replicaSetId(), request.replicaSetId));
  if (t.mem.phase == Phase::kInitiating && request.sender.config.version == 0)
    return {ErrorCode::kConfigurationInProgress, request.to + " is initiating a set itself"};
  if (t.mem.ownData)
    return {ErrorCode::kCannotInitializeNodeWithData,
            fmt::format("{} has data of its own: only an empty node can join a set", request.to)};
  return Status::OK();
}

}  // namespace

Report reportFor(const Turn& t, const NodeName& to) {
  Report report{t.doc.self, t.mem.term, configVersion(t), stateOf(t.now()), t.mem.applied, primaryOf(t.now()), {}};
  report.durable = t.mem.durable;
  report.source = t.mem.source;
  report.electedAt = t.mem.electedAt;
  for (const MemberView& v : t.mem.members) {
    if (v.host == to || !v.isAlive() || !t.config().member(v.host)->isVoter()) continue;
    const int distance = *v.heard.begin();
    if (distance < maxDistance(t.config())) report.others.push_back({v.host, distance, v.applied});
  }
  return report;
}

HeartbeatRequest heartbeatFor(const Turn& t, const NodeName& to) {
  HeartbeatRequest request{reportFor(t, to), to, t.doc.setName};
  request.replicaSetId = t.replicaSetId();
  return request;
}

void sendHeartbeats(Turn& t) {
  if (!t.self()) return t.cancel(HeartbeatDue{});
  for (const MemberView& v : t.mem.members) t.send(v.host, heartbeatFor(t, v.host));
  if (!t.mem.members.empty()) t.arm(t.config().heartbeatInterval(), HeartbeatDue{});
  askNewMembers(t);
}

void onHeartbeatDue(Turn& t, const HeartbeatDue&) {
  if (t.mem.phase == Phase::kInitiating) askMembersOfNewSet(t);
  else sendHeartbeats(t);
}

void onHeartbeatRequest(Turn& t, const HeartbeatRequest& request) {
  const NodeName& sender = request.sender.from;
  HeartbeatReply reply;
  reply.sender.from = request.to;
  reply.to = sender;
  reply.setName = t.doc.setName;
  reply.sentAt = request.sentAt;
  reply.replicaSetId = t.replicaSetId();
  reply.refusal = whyNotTakeIn(t, request);
  if (!reply.refusal.isOK()) return t.send(sender, std::move(reply));
  takeIn(t, request.sender);
  reply.sender = reportFor(t, sender);
  reply.sender.from = request.to;
  if (t.hasConfig() && configVersion(t).isNewerThan(request.sender.config)) reply.newer = t.config();
  t.send(sender, std::move(reply));
  if (request.sender.config.isNewerThan(configVersion(t)) && t.mem.phase != Phase::kInitiating) {
    HeartbeatRequest question = heartbeatFor(t, sender);
    if (!t.self()) question.sender.from = request.to;
    t.send(sender, std::move(question));
  }
}

std::optional<HeartbeatReply> answerUnheard(const Snapshot<Topology>& now, const HeartbeatRequest& request) {
  const Turn t(now);
  if (!t.self() || request.to != t.doc.self || !whyNotTakeIn(t, request).isOK()) return std::nullopt;
  if (t.isLeading() || t.mem.phase == Phase::kCandidate) return std::nullopt;
  HeartbeatReply reply;
  reply.sender = reportFor(t, request.sender.from);
  reply.sender.others.clear();
  reply.sender.primary.clear();
  reply.to = request.sender.from;
  reply.setName = t.doc.setName;
  reply.sentAt = request.sentAt;
  reply.replicaSetId = t.replicaSetId();
  if (configVersion(t).isNewerThan(request.sender.config)) reply.newer = t.config();
  return reply;
}

void onHeartbeatReply(Turn& t, const HeartbeatReply& reply) {
  if (t.mem.phase == Phase::kInitiating) return onMemberOfNewSet(t, reply);
  const Status refusal = refusalOf(t, reply);
  noteRefusal(t, reply.sender.from, refusal);
  onNewMember(t, reply.sender.from, refusal);
  if (!refusal.isOK()) return;
  if (isOnlyAsked(t, reply)) return proceedWithReconfig(t);
  takeIn(t, reply.sender);
  heedSource(t, reply.sender);
  if (reply.newer) learnConfig(t, *reply.newer, reply.to);
  onRoundAnswer(t, reply.sender.from);
}

}  // namespace troupe::replication
