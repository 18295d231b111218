#include "test/model/mutants/mutant.hpp"
#include "test/model/subjects/clerk.hpp"
#include "test/model/subjects/voting.hpp"

/// Bugs in the machines of the checker's own tests, and in the host around machines.
namespace troupe::model {

using machines::Snapshot;
using machines::Step;
using voting::Voter;

namespace {

Model threeVoters() { return voting::voters(3, 1); }

std::shared_ptr<void> votesForEverybodyElse() {
  return planted(Mutation<Voter>::on<voting::RequestVote>(
      [](const auto& real, const Snapshot<Voter>& now, const voting::RequestVote& e) -> Step<Voter> {
        Snapshot<Voter> forgetful = now;
        if (now.document.votedFor != now.document.self) forgetful.document.votedFor.clear();
        return real(forgetful, e);
      }));
}

Model answersLate() {
  Model model = clerk::clerkAndBook();
  model.faults = {.crashes = 1, .losses = 1, .duplications = 1};
  model.hostBug = HostBug::kAnswersLate;
  return model;
}

Model memorySurvives() {
  Model model = clerk::sleeper();
  model.faults.crashes = 1;
  model.hostBug = HostBug::kMemorySurvives;
  return model;
}

}  // namespace

std::vector<Mutant> checkerMutants() {
  return {
      {"voting", "a voter votes for all who ask", "two leaders of one term", threeVoters, votesForEverybodyElse},
      {"host", "an answer is heard after the phase of its question", clerk::kBothNoted, answersLate, {}},
      {"host", "a machine finds the memory of its last life", clerk::kNothingRemembered, memorySurvives, {}},
  };
}

}  // namespace troupe::model
