#include "test/model/subjects/voting.hpp"

namespace troupe::model::voting {

using Phase = Voter::Phase;

const Transitions<Voter>& Voter::transitions() {
  static const Transitions<Voter> table{
      anywhere<ElectionTimeout>({Phase::kCandidate},
                                [](const Snapshot<Voter>& now, const ElectionTimeout&) -> Step<Voter> {
                                  auto again = after(Millis(1000), ElectionTimeout{});
                                  if (now.memory.phase == Phase::kLeader) return stay().then(again);
                                  Document d = now.document;
                                  ++d.term;
                                  d.votedFor = d.self;
                                  std::vector<machines::Effect<Voter>> effects{again};
                                  for (const auto& other : d.others)
                                    effects.push_back(send(other, RequestVote{d.term, d.self}));
                                  return stay().with(d).remembering({Phase::kCandidate, {d.self}}).then(effects);
                                }),
      anywhere<RequestVote>({Phase::kFollower},
                            [](const Snapshot<Voter>& now, const RequestVote& e) -> Step<Voter> {
                              Document d = now.document;
                              if (e.term < d.term ||
                                  (e.term == d.term && !d.votedFor.empty() && d.votedFor != e.candidate))
                                return stay();
                              const bool isNew = e.term > d.term;
                              d.term = e.term;
                              d.votedFor = e.candidate;
                              Memory m = isNew ? Memory{} : now.memory;
                              return stay().with(d).remembering(m).then(send(e.candidate, Vote{d.term, d.self}));
                            }),
      row<Vote>(Phase::kCandidate, {Phase::kLeader}, [](const Snapshot<Voter>& now, const Vote& e) -> Step<Voter> {
        if (e.term != now.document.term) return stay();
        Memory m = now.memory;
        m.votes.insert(e.from);
        if (m.votes.size() * 2 > now.document.others.size() + 1) m.phase = Phase::kLeader;
        return stay().remembering(m);
      })};
  return table;
}

std::vector<Invariant> Voter::invariants() {
  return {machines::never("two leaders of one term", [](const machines::World& world) {
    std::set<int> terms;
    bool twice = false;
    world.each<Voter>([&](const NodeName&, bool alive, const Snapshot<Voter>& voter) {
      if (alive && voter.memory.phase == Phase::kLeader) twice |= !terms.insert(voter.document.term).second;
    });
    return twice;
  })};
}

Model voters(int count, int terms) {
  Model model;
  std::vector<NodeName> names;
  for (int i = 1; i <= count; ++i) names.push_back("n" + std::to_string(i));
  for (const auto& self : names) {
    Voter::Document document{.self = self};
    for (const auto& other : names)
      if (other != self) document.others.push_back(other);
    model.machine<Voter>(self, document);
  }
  model.within<Voter>([terms](const Snapshot<Voter>& now) { return now.document.term <= terms; });
  model.goal("a leader", [](const machines::World& world) {
    return world.count<Voter>([](const auto& voter) { return voter.memory.phase == Phase::kLeader; }) > 0;
  });
  return model;
}

}  // namespace troupe::model::voting
