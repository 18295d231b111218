#include "test/model/subjects/election.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace troupe::model {

using namespace replication;
using Phase = Topology::Phase;

namespace {

bool stands(const Snapshot<Topology>& now) {
  return now.memory.phase == Phase::kDryRun || now.memory.phase == Phase::kCandidate;
}

/// Terms begin with a persisted vote of a candidate for itself.
bool termWithoutAVote(const machines::World& world) {
  int64_t highest = 0, voted = 0;
  world.each<Topology>([&](const NodeName&, bool alive, const Snapshot<Topology>& node) {
    if (alive) highest = std::max(highest, node.memory.term);
    voted = std::max(voted, node.document.lastVote.term);
  });
  return highest > voted;
}

bool unfitCandidate(const machines::World& world) {
  bool found = false;
  world.each<Topology>([&](const NodeName&, bool alive, const Snapshot<Topology>& node) {
    found |= alive && stands(node) && !node.document.config->member(node.document.self)->isElectable();
  });
  return found;
}

/// A new primary has a config at least as new as that of a majority.
bool primaryOfAnOldConfig(const machines::World& world) {
  bool found = false;
  world.each<Topology>([&](const NodeName&, bool alive, const Snapshot<Topology>& leader) {
    if (!alive || leader.memory.phase != Phase::kCatchingUp) return;
    const ConfigVersion mine = leader.document.config->configVersion();
    int newer = 0;
    world.each<Topology>([&](const NodeName&, bool, const Snapshot<Topology>& other) {
      newer += other.document.config->configVersion().isNewerThan(mine) ? 1 : 0;
    });
    found |= newer >= leader.document.config->majority();
  });
  return found;
}

std::set<NodeName> renamed(const std::set<NodeName>& names, const Renaming& rename) {
  std::set<NodeName> out;
  for (const NodeName& name : names) out.insert(rename(name));
  return out;
}

/// All members are alike. The config is the same under any renaming of them, and views stand in its order.
void reduce(Model& model, const std::vector<MemberConfig>& members) {
  std::vector<NodeName> names;
  for (const MemberConfig& member : members) names.push_back(member.host);
  model.interchangeable(names);
  model.renames<Topology>([](Snapshot<Topology>& now, const Renaming& rename) {
    now.document.self = rename(now.document.self);
    if (now.document.lastVote.term > 0) now.document.lastVote.candidate = rename(now.document.lastVote.candidate);
    auto& memory = now.memory;
    for (MemberView& view : memory.members) view.host = rename(view.host);
    std::sort(memory.members.begin(), memory.members.end(),
              [](const auto& a, const auto& b) { return a.host < b.host; });
    memory.granted = renamed(memory.granted, rename);
    memory.refused = renamed(memory.refused, rename);
    memory.awaited = renamed(memory.awaited, rename);
  });
  model.renamesValue<VoteRequest>([](VoteRequest& vote, const Renaming& rename) { vote.from = rename(vote.from); });
  model.renamesValue<VoteReply>([](VoteReply& vote, const Renaming& rename) { vote.from = rename(vote.from); });
  model.renamesValue<LivenessTimeout>(
      [](LivenessTimeout& timer, const Renaming& rename) { timer.host = rename(timer.host); });
  // Its term never falls below that of its vote, which no crash takes back: the answer is of an election that is over
  // for ever.
  model.inertOnce<Topology, VoteReply>(
      [](const Snapshot<Topology>& now, const VoteReply& reply) { return reply.term < now.document.lastVote.term; });
}

void addTo(Model& model, const ElectionModel& options) {
  ReplicaSetConfig config;
  config.id = "rs";
  config.term = 0;
  config.members = options.members;
  for (size_t at = 0; at < options.members.size(); ++at) {
    Topology::Document document{.self = options.members[at].host, .setName = "rs"};
    document.config = config;
    if (at < options.configVersions.size()) document.config->version = options.configVersions[at];
    model.machine<Topology>(document.self, document);
  }
}

}  // namespace

std::vector<MemberConfig> votingMembers(int count) {
  std::vector<MemberConfig> members(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    members[static_cast<size_t>(i)].id = i;
    members[static_cast<size_t>(i)].host = "n" + std::to_string(i + 1);
  }
  return members;
}

Model elections(const ElectionModel& options) {
  Model model;
  model.network = Network::kEverlasting;
  model.faults.crashes = options.crashes;
  model.simplify<Topology>([allFollow = options.allFollow](Snapshot<Topology>& now) {
    for (auto& member : now.memory.members) {
      member.heard = {0};
      if (allFollow) member.state = MemberState::kSecondary;
    }
  });
  model.simplifyValue<VoteReply>([](VoteReply& reply) { reply.reason.clear(); });
  model.loseAll<HeartbeatRequest>();
  model.loseAll<HeartbeatReply>();
  model.firesOnlyIf<Topology, HeartbeatDue>();
  model.firesOnlyIf<Topology, LivenessTimeout>();
  std::vector<NodeName> standing;
  for (const auto& member : options.members)
    if (static_cast<int>(standing.size()) < options.standing) standing.push_back(member.host);
  if (standing.size() < options.members.size())
    model.firesOnlyIf<Topology, ElectionTimeout>([standing](const auto& now, const auto&) {
      return std::find(standing.begin(), standing.end(), now.document.self) != standing.end();
    });
  if (options.reduced && (!options.configVersions.empty() || standing.size() < options.members.size()))
    throw std::invalid_argument("members that begin differently are not alike");
  if (options.reduced) reduce(model, options.members);
  addTo(model, options);
  model.within<Topology>([terms = options.terms](const auto& now) { return now.memory.term <= terms; });
  model.comesOf<Topology, CatchUp>(
      [](const NodeName&, const CatchUp& a) { return std::vector<Topology::Event>{CatchUpDone{a.term}}; });
  model.comesOf<Topology, Drain>(
      [](const NodeName&, const Drain& a) { return std::vector<Topology::Event>{DrainDone{a.term}}; });
  model.never("a term that began without a vote", termWithoutAVote);
  model.never("a node stands that may not", unfitCandidate);
  model.never("a new primary has an older config than a majority", primaryOfAnOldConfig);
  model.goal("a primary", [](const machines::World& world) {
    return world.count<Topology>([](const auto& node) { return node.memory.phase == Phase::kPrimary; }) > 0;
  });
  return model;
}

Model handoffs() {
  Model model = elections({.members = votingMembers(3), .terms = 2, .standing = 0, .allFollow = true});
  model.network = Network::kFaulty;  // where a request is lost, an election timeout has to pass
  model.firesOnlyIf<Topology, FreezeOver>();
  model.firesOnlyIf<Topology, StepDownDeadline>();
  model.client<Topology>("n1", StepUp{.skipDryRun = true});
  model.client<Topology>("n1", StepDown{}, kAnyNumber);
  model.client<Topology>("n2", Freeze{Millis(1000)});
  model.comesOf<Topology, RefuseWrites>([](const NodeName&, const RefuseWrites& refused) {
    return std::vector<Topology::Event>{WritesEnded{1, {}, refused.attempt}};
  });
  model.simplifyValue<StepUpRefusal>([](StepUpRefusal& refusal) { refusal.why.clear(); });
  model.goal("another primary", [](const machines::World& world) {
    return world.count<Topology>(
               [](const auto& node) { return node.memory.phase == Phase::kPrimary && node.document.self != "n1"; }) > 0;
  });
  return model;
}

}  // namespace troupe::model
