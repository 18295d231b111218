#pragma once
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/replication/topology_actor.hpp"
#include "test/simulation/simulation.hpp"

namespace troupe::replication {

using namespace std::chrono_literals;

/// Three members of a replica set on virtual time and a simulated network.
class Members final : public sim::Program {
 public:
  void configure(const std::string& name, supervisors::AssemblyOptions& options) override {
    options.replicaSet = "rs";
    if (!hasData) return;
    options.adjustTopology = [this, name](TopologyParts& parts) {
      parts.adopted = nullptr;  // what is in the node's own log is not asked
      parts.lacksData = nullptr;
      parts.changed = nullptr;
      parts.membersChanged = nullptr;  // and nobody fetches, or copies what others have
      parts.catchUp = [this, name](const CatchUp& wanted) { catchUps[name].push_back(wanted); };
      parts.drain = [this, name](const Drain& wanted) { drains[name].push_back(wanted); };
    };
  }
  void started(sim::NodeLife& life) override { members_[life.node().name()] = life.assembly().membership(); }
  void died(const std::string& node) override { members_.erase(node); }

  std::shared_ptr<const ReplicaView> view(const std::string& node) const { return members_.at(node)->view(); }
  std::vector<std::string> primaries() const {
    std::vector<std::string> found;
    for (const auto& [name, member] : members_)
      if (member->view()->isWritable()) found.push_back(name);
    return found;
  }
  /// No member copies data, or has yet to: any of them can lead.
  bool haveData() const {
    return std::ranges::none_of(members_, [](const auto& member) {
      const MemberState state = member.second->view()->state();
      return state == MemberState::kStartup || state == MemberState::kStartup2;
    });
  }
  /// From the next life on there is data to catch up with: what is asked of the data layer is kept here, and the test
  /// answers.
  bool hasData = false;
  std::map<std::string, std::vector<CatchUp>> catchUps;
  std::map<std::string, std::vector<Drain>> drains;

  const Membership& membership(const std::string& node) const { return *members_.at(node); }

 private:
  std::map<std::string, const Membership*> members_;
};

inline const std::vector<std::string> kNames = {"n1:1", "n2:1", "n3:1"};

inline ReplicaSetConfig config() {
  ReplicaSetConfig made;
  made.id = "rs";
  for (int32_t i = 0; i < 3; ++i) {
    MemberConfig member;
    member.id = i;
    member.host = kNames[static_cast<size_t>(i)];
    made.members.push_back(member);
  }
  return made;
}

class TopologyActorTest : public testing::Test {
 protected:
  TopologyActorTest() { cluster.run(10ms); }  // its actors are there

  Members members;
  sim::Simulation cluster{7, kNames, members};

  template <class Command>
  std::shared_ptr<std::optional<Answer>> ask(const std::string& node, Command command) {
    auto answer = std::make_shared<std::optional<Answer>>();
    Node& at = cluster.life(node).node();
    at.start(keep(answer, at.ask(at.address(kTopologyPath), local(std::move(command)))));
    return answer;
  }
  static Task<void> keep(std::shared_ptr<std::optional<Answer>> to, Future<Answer> from) { to->emplace(co_await from); }

  std::string elect() {
    const auto initiated = ask("n1:1", Initiate{config(), "n1:1", {}});
    cluster.runUntil([&] { return members.primaries().size() == 1; }, 60s);
    EXPECT_TRUE(*initiated && (*initiated)->isOK())
        << (*initiated ? (*initiated)->status().toString() : "no answer") << cluster.trace().text();
    EXPECT_TRUE(cluster.runUntil([&] { return members.haveData(); }, 60s)) << cluster.trace().text();
    return members.primaries().empty() ? "" : members.primaries()[0];
  }
};

}  // namespace troupe::replication
