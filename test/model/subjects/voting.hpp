#pragma once
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "state_machines/core/machine.hpp"
#include "test/model/model.hpp"

/// A small election in the manner of Raft: the tests of the checker use it as their subject, and it is an example of a
/// machine whose model one can oversee.
namespace troupe::model::voting {

using machines::Facts;
using machines::Invariant;
using machines::Snapshot;
using machines::Step;
using machines::Transitions;

struct ElectionTimeout {};
struct RequestVote {
  int term = 0;
  NodeName candidate;
};
struct Vote {
  int term = 0;
  NodeName from;
};

struct Voter : machines::Machine<Voter> {
  static constexpr const char* kName = "voter";
  enum class Phase { kFollower, kCandidate, kLeader };
  static constexpr auto kPhases =
      machines::phases<Phase>({{Phase::kFollower, "follower", "it votes, and waits to stand"},
                               {Phase::kCandidate, "candidate", "it asked for votes"},
                               {Phase::kLeader, "leader", "a majority voted for it"}});
  struct Document {
    NodeName self;
    std::vector<NodeName> others;
    int term = 0;
    NodeName votedFor;
  };
  struct Memory {
    Phase phase = Phase::kFollower;
    std::set<NodeName> votes;
  };
  using Event = std::variant<ElectionTimeout, RequestVote, Vote>;
  using Message = std::variant<RequestVote, Vote>;

  static const Transitions<Voter>& transitions();
  static Step<Voter> resume(const Document&) { return stay().then(after(Millis(1000), ElectionTimeout{})); }
  static std::vector<Invariant> invariants();
  static void facts(const NodeName& node, const Snapshot<Voter>& now, Facts& facts) {
    if (now.memory.phase == Phase::kLeader) facts.state("leader of term " + std::to_string(now.document.term), node);
  }
};

/// So many voters, that many terms.
Model voters(int count, int terms);

}  // namespace troupe::model::voting

TROUPE_DESCRIBE(troupe::model::voting::ElectionTimeout, 0)
TROUPE_DESCRIBE(troupe::model::voting::RequestVote, 0, term, candidate)
TROUPE_DESCRIBE(troupe::model::voting::Vote, 0, term, from)
TROUPE_DESCRIBE(troupe::model::voting::Voter::Memory, 0, phase, votes)
TROUPE_MACHINE(troupe::model::voting::Voter, 1, self, others, term, votedFor)
