#include "state_machines/replication/candidacy.hpp"

#include <utility>

#include "state_machines/replication/heartbeats.hpp"
#include "state_machines/replication/member_views.hpp"
#include "state_machines/replication/roles.hpp"
#include "state_machines/replication/step_up.hpp"
#include "state_machines/replication/takeovers.hpp"

namespace troupe::replication {

namespace {

using Phase = Topology::Phase;

/// Election timeouts by this number: how soon a node that was refused tries again, at least; at most twice as late.
constexpr int kSoonShare = 5;

void askForVotes(Turn& t, bool dryRun) {
  t.arm(t.config().settings.electionTimeoutMillis, ElectionTimeout{}, electionSpread(t.config()));
  for (const MemberView& v : t.mem.members)
    t.send(v.host, VoteRequest{t.doc.self, t.doc.setName, t.mem.term, t.config().configVersion(), t.mem.applied, dryRun,
                               t.mem.standing == ElectionReason::kElectionTimeout, t.replicaSetId()});
}

/// ELE-009: a new term, its own vote persisted before it asks for others.
void beginElection(Turn& t) {
  t.mem.phase = Phase::kCandidate;
  t.mem.term += 1;
  t.doc.lastVote = {t.mem.term, t.doc.self};
  t.mem.granted = {t.doc.self};
  t.mem.refused.clear();
  askForVotes(t, false);
}

bool hasMajority(const Turn& t) { return static_cast<int>(t.mem.granted.size()) >= t.config().majority(); }
bool cannotWin(const Turn& t) {
  return t.config().voters() - static_cast<int>(t.mem.refused.size()) < t.config().majority();
}

}  // namespace

std::string whyNotStand(const Turn& t) {
  if (t.isStanding() && !seesMajority(t.now())) return "it stands already, and no majority of the voters answers";
  if (t.isStanding()) return "it stands already";
  if (t.mem.phase != Phase::kFollower) return "only a follower can stand for election";
  if (!t.self()->isElectable()) return "its priority is 0";
  if (t.mem.maintenance) return "it is in maintenance mode";
  if (t.mem.tooStale) return "it is too stale to catch up";
  if (t.mem.rollingBack) return "it is rolling back";
  if (t.mem.copyingData) return "it has no data yet, and copies them";
  if (t.mem.frozen) return "it is frozen, or has stepped down a short while ago";
  return {};
}

void stand(Turn& t, ElectionReason reason, bool skipDryRun) {
  dropTakeovers(t);
  t.mem.standing = reason;
  if (skipDryRun || reason == ElectionReason::kOnlyVoter || reason == ElectionReason::kHandoff) {
    beginElection(t);
    if (hasMajority(t)) win(t);
    return;
  }
  t.mem.phase = Phase::kDryRun;
  t.mem.granted = {t.doc.self};
  askForVotes(t, true);
}

void giveUp(Turn& t, std::string why, bool trySoon) {
  if (t.mem.standing == ElectionReason::kStepUpCommand)
    t.conclude(OpenCommand::kStepUp, Status(ErrorCode::kCommandFailed, "Election failed: " + why));
  t.mem.standing.reset();
  t.mem.granted.clear();
  t.mem.refused.clear();
  settle(t);
  if (trySoon && t.mem.phase == Phase::kFollower && primaryOf(t.now()).empty()) {
    const Millis timeout = t.config().settings.electionTimeoutMillis;
    t.arm(timeout / kSoonShare, ElectionTimeout{}, timeout / kSoonShare);
  }
}

void onElectionTimeout(Turn& t, const ElectionTimeout&) {
  if (t.isStanding()) giveUp(t, "not enough members have answered");
  const bool isAlone = t.config().isOnlyVoter(t.doc.self);
  if (whyNotStand(t).empty()) stand(t, isAlone ? ElectionReason::kOnlyVoter : ElectionReason::kElectionTimeout);
  else if (!isAlone) armElectionTimeout(t);
}

void onVoteReply(Turn& t, const VoteReply& reply) {
  if (!checkSameSet(reply.from, t.doc.setName, reply.replicaSetId, t.replicaSetId()).isOK()) return;
  raiseTerm(t, reply.term);
  hear(t, reply.from, 0);
  const bool isMine = t.isStanding() && reply.dryRun == (t.mem.phase == Phase::kDryRun) && reply.term == t.mem.term;
  if (!isMine || !t.config().member(reply.from)) return;
  if (!t.config().member(reply.from)->isVoter()) return;
  (reply.granted ? t.mem.granted : t.mem.refused).insert(reply.from);
  if (hasMajority(t)) {
    if (t.mem.phase == Phase::kDryRun) beginElection(t);
    else win(t);
  } else if (cannotWin(t)) {
    giveUp(t, "too many voters have refused, the last one because: " + reply.reason, true);
  }
}

void onStepUp(Turn& t, const StepUp& command) {
  if (t.isLeading()) return t.done();
  const std::string why = whyNotStand(t);
  if (!why.empty()) return t.refuse(ErrorCode::kCommandFailed, "Election failed: this node can't stand: " + why);
  t.answering = OpenCommand::kStepUp;
  stand(t, ElectionReason::kStepUpCommand, command.skipDryRun || t.config().isOnlyVoter(t.doc.self));
}

void onStepUpRequest(Turn& t, const StepUpRequest& request) {
  const Status same = checkSameSet(t.doc.self, t.doc.setName, t.replicaSetId(), request.replicaSetId);
  if (!same.isOK()) return t.send(request.from, StepUpRefusal{t.doc.self, request.term, same.reason()});
  if (!t.view(request.from)) return;  // a stranger neither raises the term nor has this node disturb its set
  raiseTerm(t, request.term);
  if (request.term != t.mem.term) return;
  std::string why = whyNotStand(t);
  if (why.empty()) stand(t, ElectionReason::kHandoff);
  else t.send(request.from, StepUpRefusal{t.doc.self, t.mem.term, std::move(why)});
}

void onFreeze(Turn& t, const Freeze& command) {
  if (t.isLeading() || t.isStanding())
    return t.refuse(ErrorCode::kNotSecondary, "cannot freeze a node that is primary or stands for election");
  t.done();
  t.mem.frozen = command.period.count() > 0;
  if (t.mem.frozen) {
    t.arm(command.period, FreezeOver{});
  } else {
    t.cancel(FreezeOver{});
    onFreezeOver(t, {});
  }
}

void onFreezeOver(Turn& t, const FreezeOver&) {
  t.mem.frozen = false;
  t.mem.handoff.reset();
  if (t.mem.phase == Phase::kFollower && t.config().isOnlyVoter(t.doc.self)) armElectionTimeout(t);
}

/// A member that was removed, say, may catch up: it is not held for stale once it is back.
void onMaintenance(Turn& t, const Maintenance& command) {
  const bool isSettled = command.tooStale && !command.on;
  if (t.mem.phase != Phase::kFollower && !isSettled)
    return t.refuse(ErrorCode::kNotSecondary,
                    "only a secondary that does not stand for election can be in maintenance mode");
  bool& mode = command.tooStale ? t.mem.tooStale : t.mem.maintenance;
  if (!command.on && !mode) return t.refuse(ErrorCode::kOperationFailed, "this node is not in maintenance mode");
  mode = command.on;
  t.why = !command.tooStale ? "replSetMaintenance" : command.on ? "it is too stale" : "a member has what it lacks";
  t.done();
  if (t.mem.phase == Phase::kFollower) settle(t);
}

void onRollingBack(Turn& t, const RollingBack& report) {
  if (report.on && t.mem.phase != Phase::kFollower)
    return t.refuse(ErrorCode::kNotSecondary, "only a follower rolls back");
  t.mem.rollingBack = report.on;
  t.why = report.on ? "it rolls back" : "its rollback is over";
  t.done();
  if (t.mem.phase == Phase::kFollower) settle(t);
}

void onCopyingData(Turn& t, const CopyingData& report) {
  if (report.on && t.mem.phase != Phase::kFollower)
    return t.refuse(ErrorCode::kNotSecondary, "only a follower copies the data of another member");
  t.mem.copyingData = report.on;
  t.why = report.on ? "it copies the data of another member" : "its initial sync is over";
  t.done();
  if (t.mem.phase != Phase::kFollower) return;
  settle(t);
  if (!report.on) sendHeartbeats(t);  // others may elect it and fetch from it, and learn so at once
}

}  // namespace troupe::replication
