#include <algorithm>

#include "test/model/mutants/mutant.hpp"
#include "test/model/subjects/commitment.hpp"

namespace troupe::model {

namespace {

using commitment::Replica;
using machines::Snapshot;
using machines::Step;
using CommitmentReal = Mutation<Replica>::Decide;

Model threeReplicas() { return commitment::replicas({.terms = 3, .entries = 3}); }

template <class E>
std::function<std::shared_ptr<void>()> on(Step<Replica> (*change)(const CommitmentReal&, const Snapshot<Replica>&,
                                                                  const E&)) {
  return [change] { return planted(Mutation<Replica>::on<E>(change)); };
}

/// Of whatever term: the newest entry that a majority has.
Step<Replica> countsEveryTerm(const CommitmentReal& real, const Snapshot<Replica>& now, const commitment::Report& e) {
  Step<Replica> step = real(now, e);
  if (!step.memory || step.memory->phase != Replica::Phase::kLeading) return step;
  const OpTime known = std::min(e.position, commitment::newestOf(now.document.log));
  step.memory->commitPoint = std::max(step.memory->commitPoint, known);
  return step;
}

/// A primary counts a member that has voted for the next one meanwhile.
Step<Replica> countsLaterTerms(const CommitmentReal& real, const Snapshot<Replica>& now, const commitment::Report& e) {
  commitment::Report older = e;
  older.term = std::min(e.term, now.document.term);
  return real(now, older);
}

/// What is committed on the source's branch counts as committed up to the own end, on whatever branch that is.
Step<Replica> learnsOfOtherBranches(const CommitmentReal& real, const Snapshot<Replica>& now,
                                    const commitment::News& e) {
  Step<Replica> step = real(now, e);
  if (!step.memory) return step;
  const OpTime learned = std::min(e.commitPoint, commitment::newestOf(now.document.log));
  step.memory->commitPoint = std::max(step.memory->commitPoint, learned);
  return step;
}

/// A vote for a candidate that has less than the voter.
Step<Replica> votesForLess(const CommitmentReal& real, const Snapshot<Replica>& now, const commitment::VoteRequest& e) {
  commitment::VoteRequest more = e;
  more.applied = std::max(e.applied, commitment::newestOf(now.document.log));
  return real(now, more);
}

}  // namespace

std::vector<Mutant> commitmentMutants() {
  const auto mutant = [](const char* name, auto plant) {
    return Mutant{"commitment", name, "entry ", threeReplicas, std::move(plant)};
  };
  return {mutant("entries of earlier terms are committed by counting", on<commitment::Report>(countsEveryTerm)),
          mutant("reports of members that have voted since are counted", on<commitment::Report>(countsLaterTerms)),
          mutant("a commit point is taken over from another branch", on<commitment::News>(learnsOfOtherBranches)),
          mutant("a vote goes to a candidate that has less", on<commitment::VoteRequest>(votesForLess))};
}

}  // namespace troupe::model
