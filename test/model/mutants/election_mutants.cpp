#include <algorithm>
#include <utility>

#include "test/model/mutants/mutant.hpp"
#include "test/model/subjects/election.hpp"

namespace troupe::model {

using namespace replication;
using Phase = Topology::Phase;
using Bug = Mutation<Topology>;
using Real = Bug::Decide;
using Now = Snapshot<Topology>;

namespace {

std::function<Model()> voters(int standing = 2, int crashes = 0, int64_t terms = 1) {
  return [=] {
    return elections({.members = votingMembers(3), .terms = terms, .standing = standing, .crashes = crashes});
  };
}

template <class E>
std::function<std::shared_ptr<void>()> on(Step<Topology> (*change)(const Real&, const Now&, const E&)) {
  return [change] { return planted(Bug::on<E>(change)); };
}

Step<Topology> voteNotPersisted(const Real& real, const Now& now, const VoteRequest& e) {
  Step<Topology> step = real(now, e);
  step.document.reset();
  return step;
}

Step<Topology> voteThatACrashUndoes(const Real& real, const Now& now, const VoteRequest& e) {
  Step<Topology> step = real(now, e);
  step.durability = machines::Durability::kLocal;
  return step;
}

Step<Topology> votesTwice(const Real& real, const Now& now, const VoteRequest& e) {
  Now forgetful = now;
  if (now.document.lastVote.candidate != now.document.self) forgetful.document.lastVote = {};
  return real(forgetful, e);
}

Step<Topology> votesAfterVotingForItself(const Real& real, const Now& now, const VoteRequest& e) {
  Now forgetful = now;
  forgetful.document.lastVote = {};
  return real(forgetful, e);
}

Step<Topology> olderTermAccepted(const Real& real, const Now& now, const VoteRequest& e) {
  Now back = now;
  back.memory.term = std::min(now.memory.term, e.term);
  return real(back, e);
}

Step<Topology> dryRunRaisesTheTerm(const Real& real, const Now& now, const ElectionTimeout& e) {
  Step<Topology> step = real(now, e);
  if (step.memory && step.memory->phase == Phase::kDryRun) step.memory->term += 1;
  return step;
}

Step<Topology> countsItselfTwice(const Real& real, const Now& now, const VoteReply& e) {
  Now counting = now;
  if (now.memory.phase == Phase::kCandidate) counting.memory.granted.insert(now.document.self + ", once more");
  return real(counting, e);
}

Step<Topology> refusalIsAVote(const Real& real, const Now& now, const VoteReply& e) {
  VoteReply granted = e;
  granted.granted = true;
  return real(now, granted);
}

Step<Topology> dryVoteIsAVote(const Real& real, const Now& now, const VoteReply& e) {
  VoteReply counted = e;
  if (now.memory.phase == Phase::kCandidate && e.dryRun && e.granted) {
    counted.dryRun = false;
    counted.term = now.memory.term;
  }
  return real(now, counted);
}

Step<Topology> candidateWithoutItsOwnVote(const Real& real, const Now& now, const VoteReply& e) {
  Step<Topology> step = real(now, e);
  step.document.reset();
  return step;
}

Step<Topology> keepsItsOldTerm(const Real& real, const Now& now, const VoteRequest& e) {
  Step<Topology> step = real(now, e);
  if (step.memory) step.memory->term = now.memory.term;
  return step;
}

/// Keeps two mutations alive.
std::shared_ptr<void> both(std::shared_ptr<void> first, std::shared_ptr<void> second) {
  return std::make_shared<std::pair<std::shared_ptr<void>, std::shared_ptr<void>>>(std::move(first), std::move(second));
}

/// A member without a vote votes, and is counted as if it were a voter.
std::shared_ptr<void> countNonVoters() {
  auto voting = planted(Bug::on<VoteRequest>([](const Real& real, const Now& now, const VoteRequest& e) {
    Now changed = now;
    for (auto& member : changed.document.config->members) member.votes = 1;
    Step<Topology> step = real(changed, e);
    if (step.document) step.document->config = now.document.config;
    return step;
  }));
  auto counting = planted(Bug::on<VoteReply>([](const Real& real, const Now& now, const VoteReply& e) {
    VoteReply counted = e;
    const MemberConfig* member = now.document.config->member(e.from);
    if (member && !member->isVoter())
      for (const auto& other : now.document.config->members)
        if (other.isVoter() && !now.memory.granted.contains(other.host)) counted.from = other.host;
    return real(now, counted);
  }));
  return both(voting, counting);
}

Model threeVotersAndAnother() {
  auto members = votingMembers(4);
  members[3].votes = 0;
  members[3].priority = 0;
  return elections({.members = members, .terms = 1, .standing = 2});
}

Step<Topology> staleConfigAccepted(const Real& real, const Now& now, const VoteRequest& e) {
  VoteRequest request = e;
  request.config = now.document.config->configVersion();
  return real(now, request);
}

/// n1 slept through a reconfiguration.
Model oneWithAnOldConfig() {
  return elections({.members = votingMembers(3), .terms = 1, .standing = 2, .configVersions = {1, 2, 2}});
}

/// Asked to stand, an arbiter forgets what it is.
Step<Topology> arbiterStands(const Real& real, const Now& now, const StepUp& e) {
  Now changed = now;
  if (now.memory.phase == Phase::kArbiter) {
    changed.memory.phase = Phase::kFollower;
    for (auto& member : changed.document.config->members) (member.arbiterOnly = false, member.priority = 1);
  }
  Step<Topology> step = real(changed, e);
  if (step.document) step.document->config = now.document.config;
  return step;
}

/// And the others vote for it.
std::shared_ptr<void> arbiterIsElected() {
  return both(planted(Bug::on<StepUp>(arbiterStands)),
              planted(Bug::on<VoteRequest>([](const Real& real, const Now& now, const VoteRequest& e) {
                Now changed = now;
                for (auto& member : changed.document.config->members) (member.arbiterOnly = false, member.priority = 1);
                Step<Topology> step = real(changed, e);
                if (step.document) step.document->config = now.document.config;
                return step;
              })));
}

Model twoAndAnArbiter(bool othersStand) {
  auto members = votingMembers(3);
  members[2].arbiterOnly = true;
  members[2].priority = 0;
  Model model = elections({.members = members, .terms = 1, .standing = othersStand ? 2 : 0});
  model.client<Topology>("n3", StepUp{.skipDryRun = true});
  if (!othersStand) model.goal({}, {});
  return model;
}

Model voteBeforeItIsSafe() {
  Model model = voters(2, 1)();
  model.hostBug = HostBug::kEffectsBeforePersist;
  return model;
}

/// It never gives up, and nobody else stands: a vote split once is split forever.
Step<Topology> neverStandsAgain(const Real& real, const Now& now, const ElectionTimeout& e) {
  if (now.memory.phase == Phase::kCandidate) return Topology::stay();
  return real(now, e);
}

/// One that may not stand keeps that to itself.
Step<Topology> refusesSilently(const Real& real, const Now& now, const StepUpRequest& e) {
  Step<Topology> step = real(now, e);
  if (!step.memory) step.effects.clear();
  return step;
}

Step<Topology> asksNobodyElse(const Real&, const Now&, const StepUpRefusal&) { return Topology::stay(); }

Step<Topology> asksTheSameOneAgain(const Real& real, const Now& now, const StepUpRefusal& e) {
  Step<Topology> step = real(now, e);
  if (step.memory && step.memory->handoff) step.memory->handoff->unwilling.clear();
  for (auto& effect : step.effects)
    if (auto* send = std::get_if<machines::Send<Topology>>(&effect)) send->to = e.from;
  return step;
}

}  // namespace

std::vector<Mutant> electionMutants() {
  constexpr const char* kTwo = "two primaries in one term";
  constexpr const char* kLeader = "leader of term";  // a fact
  constexpr const char* kMinority = "a primary that no majority has voted for";
  constexpr const char* kNoOther = "no way to: another primary";
  constexpr const char* kUnvoted = "a term that began without a vote";
  return {
      {"elections", "a vote is not persisted", kMinority, voters(), on(voteNotPersisted)},
      {"elections", "a vote is persisted so that a crash undoes it", "vote of", voters(2, 1), on(voteThatACrashUndoes)},
      {"elections", "a vote is sent before it is persisted", kLeader, voteBeforeItIsSafe, {}},
      {"elections", "a node votes for two in one term", kTwo, voters(), on(votesTwice)},
      {"elections", "a candidate votes for another one as well", kLeader, voters(), on(votesAfterVotingForItself)},
      {"elections", "a request of an older term is granted", kMinority, voters(2, 0, 2), on(olderTermAccepted)},
      {"elections", "a dry run raises the term", kUnvoted, voters(), on(dryRunRaisesTheTerm)},
      {"elections", "a candidate counts its own vote twice", kTwo, voters(), on(countsItselfTwice)},
      {"elections", "a refusal counts as a vote", kMinority, voters(), on(refusalIsAVote)},
      {"elections", "a vote of the dry run counts in the election", kTwo, voters(), on(dryVoteIsAVote)},
      {"elections", "a candidate does not persist its own vote", "a candidate that has not voted for itself", voters(),
       on(candidateWithoutItsOwnVote)},
      {"elections", "a voter does not go to the term of its vote", "a node in a term before its own vote", voters(),
       on(keepsItsOldTerm)},
      {"elections", "members without a vote are counted", kMinority, threeVotersAndAnother, countNonVoters},
      {"elections", "a candidate with an old config is elected", "an older config", oneWithAnOldConfig,
       on(staleConfigAccepted)},
      {"elections", "an arbiter stands", "a node stands that may not", [] { return twoAndAnArbiter(true); },
       on(arbiterStands)},
      {"elections", "an arbiter is elected", "a primary that may not be one", [] { return twoAndAnArbiter(false); },
       arbiterIsElected},
      {"handoffs", "one that may not take over does not say so", kNoOther, handoffs, on(refusesSilently)},
      {"handoffs", "a refusal ends the handoff", kNoOther, handoffs, on(asksNobodyElse)},
      {"handoffs", "the one that refused is asked again", kNoOther, handoffs, on(asksTheSameOneAgain)},
      {"elections", "a candidate never tries again", "no way to: a primary", voters(1), on(neverStandsAgain)},
  };
}

}  // namespace troupe::model
