#include "state_machines/replication/step_up.hpp"

#include <algorithm>

#include "state_machines/replication/heartbeats.hpp"
#include "state_machines/replication/reconfiguration.hpp"
#include "state_machines/replication/roles.hpp"
#include "state_machines/replication/step_down.hpp"

namespace troupe::replication {

namespace {

using Phase = Topology::Phase;

/// Election timeouts by this number: how long the first round of heartbeats is waited for.
constexpr int kRoundShare = 10;

void drain(Turn& t) {
  t.cancel(CatchUpRoundOver{});
  t.cancel(CatchUpTimeout{});
  t.mem.awaited.clear();
  t.mem.target = {};
  t.mem.phase = Phase::kDraining;
  t.perform(Drain{t.mem.term});
}

/// ELE-019: the target is the newest operation in the answers. Operations that only a dead member had can't be fetched.
void catchUp(Turn& t) {
  t.mem.awaited.clear();
  if (t.mem.applied >= t.mem.target) return drain(t);
  t.cancel(CatchUpRoundOver{});
  t.perform(CatchUp{t.mem.term, t.mem.target});
}

/// Whether an answer may come: it was heard itself a short while ago.
bool mayAnswer(const MemberView& v) { return v.heard.contains(0) && v.state != MemberState::kDown; }

void stopAwaiting(Turn& t, const NodeName& host) {
  if (t.mem.phase == Phase::kCatchingUp && t.mem.awaited.erase(host) > 0 && t.mem.awaited.empty()) catchUp(t);
}

}  // namespace

void win(Turn& t) {
  t.why = "won the election of term " + std::to_string(t.mem.term);
  t.cancel(ElectionTimeout{});
  if (t.mem.standing == ElectionReason::kStepUpCommand) t.conclude(OpenCommand::kStepUp, Status::OK());
  t.mem.standing.reset();
  t.mem.granted.clear();
  t.mem.refused.clear();
  t.mem.hearsay.reset();
  t.mem.phase = Phase::kCatchingUp;
  sendHeartbeats(t);
  const ReplicaSetSettings& settings = t.config().settings;
  if (settings.catchUpTimeoutMillis.count() == 0) return drain(t);
  for (const MemberView& v : t.mem.members)
    if (mayAnswer(v) && !t.config().member(v.host)->arbiterOnly) t.mem.awaited.insert(v.host);
  if (t.mem.awaited.empty()) return drain(t);
  t.arm(settings.electionTimeoutMillis / kRoundShare, CatchUpRoundOver{});
  if (settings.catchUpTimeoutMillis.count() > 0) t.arm(settings.catchUpTimeoutMillis, CatchUpTimeout{});
}

void onRoundAnswer(Turn& t, const NodeName& host) {
  if (t.mem.phase != Phase::kCatchingUp || !t.mem.awaited.contains(host)) return;
  t.mem.target = std::max(t.mem.target, t.view(host)->applied);
  stopAwaiting(t, host);
}

void onMemberGone(Turn& t, const NodeName& host) { stopAwaiting(t, host); }

void onCatchUpRoundOver(Turn& t, const CatchUpRoundOver&) {
  if (!t.mem.awaited.empty()) catchUp(t);
}

/// What a leader has applied only grows: a report that was under way when it asked for itself is older.
void onAppliedAdvanced(Turn& t, const AppliedAdvanced& report) {
  t.mem.applied = t.isLeading() ? std::max(t.mem.applied, report.applied) : report.applied;
  t.mem.durable = report.durable;
  t.mem.source = report.source;
  raiseTerm(t, report.applied.term);
  if (t.mem.phase == Phase::kCatchingUp && t.mem.awaited.empty() && t.mem.applied >= t.mem.target) drain(t);
  if (t.mem.phase == Phase::kSteppingDown) tryStepDown(t);
  if (t.isLeading()) proceedWithReconfig(t);
}

void onCatchUpDone(Turn& t, const CatchUpDone& report) {
  if (report.term == t.mem.term) drain(t);
}

void onElected(Turn& t, const Elected& report) {
  if (report.term == t.mem.term) t.mem.electedAt = report.at;
}

void onCatchUpTimeout(Turn& t, const CatchUpTimeout&) { drain(t); }

void onDrainDone(Turn& t, const DrainDone& report) {
  if (report.term != t.mem.term) return;
  t.why = "ready for writes";
  t.mem.phase = Phase::kPrimary;
  t.perform(AcceptWrites{t.mem.term});
  putInUse(t);
}

}  // namespace troupe::replication
