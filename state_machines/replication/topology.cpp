#include "state_machines/replication/topology.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

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

using Phases = std::initializer_list<Phase>;

/// The table while it is written: rules by the phases in which they apply.
class Table {
 public:
  template <class E>
  using Rule = void (*)(Turn&, const E&);

  /// In these phases, with the phases it may lead to besides staying.
  template <class E>
  Table& in(Phases phases, std::initializer_list<machines::Target<Phase>> targets, Rule<E> rule) {
    for (const Phase phase : phases) {
      rows_.push_back(T::row<E>(phase, targets, by(rule)));
      std::erase_if(rows_.back().targets, [phase](const auto& target) { return target.phase == phase; });
    }
    return *this;
  }
  /// The rule for the event in all other phases; it leads to no other phase.
  template <class E>
  Table& elsewhere(Rule<E> rule) {
    rows_.push_back(T::anywhere<E>({}, by(rule)));
    return *this;
  }
  machines::Transitions<T> transitions() && { return machines::Transitions<T>(std::move(rows_)); }

 private:
  template <class E>
  static auto by(Rule<E> rule) {
    return [rule](const Snapshot<T>& now, const E& event) {
      Turn t(now);
      rule(t, event);
      return std::move(t).step();
    };
  }
  std::vector<machines::Transition<T>> rows_;
};

constexpr Phases kStanding = {kDryRun, kCandidate};
constexpr Phases kLeading = {kCatchingUp, kDraining, kPrimary, kSteppingDown};
constexpr Phases kElected = {kDraining, kPrimary, kSteppingDown};  // and caught up

void addConfigRules(Table& table) {
  table.in<Initiate>({kStartup}, {kInitiating, kFollower}, onInitiate)
      .in<MembersDeadline>({kInitiating}, {kStartup}, onInitiateDeadline)
      .in<MembersDeadline>({kPrimary, kSteppingDown}, {}, onNewMembersDeadline)
      .in<ReconfigDeadline>({kPrimary, kSteppingDown}, {}, onReconfigDeadline)
      .elsewhere<Initiate>(onInitiate);
  table.in<Reconfig>({kRemoved}, {kFollower, kArbiter}, onReconfig)
      .in<Reconfig>({kArbiter, kFollower}, {kRemoved}, onReconfig)
      .in<Reconfig>(kStanding, {kFollower, kRemoved}, onReconfig)
      .in<Reconfig>(kLeading, {kFollower, kRemoved}, onReconfig)
      .elsewhere<Reconfig>(onReconfig)
      .elsewhere<ConfigInUse>(onConfigInUse);
}

void addElectionRules(Table& table) {
  table.in<ElectionTimeout>({kFollower}, {kDryRun, kCatchingUp, kDraining}, onElectionTimeout)
      .in<ElectionTimeout>({kDryRun}, {kFollower}, onElectionTimeout)
      .in<ElectionTimeout>({kCandidate}, {kDryRun, kFollower}, onElectionTimeout)
      .in<PriorityTakeoverDue>({kFollower}, {kDryRun}, onPriorityTakeoverDue)
      .in<CatchUpTakeoverDue>({kFollower}, {kDryRun}, onCatchUpTakeoverDue);
  table.in<StepUp>({kFollower}, {kDryRun, kCandidate, kCatchingUp, kDraining}, onStepUp).elsewhere<StepUp>(onStepUp);
  table.in<StepUpRequest>({kFollower}, {kCandidate, kCatchingUp, kDraining}, onStepUpRequest)
      .in<StepUpRefusal>({kFollower}, {}, onStepUpRefusal);
  table.in<VoteReply>({kDryRun}, {kCandidate, kFollower}, onVoteReply)
      .in<VoteReply>({kCandidate}, {kCatchingUp, kDraining, kFollower}, onVoteReply)
      .in<VoteReply>(kLeading, {kFollower}, onVoteReply)
      .elsewhere<VoteReply>(onVoteReply);
  table.in<VoteRequest>(kStanding, {kFollower}, onVoteRequest)
      .in<VoteRequest>(kLeading, {kFollower}, onVoteRequest)
      .elsewhere<VoteRequest>(onVoteRequest);
  table.elsewhere<Freeze>(onFreeze).elsewhere<FreezeOver>(onFreezeOver).elsewhere<Maintenance>(onMaintenance);
  table.elsewhere<RollingBack>(onRollingBack).elsewhere<CopyingData>(onCopyingData);
  table.elsewhere<OwnData>(onOwnData);
}

void addStepUpAndDownRules(Table& table) {
  table.in<CatchUpRoundOver>({kCatchingUp}, {kDraining}, onCatchUpRoundOver)
      .in<CatchUpDone>({kCatchingUp}, {kDraining}, onCatchUpDone)
      .in<CatchUpTimeout>({kCatchingUp}, {kDraining}, onCatchUpTimeout)
      .in<DrainDone>({kDraining}, {kPrimary}, onDrainDone)
      .in<Elected>(kLeading, {}, onElected);
  table.in<AppliedAdvanced>({kCatchingUp}, {kDraining, kFollower}, onAppliedAdvanced)
      .in<AppliedAdvanced>(kStanding, {kFollower}, onAppliedAdvanced)
      .in<AppliedAdvanced>(kElected, {kFollower}, onAppliedAdvanced)
      .elsewhere<AppliedAdvanced>(onAppliedAdvanced);
  table.in<MemberAdvanced>({kSteppingDown}, {kFollower}, onMemberAdvanced)
      .in<MemberAdvanced>({kCatchingUp, kDraining, kPrimary}, {}, onMemberAdvanced);
  table.in<MembersHeard>({kSteppingDown}, {kFollower}, onMembersHeard).elsewhere<MembersHeard>(onMembersHeard);
  table.in<WritesEnded>({kSteppingDown}, {kFollower}, onWritesEnded);
  table.in<StepDown>({kPrimary}, {kSteppingDown}, onStepDown)
      .in<StepDownDeadline>({kSteppingDown}, {kPrimary, kFollower}, onStepDownDeadline)
      .elsewhere<StepDown>(onStepDown);
}

void addHeartbeatRules(Table& table) {
  table.elsewhere<HeartbeatDue>(onHeartbeatDue);
  table.in<HeartbeatRequest>(kStanding, {kFollower}, onHeartbeatRequest)
      .in<HeartbeatRequest>(kLeading, {kFollower}, onHeartbeatRequest)
      .elsewhere<HeartbeatRequest>(onHeartbeatRequest);
  table.in<HeartbeatReply>({kStartup}, {kFollower, kArbiter, kRemoved}, onHeartbeatReply)
      .in<HeartbeatReply>({kInitiating}, {kStartup, kFollower}, onHeartbeatReply)
      .in<HeartbeatReply>({kRemoved, kArbiter, kFollower, kDryRun, kCandidate}, {kFollower, kArbiter, kRemoved},
                          onHeartbeatReply)
      .in<HeartbeatReply>({kCatchingUp}, {kDraining, kFollower, kArbiter, kRemoved}, onHeartbeatReply)
      .in<HeartbeatReply>(kElected, {kFollower, kArbiter, kRemoved}, onHeartbeatReply);
  table.in<LivenessTimeout>({kCatchingUp}, {kDraining, kFollower}, onLivenessTimeout)
      .in<LivenessTimeout>(kElected, {kFollower}, onLivenessTimeout)
      .elsewhere<LivenessTimeout>(onLivenessTimeout);
  table.in<Unreachable>({kCatchingUp}, {kDraining}, onUnreachable).elsewhere<Unreachable>(onUnreachable);
  table.in<TermHeard>(kStanding, {kFollower}, onTermHeard)
      .in<TermHeard>(kLeading, {kFollower}, onTermHeard)
      .elsewhere<TermHeard>(onTermHeard);
}

bool areOfOneSet(const Snapshot<T>& a, const Snapshot<T>& b) {
  if (!a.document.config || !b.document.config || a.document.config->id != b.document.config->id) return false;
  return checkSameSet(b.document.self, b.document.setName, b.document.replicaSetId(), a.document.replicaSetId()).isOK();
}

bool twoPrimariesInOneTerm(const machines::World& world) {
  bool broken = false;
  std::map<int64_t, int> primaries;
  world.each<T>([&](const NodeName&, bool alive, const Snapshot<T>& node) {
    if (alive && leads(node.memory.phase)) broken |= ++primaries[node.memory.term] > 1;
  });
  return broken;
}

/// Members that voted since then in a later term may have voted for it. Looks at new primaries only: they still have
/// the config in which they were elected.
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
  world.each<T>(
      [&](const NodeName& name, bool alive, const Snapshot<T>& node) { found |= alive && condition(name, node); });
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
  static const machines::Transitions<Topology> table = [] {
    Table written;
    addConfigRules(written);
    addElectionRules(written);
    addStepUpAndDownRules(written);
    addHeartbeatRules(written);
    return std::move(written).transitions();
  }();
  return table;
}

Step<Topology> Topology::resume(const Document& document, const AtStart& atStart) {
  const Snapshot<Topology> found{document, {}};
  Turn t(found);
  t.why = "started";
  t.mem.term = std::max({document.lastVote.term, document.config ? document.config->term : 0, atStart.newestTerm});
  t.mem.copyingData = atStart.lacksData;
  t.mem.rollingBack = atStart.rollsBack;
  t.mem.tooStale = atStart.tooStale;
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
