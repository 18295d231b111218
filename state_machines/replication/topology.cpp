#include "state_machines/replication/topology.hpp"

#include <algorithm>
#include <map>

#include "state_machines/replication/candidacy.hpp"
#include "state_machines/replication/heartbeats.hpp"
#include "state_machines/replication/member_views.hpp"
#include "state_machines/replication/reconfiguration.hpp"
#include "state_machines/replication/roles.hpp"
#include "state_machines/replication/step_down.hpp"
#include "state_machines/replication/step_up.hpp"
#include "state_machines/replication/takeovers.hpp"
#include "state_machines/replication/voting.hpp"

namespace troupe::replication {

namespace {

using Phase = Topology::Phase;
using enum Topology::Phase;
using T = Topology;

/// A rule as a machine's decision.
template <class E>
auto by(void (*rule)(Turn&, const E&)) {
  return [rule](const Snapshot<T>& now, const E& event) {
    Turn t(now);
    rule(t, event);
    return std::move(t).step();
  };
}

/// A command that makes no sense now. Its rule says why.
template <class E>
auto refusedBy(void (*rule)(Turn&, const E&)) { return T::anywhere<E>({}, by(rule)); }

bool areOfOneSet(const Snapshot<T>& a, const Snapshot<T>& b) {
  return a.document.config && b.document.config && a.document.config->id == b.document.config->id;
}

bool twoPrimariesInOneTerm(const machines::World& world) {
  bool broken = false;
  std::map<int64_t, int> primaries;
  world.each<T>([&](const NodeName&, bool alive, const Snapshot<T>& node) {
    if (alive && leads(node.memory.phase)) broken |= ++primaries[node.memory.term] > 1;
  });
  return broken;
}

/// Whoever voted since then in a later term may have voted for it. Looks at new primaries only: they still have the config
/// in which they were elected.
bool electedByNoMajority(const machines::World& world) {
  bool broken = false;
  world.each<T>([&](const NodeName& name, bool alive, const Snapshot<T>& leader) {
    if (!alive || leader.memory.phase != kCatchingUp) return;
    int votes = 0;
    world.each<T>([&](const NodeName& voter, bool, const Snapshot<T>& node) {
      const MemberConfig* member = leader.document.config->member(voter);
      const LastVote& last = node.document.lastVote;
      if (!areOfOneSet(leader, node) || !member || !member->isVoter()) return;
      votes += last.term > leader.memory.term || (last.term == leader.memory.term && last.candidate == name) ? 1 : 0;
    });
    broken |= votes < leader.document.config->majority();
  });
  return broken;
}

bool anyNode(const machines::World& world, bool (*condition)(const NodeName&, const Snapshot<T>&)) {
  bool found = false;
  world.each<T>([&](const NodeName& name, bool alive, const Snapshot<T>& node) {
    found |= alive && condition(name, node);
  });
  return found;
}

bool termBelowItsVote(const NodeName&, const Snapshot<T>& node) {
  return node.memory.term < node.document.lastVote.term;
}
bool candidateWithoutItsVote(const NodeName& name, const Snapshot<T>& node) {
  return (node.memory.phase == kCandidate) && node.document.lastVote != LastVote{node.memory.term, name};
}
bool unfitLeader(const NodeName& name, const Snapshot<T>& node) {
  if (!leads(node.memory.phase)) return false;
  const MemberConfig* member = node.document.config ? node.document.config->member(name) : nullptr;
  return !member || !member->isElectable();
}

}  // namespace

const machines::Transitions<Topology>& Topology::transitions() {
  static const machines::Transitions<Topology> table{
      // Getting a config.
      row<Initiate>(kStartup, {kInitiating, kFollower}, by(onInitiate)),
      row<HeartbeatReply>(kInitiating, {kStartup, kFollower}, by(onHeartbeatReply)),
      row<InitiateDeadline>(kInitiating, {kStartup}, by(onInitiateDeadline)),
      anywhere<Reconfig>({kFollower, kArbiter, kRemoved}, by(onReconfig)),
      // Elections.
      row<ElectionTimeout>(kFollower, {kDryRun, kCatchingUp, kDraining}, by(onElectionTimeout)),
      row<ElectionTimeout>(kDryRun, {kFollower}, by(onElectionTimeout)),
      row<ElectionTimeout>(kCandidate, {kDryRun, kFollower}, by(onElectionTimeout)),
      row<PriorityTakeoverDue>(kFollower, {kDryRun, kCatchingUp, kDraining}, by(onPriorityTakeoverDue)),
      row<CatchUpTakeoverDue>(kFollower, {kDryRun, kCatchingUp, kDraining}, by(onCatchUpTakeoverDue)),
      row<StepUp>(kFollower, {kDryRun, kCandidate, kCatchingUp, kDraining}, by(onStepUp)),
      row<StepUpRequest>(kFollower, {kCandidate, kCatchingUp, kDraining}, by(onStepUpRequest)),
      row<VoteReply>(kDryRun, {kCandidate, kFollower}, by(onVoteReply)),
      row<VoteReply>(kCandidate, {kCatchingUp, kDraining, kFollower}, by(onVoteReply)),
      anywhere<VoteReply>({kFollower}, by(onVoteReply)),
      anywhere<VoteRequest>({kFollower}, by(onVoteRequest)),
      // Stepping up.
      row<HeartbeatReply>(kCatchingUp, {kDraining, kFollower, kArbiter, kRemoved}, by(onHeartbeatReply)),
      row<CatchUpRoundOver>(kCatchingUp, {kDraining}, by(onCatchUpRoundOver)),
      row<AppliedAdvanced>(kCatchingUp, {kDraining, kFollower}, by(onAppliedAdvanced)),
      row<CatchUpDone>(kCatchingUp, {kDraining}, by(onCatchUpDone)),
      row<CatchUpTimeout>(kCatchingUp, {kDraining}, by(onCatchUpTimeout)),
      row<Unreachable>(kCatchingUp, {kDraining}, by(onUnreachable)),
      row<LivenessTimeout>(kCatchingUp, {kDraining, kFollower}, by(onLivenessTimeout)),
      row<DrainDone>(kDraining, {kPrimary}, by(onDrainDone)),
      // Stepping down.
      row<StepDown>(kPrimary, {kSteppingDown, kFollower}, by(onStepDown)),
      row<StepDownDeadline>(kSteppingDown, {kPrimary, kFollower}, by(onStepDownDeadline)),
      anywhere<LivenessTimeout>({kFollower}, by(onLivenessTimeout)),
      anywhere<AppliedAdvanced>({kFollower}, by(onAppliedAdvanced)),
      // All the time.
      anywhere<HeartbeatDue>({}, by(onHeartbeatDue)),
      anywhere<HeartbeatRequest>({kFollower}, by(onHeartbeatRequest)),
      anywhere<HeartbeatReply>({kFollower, kArbiter, kRemoved}, by(onHeartbeatReply)),
      anywhere<Unreachable>({}, by(onUnreachable)),
      anywhere<Freeze>({}, by(onFreeze)),
      anywhere<FreezeOver>({}, by(onFreezeOver)),
      anywhere<Maintenance>({}, by(onMaintenance)),
      refusedBy(onInitiate), refusedBy(onStepDown), refusedBy(onStepUp)};
  return table;
}

Step<Topology> Topology::resume(const Document& document) {
  const Snapshot<Topology> found{document, {}};
  Turn t(found);
  t.why = "started";
  t.mem.term = std::max(document.lastVote.term, document.config ? document.config->term : 0);
  rebuildViews(t);
  settle(t);
  sendHeartbeats(t);
  return std::move(t).step();
}

std::vector<machines::Invariant> Topology::invariants() {
  using machines::never;
  return {
      never("two primaries in one term", twoPrimariesInOneTerm),
      never("a primary that no majority has voted for", electedByNoMajority),
      never("a node in a term before its own vote",
            [](const machines::World& w) { return anyNode(w, termBelowItsVote); }),
      never("a candidate that has not voted for itself",
            [](const machines::World& w) { return anyNode(w, candidateWithoutItsVote); }),
      never("a primary that may not be one", [](const machines::World& w) { return anyNode(w, unfitLeader); }),
  };
}

void Topology::facts(const NodeName& node, const Snapshot<Topology>& now, machines::Facts& facts) {
  if (leads(now.memory.phase)) facts.state("leader of term " + std::to_string(now.memory.term), node);
  const LastVote& vote = now.document.lastVote;
  if (vote.term > 0) facts.state("vote of " + node + " in term " + std::to_string(vote.term), vote.candidate);
}

}  // namespace troupe::replication
