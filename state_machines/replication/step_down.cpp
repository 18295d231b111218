#include "state_machines/replication/step_down.hpp"

#include <algorithm>
#include <utility>

#include "state_machines/replication/member_views.hpp"
#include "state_machines/replication/reconfiguration.hpp"
#include "state_machines/replication/roles.hpp"

namespace troupe::replication {

namespace {

using Phase = Topology::Phase;

/// The node that is no primary any more forgets what only a primary has.
void leaveLeadership(Turn& t) {
  t.perform(InterruptOperations{});
  t.cancel(CatchUpRoundOver{});
  t.cancel(CatchUpTimeout{});
  t.cancel(StepDownDeadline{});
  abandonChange(t, ErrorCode::kPrimarySteppedDown, "this node is no longer primary: " + t.why);
  t.mem.awaited.clear();
  t.mem.target = {};
  t.mem.inUseFrom.reset();
  t.mem.electedAt = {};
  t.mem.stepDown.reset();
  t.mem.stepDowns = 0;
}

bool isUnwilling(const Turn& t, const NodeName& host) {
  return t.mem.handoff && t.mem.handoff->unwilling.contains(host);
}

/// The member that can take over at once: alive, electable, not behind, and not known to refuse, of the highest
/// priority. Null: none.
const MemberView* bestSuccessor(const Turn& t) {
  const MemberView* best = nullptr;
  for (const MemberView& v : t.mem.members) {
    if (isUnwilling(t, v.host)) continue;
    const bool fits = t.config().member(v.host)->isElectable() && v.isAlive() && v.state == MemberState::kSecondary &&
                      v.applied >= t.mem.applied;
    if (fits && (!best || t.config().member(v.host)->priority > t.config().member(best->host)->priority)) best = &v;
  }
  return best;
}

/// ELE-005: the successor need not wait for its election timeout. One at a time: two that stood would split the votes.
void askToTakeOver(Turn& t, const NodeName& successor) {
  if (!t.mem.handoff) t.mem.handoff.emplace();
  t.mem.handoff->asked = successor;
  t.send(successor, StepUpRequest{t.doc.self, t.mem.term, t.replicaSetId()});
}

/// The end of a conditional attempt that succeeded.
void stepDownAsAsked(Turn& t, const MemberView* successor) {
  const StepDownAttempt attempt = *t.mem.stepDown;
  const NodeName next = successor ? successor->host : NodeName();
  t.why = kStepDownCommand;
  t.mem.frozen = true;
  t.arm(attempt.stepDownPeriod, FreezeOver{});
  leaveLeadership(t);
  settle(t);
  t.conclude(OpenCommand::kStepDown, Status::OK());
  if (attempt.handoff && !attempt.force && !next.empty()) askToTakeOver(t, next);
}

}  // namespace

void stepDown(Turn& t, std::string why) {
  t.why = std::move(why);
  if (t.mem.stepDown)
    t.conclude(OpenCommand::kStepDown,
               Status(ErrorCode::kPrimarySteppedDown,
                      "while this node waited for secondaries, it stepped down because " + t.why));
  leaveLeadership(t);
  settle(t);
}

void onStepDown(Turn& t, const StepDown& command) {
  if (t.mem.phase == Phase::kSteppingDown)
    return t.refuse(ErrorCode::kConflictingOperationInProgress, "this node is stepping down already");
  if (t.mem.phase != Phase::kPrimary) return t.refuse(ErrorCode::kNotWritablePrimary, "not primary so can't step down");
  if (command.stepDownPeriod < command.catchUpPeriod)
    return t.refuse(ErrorCode::kBadValue, "stepdown period must be longer than secondaryCatchUpPeriodSecs");
  t.answering = OpenCommand::kStepDown;
  t.mem.phase = Phase::kSteppingDown;
  t.mem.stepDown = StepDownAttempt{command.force, command.stepDownPeriod, command.handoff, false, t.mem.stepDowns++};
  t.why = "replSetStepDown waits for secondaries";
  t.perform(RefuseWrites{t.mem.stepDown->number});
  t.arm(command.catchUpPeriod, StepDownDeadline{});
}

/// Before the writes that were under way have ended nobody can have them, though others may have all that is applied.
void tryStepDown(Turn& t) {
  if (!t.mem.stepDown->writesEnded) return;
  const MemberView* successor = bestSuccessor(t);
  if (successor && majorityHasCaughtUp(t)) stepDownAsAsked(t, successor);
}

void onWritesEnded(Turn& t, const WritesEnded& report) {
  if (report.term != t.mem.term || report.attempt != t.mem.stepDown->number) return;
  t.mem.applied = std::max(t.mem.applied, report.applied);
  t.mem.stepDown->writesEnded = true;
  tryStepDown(t);
}

/// A report may be older than the last heartbeat.
void onMemberAdvanced(Turn& t, const MemberAdvanced& report) {
  MemberView* const member = t.view(report.host);
  if (!member || report.applied <= member->applied) return;
  member->applied = report.applied;
  if (t.mem.phase == Phase::kSteppingDown) tryStepDown(t);
}

void passHandoffOn(Turn& t, const NodeName& host) {
  if (t.mem.phase != Phase::kFollower || !t.mem.handoff || t.mem.handoff->asked != host) return;
  t.mem.handoff->unwilling.insert(host);
  const MemberView* next = bestSuccessor(t);
  if (next) askToTakeOver(t, next->host);
  else t.mem.handoff.reset();
}

void onStepUpRefusal(Turn& t, const StepUpRefusal& refusal) {
  if (refusal.term == t.mem.term) passHandoffOn(t, refusal.from);
}

void onStepDownDeadline(Turn& t, const StepDownDeadline&) {
  if (t.mem.stepDown->force) return stepDownAsAsked(t, nullptr);
  t.mem.stepDown.reset();
  t.mem.phase = Phase::kPrimary;
  t.why = "no electable secondary has caught up; still primary";
  t.perform(AcceptWrites{t.mem.term});
  putInUse(t);
  t.conclude(OpenCommand::kStepDown, Status(ErrorCode::kExceededTimeLimit,
                                            "no electable secondaries caught up in time; still primary. "
                                            "Use force: true to step down nevertheless"));
}

}  // namespace troupe::replication
