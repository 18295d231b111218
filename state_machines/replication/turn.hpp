#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "state_machines/replication/topology.hpp"

namespace troupe::replication {

/// One event being handled: a working copy of the machine and what is to be done. The rules of the topology machine are
/// functions that change a turn; the steps of the machine are turns that were handed in.
struct Turn {
  using Phase = Topology::Phase;

  explicit Turn(const Snapshot<Topology>& now) : before(now), doc(now.document), mem(now.memory) {}

  const Snapshot<Topology>& before;
  Topology::Document doc;
  Topology::Memory mem;
  std::vector<Effect<Topology>> effects;
  std::string why;                       ///< of a change of role, for people
  std::optional<OpenCommand> answering;  ///< the command of this turn, if it may stay open

  /// The step that leads from `before` to here. A changed document is journaled before any effect; a change of role is
  /// announced before all other effects.
  Step<Topology> step() &&;

  Snapshot<Topology> now() const { return {doc, mem}; }
  bool hasConfig() const { return doc.config.has_value(); }
  const ReplicaSetConfig& config() const { return *doc.config; }
  ReplicaSetId replicaSetId() const { return doc.replicaSetId(); }
  /// This node in the config; null if it is not there.
  const MemberConfig* self() const { return hasConfig() ? config().member(doc.self) : nullptr; }
  bool isLeading() const { return leads(mem.phase); }
  bool isStanding() const { return mem.phase == Phase::kDryRun || mem.phase == Phase::kCandidate; }
  /// Null if that node is no other member.
  MemberView* view(const NodeName& host);
  const MemberView* view(const NodeName& host) const { return const_cast<Turn*>(this)->view(host); }

  template <class Message>
  void send(NodeName to, Message message) {
    effects.push_back(Topology::send(std::move(to), std::move(message)));
  }
  template <class Event>
  void arm(Millis delay, Event event, Millis spread = Millis(0)) {
    effects.push_back(Topology::after(delay, event, spread));
  }
  template <class Event>
  void cancel(Event event) {
    effects.push_back(Topology::cancel(std::move(event)));
  }
  template <class Action>
  void perform(Action action) {
    effects.push_back(Topology::perform(std::move(action)));
  }
  /// Answers the command of this turn.
  void done() { effects.push_back(Topology::reply(Done{})); }
  void refuse(ErrorCode code, std::string why) { effects.push_back(Topology::refuse(Status(code, std::move(why)))); }
  /// Answers the open command of that kind: the one of this turn, or an earlier one.
  void conclude(OpenCommand command, Status outcome);
};

}  // namespace troupe::replication
