#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "actors/machines/collection_store.hpp"
#include "actors/replication/topology_actor.hpp"
#include "test/simulation/driver.hpp"
#include "test/simulation/replica_set.hpp"
#include "test/simulation/scenario_run.hpp"
#include "test/simulation/set_data.hpp"
#include "test/simulation/state_documents.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

Scenario plantedScenario(const std::string& more) {
  auto scenario = parseScenario("name = \"planted\"\n" + more, "a.toml", invariantNames);
  if (!scenario.isOK()) throw std::runtime_error(scenario.status().toString());
  return std::move(*scenario);
}

/// Items may change before the end, and the lost one with them: not every seed is broken.
TEST(PlantedFaults, ADocumentThatOneMemberHasLostIsFoundByTheComparison) {
  const Scenario scenario = plantedScenario(R"(
[[workload]]
kind = "items"
rate = 10
[[fault]]
kind = "lost-document"
every = "9s..9900ms"
[liveness]
after = "10s"
converge_within = "8s"
)");
  std::vector<std::string> said;
  for (uint64_t seed = 1; seed <= 5; ++seed) said.push_back(runScenario(scenario, seed, 1).broken);
  const std::string differs = std::string("it does not come together again: ") + SetData::kSameEverywhere + ": test.";
  EXPECT_TRUE(std::ranges::any_of(said, [&](const std::string& broken) {
    return broken.starts_with(differs) && broken.ends_with(" has not");
  })) << testing::PrintToString(said);
}

/// All members stay away for longer than a driver looks for a primary.
TEST(PlantedFaults, AnAnswerThatNoFaultExplainsBreaksTheRun) {
  const Scenario scenario = plantedScenario(R"(
[[workload]]
kind = "registers"
rate = 10
[[fault]]
kind = "kill"
every = "2s"
for = "60s"
leave = 0
[check]
invariants = ["an answer that no fault explains"]
[liveness]
after = "45s"
)");
  EXPECT_THAT(runScenario(scenario, 1, 1).broken,
              StartsWith(std::string(kAnswersExplained) + ": FailedToSatisfyReadPreference: "));
}

/// Members that copy nothing when they have no data.
class NeverCopies final : public Program {
 public:
  explicit NeverCopies(ReplicaSet& set) : set_(set) {}
  void configure(const std::string& node, supervisors::AssemblyOptions& options) override {
    set_.configure(node, options);
    options.adjustTopology = [wire = options.adjustTopology](replication::TopologyParts& parts) {
      wire(parts);
      parts.lacksData = nullptr;
    };
  }
  void started(NodeLife& life) override { set_.started(life); }
  std::pair<std::string, int64_t> roleOf(const std::string& node) override { return set_.roleOf(node); }
  void died(const std::string& node) override { set_.died(node); }

 private:
  ReplicaSet& set_;
};

TEST(PlantedFaults, AMemberWithoutDataThatPassesForASecondaryIsFound) {
  const Scenario scenario = plantedScenario("");
  ReplicaSet set(scenario);
  NeverCopies program(set);
  std::unique_ptr<Workload> workload;
  Simulation cluster(1, scenario.nodes(), program, 1);
  set.watch(cluster);
  workload = set.workload(cluster, 1);
  EXPECT_FALSE(workload->prepare(60s));
  EXPECT_THAT(cluster.failure(), StartsWith("a member without data that passes for a secondary: n"));
}

/// A set of three that has begun to work.
class StateDocumentsOfASet : public testing::Test {
 protected:
  StateDocumentsOfASet() {
    set.watch(cluster);
    workload = set.workload(cluster, 1);
    EXPECT_TRUE(workload->prepare(60s)) << cluster.failure();
  }

  std::string leaderAfter(int64_t term) {
    const auto leads = [&] {
      const auto writable = set.writable();
      return writable.size() == 1 && termOf(writable[0]) > term;
    };
    return cluster.runUntil(leads, 60s) ? set.writable()[0] : "";
  }
  int64_t termOf(const std::string& node) const { return set.seen(node).memory.term; }
  /// Serves in the present term of the node, whatever term the document is of.
  void writeOn(const std::string& node, int64_t termOfDocument) {
    NodeLife& life = cluster.life(node);
    const storage::Namespace ns(StateDocuments::kDatabase, StateDocuments::kCollection);
    const auto store = std::make_shared<machines::CollectionStore>(life.storage(), ns);
    store->serveIn(termOf(node));
    life.node().start(putTo(store, bson::doc("_id", 1, "n", ++lastValue, "term", termOfDocument)));
    cluster.run(1s);
  }

  const Scenario scenario = plantedScenario("");
  ReplicaSet set{scenario};
  std::unique_ptr<Workload> workload;
  Simulation cluster{1, scenario.nodes(), set, 1};
  int64_t lastValue = 0;

 private:
  static Task<void> putTo(std::shared_ptr<machines::CollectionStore> store, bson::Document document) {
    const Status written = co_await store->put(std::move(document), machines::Durability::kJournaled);
    EXPECT_EQ(written, ErrorCode::kOK);
  }
};

TEST_F(StateDocumentsOfASet, AWriteThatWasAskedForBeforeAStepDownIsFound) {
  const std::string first = leaderAfter(0);
  ASSERT_NE(first, "");
  const int64_t before = termOf(first);
  writeOn(first, before);
  ASSERT_EQ(cluster.failure(), "");
  cluster.kill(first);
  const std::string second = leaderAfter(before);
  ASSERT_NE(second, "");
  writeOn(second, before);
  EXPECT_THAT(cluster.failure(), StartsWith(StateDocuments::kInvariant));
  EXPECT_THAT(cluster.failure(), HasSubstr("a document of term " + std::to_string(before) + " was committed"));
}

}  // namespace
}  // namespace troupe::sim
