#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "test/unit/state_machines/replication/cluster.hpp"

namespace troupe::replication::test {

using Outcome = machines::Outcome<Topology>;

inline OpTime opTime(int64_t term, uint32_t seconds) { return {term, {seconds, 0}}; }

/// A node that waits for its first config.
inline Snapshot<Topology> blank(const NodeName& host, bool lacksData = false) {
  Topology::Document document;
  document.self = host;
  document.setName = "rs";
  return machines::resumed<Topology>(document, Topology::resume(document, {.lacksData = lacksData})).next;
}

/// A member of the set in that phase and term, that has heard of all others just now.
inline Snapshot<Topology> memberOf(const ReplicaSetConfig& config, const NodeName& self, Phase phase = Phase::kFollower,
                                   int64_t term = 3) {
  Topology::Document document;
  document.self = self;
  document.setName = config.id;
  document.config = config;
  Snapshot<Topology> now = machines::resumed<Topology>(document).next;
  now.memory.phase = phase;
  now.memory.term = term;
  for (MemberView& view : now.memory.members) {
    view.heard = {0};
    view.state = MemberState::kSecondary;
    view.term = term;
    view.config = config.configVersion();
  }
  if (leads(phase)) now.document.lastVote = {term, self};
  return now;
}
inline MemberView& viewOf(Snapshot<Topology>& now, const NodeName& host) {
  for (MemberView& view : now.memory.members)
    if (view.host == host) return view;
  throw std::logic_error("no view of " + host);
}

inline Outcome when(const Snapshot<Topology>& now, Topology::Event event) {
  return machines::advance<Topology>(now, event);
}
inline Phase phaseAfter(const Outcome& out) { return out.next.memory.phase; }

/// All messages of that type, with their receivers.
template <class M>
std::vector<std::pair<NodeName, M>> said(const Outcome& out) {
  std::vector<std::pair<NodeName, M>> found;
  for (const auto& effect : out.effects)
    if (const auto* send = std::get_if<machines::Send<Topology>>(&effect))
      if (const M* message = std::get_if<M>(&send->message)) found.push_back({send->to, *message});
  return found;
}
template <class A>
std::optional<A> did(const Outcome& out) {
  for (const auto& effect : out.effects)
    if (const auto* todo = std::get_if<machines::Do<Topology>>(&effect))
      if (const A* action = std::get_if<A>(&todo->action)) return *action;
  return std::nullopt;
}
template <class E>
std::optional<machines::Arm<Topology>> armed(const Outcome& out) {
  for (const auto& effect : out.effects)
    if (const auto* arm = std::get_if<machines::Arm<Topology>>(&effect))
      if (std::holds_alternative<E>(arm->event)) return *arm;
  return std::nullopt;
}
template <class E>
bool takesBack(const Outcome& out) {
  return std::ranges::any_of(out.effects, [](const auto& effect) {
    const auto* disarm = std::get_if<machines::Disarm<Topology>>(&effect);
    return disarm && std::holds_alternative<E>(disarm->event);
  });
}
/// The answer to the command of this step: OK, or the refusal; nothing if it is still open.
inline std::optional<Status> answered(const Outcome& out) {
  for (const auto& effect : out.effects) {
    if (std::holds_alternative<machines::Reply<Topology>>(effect)) return Status::OK();
    if (const auto* refuse = std::get_if<machines::Refuse>(&effect)) return refuse->why;
  }
  return std::nullopt;
}

/// The heartbeat reply with which a member shows what `of` is.
inline HeartbeatReply shown(const Snapshot<Topology>& of, const NodeName& to) {
  HeartbeatReply reply;
  reply.sender.from = of.document.self;
  reply.sender.term = of.memory.term;
  reply.sender.config = of.document.config->configVersion();
  reply.sender.state = stateOf(of);
  reply.sender.applied = of.memory.applied;
  reply.sender.durable = of.memory.durable;
  reply.sender.source = of.memory.source;
  reply.to = to;
  reply.setName = of.document.setName;
  reply.replicaSetId = of.document.replicaSetId();
  return reply;
}

/// Two sets with the name "rs", as operators make them who initiate two nodes and then add the one to the other.
inline const bson::ObjectId kOwnId{{1}}, kOtherId{{2}};
inline ReplicaSetConfig withId(ReplicaSetConfig config, const ReplicaSetId& id) {
  config.settings.replicaSetId = id;
  return config;
}
/// Names the node, both ids, and what to do.
inline void expectTellsOfAnotherSet(const std::string& text, const NodeName& host, const bson::ObjectId& its,
                                    const bson::ObjectId& other) {
  for (const std::string& part :
       {host + " is in another set", "replicaSetId is " + its.toString() + ", not " + other.toString(),
        std::string("empty data directory"), std::string("removed from the config")})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

inline const std::vector<NodeName> kThree = {"a:1", "b:1", "c:1"};
inline const ReplicaSetConfig kConfig = configOf(kThree);

}  // namespace troupe::replication::test
