#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "state_machines/replication/topology.hpp"

namespace troupe::replication::test {

using Phase = Topology::Phase;
using Secs = std::chrono::seconds;

/// A config of the set "rs" with an election time-out of one second; `change` gets each member.
inline ReplicaSetConfig configOf(const std::vector<NodeName>& hosts) {
  ReplicaSetConfig config;
  config.id = "rs";
  for (const NodeName& host : hosts) {
    MemberConfig m;
    m.id = static_cast<int32_t>(config.members.size());
    m.host = host;
    config.members.push_back(m);
  }
  config.settings.electionTimeoutMillis = Millis(1000);
  return config;
}

/// Topology machines in one virtual time, without actors: messages take a millisecond, timers fire when they are due,
/// the data layer answers at once. After each step the invariants and the facts are checked. A crash keeps the
/// document.
class Cluster {
 public:
  struct Node {
    Snapshot<Topology> now;
    bool alive = true;
    std::vector<Topology::Action> actions;  ///< all so far
    std::map<OpenCommand, Status> concluded;
  };
  struct Sent {
    NodeName from, to;
    Topology::Message message;
  };

  explicit Cluster(std::vector<NodeName> hosts) {
    for (const NodeName& host : hosts) add(host);
  }
  /// Starts a node that has no config.
  void add(const NodeName& host) {
    nodes_[host].now.document.self = host;
    nodes_[host].now.document.setName = "rs";
    start(host);
  }
  /// A running set: the first member of the config initiates it, and an election is over.
  static Cluster running(const ReplicaSetConfig& config) {
    std::vector<NodeName> hosts;
    for (const auto& m : config.members) hosts.push_back(m.host);
    Cluster cluster(hosts);
    const auto refused = cluster.command(hosts.front(), Initiate{config, hosts.front(), {}});
    EXPECT_FALSE(refused && !refused->isOK()) << refused->toString();
    cluster.runUntilPrimary();
    cluster.run(config.settings.electionTimeoutMillis / 2);
    return cluster;
  }

  /// The answer that came at once, if any.
  std::optional<Status> command(const NodeName& host, Topology::Event event) { return step(host, event); }
  void report(const NodeName& host, Topology::Event event) { (void)step(host, event); }
  std::optional<Status> concluded(const NodeName& host, OpenCommand command) {
    const auto at = nodes_[host].concluded.find(command);
    return at == nodes_[host].concluded.end() ? std::nullopt : std::optional(at->second);
  }

  void kill(const NodeName& host) {
    nodes_[host].alive = false;
    nodes_[host].now.memory = {};
    std::erase_if(pending_, [&](const Pending& p) { return p.node == host && !p.timer.empty(); });
  }
  void restart(const NodeName& host) {
    nodes_[host].alive = true;
    start(host);
  }
  /// No messages in either direction from now on; those under way are lost.
  void cut(const NodeName& a, const NodeName& b) {
    cuts_.insert({a, b});
    cuts_.insert({b, a});
  }
  void isolate(const NodeName& host) {
    for (const auto& [other, node] : nodes_)
      if (other != host) cut(host, other);
  }
  void heal() { cuts_.clear(); }

  void run(Millis time) {
    const Millis end = clock_ + time;
    while (const Pending* next = earliest()) {
      if (next->due > end) break;
      deliverNext();
    }
    clock_ = end;
  }
  /// At most half a minute. The node that takes writes, or "".
  NodeName runUntilPrimary() {
    const Millis end = clock_ + Secs(30);
    while (primary().empty() && earliest() && earliest()->due < end) deliverNext();
    return primary();
  }

  Node& operator[](const NodeName& host) { return nodes_[host]; }
  Topology::Memory& memory(const NodeName& host) { return nodes_[host].now.memory; }
  Phase phase(const NodeName& host) { return memory(host).phase; }
  bool isFounder(const NodeName& host) { return nodes_[host].now.document.founder; }
  const ReplicaSetConfig& config(const NodeName& host) { return *nodes_[host].now.document.config; }
  int64_t term() {
    int64_t highest = 0;
    for (const auto& [host, node] : nodes_) highest = std::max(highest, node.now.memory.term);
    return highest;
  }
  Millis clock() const { return clock_; }
  /// The living node that takes writes in the highest term, or "".
  NodeName primary() {
    NodeName found;
    for (const auto& [host, node] : nodes_)
      if (node.alive && isWritable(node.now) && (found.empty() || memory(found).term < node.now.memory.term))
        found = host;
    return found;
  }
  /// Of the living, but the primary.
  std::vector<NodeName> others() {
    std::vector<NodeName> found;
    for (const auto& [host, node] : nodes_)
      if (node.alive && host != primary()) found.push_back(host);
    return found;
  }
  /// All messages of that type since `forget`.
  template <class M>
  std::vector<std::pair<Sent, M>> sent() {
    std::vector<std::pair<Sent, M>> found;
    for (const Sent& s : sent_)
      if (const M* message = std::get_if<M>(&s.message)) found.push_back({s, *message});
    return found;
  }
  template <class A>
  std::vector<A> actions(const NodeName& host) {
    std::vector<A> found;
    for (const auto& action : nodes_[host].actions)
      if (const A* one = std::get_if<A>(&action)) found.push_back(*one);
    return found;
  }
  void forget() {
    sent_.clear();
    for (auto& [host, node] : nodes_) node.actions.clear(), node.concluded.clear();
  }

  /// After how long a message arrives; several times, or never. By default once, after a millisecond.
  std::function<std::vector<Millis>()> fate = [] { return std::vector{Millis(1)}; };
  bool answersCatchUp = true;  ///< false: the data layer never gets there

 private:
  struct Pending {
    Millis due;
    uint64_t order;
    NodeName from, node;
    Topology::Event event;
    std::string timer;  ///< empty: a message
  };

  static std::string timerOf(const Topology::Event& event) {
    std::string key = std::to_string(event.index());
    if (const auto* liveness = std::get_if<LivenessTimeout>(&event))
      key += liveness->host + std::to_string(liveness->distance);
    return key;
  }
  void start(const NodeName& host) { perform(host, machines::resumed<Topology>(nodes_[host].now.document)); }

  std::optional<Status> step(const NodeName& host, const Topology::Event& event) {
    if (!nodes_[host].alive) return std::nullopt;
    const int64_t before = memory(host).term;
    auto answer = perform(host, machines::advance<Topology>(nodes_[host].now, event));
    EXPECT_GE(memory(host).term, before) << "a term went back";
    return answer;
  }

  std::optional<Status> perform(const NodeName& host, machines::Outcome<Topology> out) {
    nodes_[host].now = std::move(out.next);
    check();
    std::optional<Status> answer;
    for (auto& effect : out.effects) {
      if (auto* send = std::get_if<machines::Send<Topology>>(&effect)) post(host, *send);
      if (std::get_if<machines::Reply<Topology>>(&effect)) answer = Status::OK();
      if (auto* refuse = std::get_if<machines::Refuse>(&effect)) answer = refuse->why;
      if (auto* arm = std::get_if<machines::Arm<Topology>>(&effect)) setTimer(host, *arm);
      if (auto* disarm = std::get_if<machines::Disarm<Topology>>(&effect)) dropTimer(host, disarm->event);
      if (auto* todo = std::get_if<machines::Do<Topology>>(&effect)) act(host, todo->action);
    }
    return answer;
  }

  void post(const NodeName& from, const machines::Send<Topology>& send) {
    sent_.push_back({from, send.to, send.message});
    std::visit(
        [&](const auto& message) {
          if constexpr (std::is_constructible_v<Topology::Event, decltype(message)>)
            for (const Millis delay : fate())
              pending_.push_back({clock_ + delay, order_++, from, send.to, Topology::Event(message), ""});
        },
        send.message);
  }
  void dropTimer(const NodeName& host, const Topology::Event& event) {
    std::erase_if(pending_, [&](const Pending& p) { return p.node == host && p.timer == timerOf(event); });
  }
  /// The random part grows with the node's place in the alphabet.
  void setTimer(const NodeName& host, const machines::Arm<Topology>& arm) {
    dropTimer(host, arm.event);
    const auto place = std::distance(nodes_.begin(), nodes_.find(host));
    const Millis part = arm.spread * place / static_cast<int64_t>(nodes_.size());
    pending_.push_back({clock_ + arm.delay + part, order_++, host, host, arm.event, timerOf(arm.event)});
  }
  void act(const NodeName& host, const Topology::Action& action) {
    nodes_[host].actions.push_back(action);
    const auto soon = [&](Topology::Event event) {
      pending_.push_back({clock_, order_++, host, host, event, "report"});
    };
    if (const auto* install = std::get_if<InstallConfig>(&action); install && leads(phase(host)))
      soon(ConfigInUse{install->config.configVersion(), memory(host).applied});
    if (const auto* drain = std::get_if<Drain>(&action)) soon(DrainDone{drain->term});
    if (const auto* refuse = std::get_if<RefuseWrites>(&action))
      soon(WritesEnded{memory(host).term, memory(host).applied, refuse->attempt});
    if (const auto* catchUp = std::get_if<CatchUp>(&action); catchUp && answersCatchUp)
      soon(AppliedAdvanced{catchUp->target});
    if (const auto* end = std::get_if<Conclude>(&action)) nodes_[host].concluded[end->command] = end->outcome;
  }

  const Pending* earliest() const {
    const auto at = std::min_element(pending_.begin(), pending_.end(), [](const Pending& a, const Pending& b) {
      return std::pair(a.due, a.order) < std::pair(b.due, b.order);
    });
    return at == pending_.end() ? nullptr : &*at;
  }
  void deliverNext() {
    const Pending next = *earliest();
    std::erase_if(pending_, [&](const Pending& p) { return p.order == next.order; });
    clock_ = std::max(clock_, next.due);
    if (next.timer.empty() && (cuts_.contains({next.from, next.node}) || !nodes_.contains(next.node))) return;
    (void)step(next.node, next.event);
  }

  void check() {
    machines::World world;
    for (const auto& [host, node] : nodes_) {
      world.add<Topology>(host, node.alive, &node.now);
      Topology::facts(host, node.now, facts_);
    }
    for (const auto& invariant : invariants_) EXPECT_FALSE(invariant.broken(world)) << invariant.name;
    EXPECT_EQ(facts_.contradiction(), "");
  }

  std::map<NodeName, Node> nodes_;
  std::vector<Pending> pending_;
  std::vector<Sent> sent_;
  std::set<std::pair<NodeName, NodeName>> cuts_;
  machines::Facts facts_;
  std::vector<machines::Invariant> invariants_ = Topology::invariants();
  Millis clock_{0};
  uint64_t order_ = 0;
};

}  // namespace troupe::replication::test
