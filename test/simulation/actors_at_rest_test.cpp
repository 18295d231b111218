#include "test/simulation/actors_at_rest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/simulation/scenario_run.hpp"
#include "test/simulation/scripted_server.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kSweeper = "/node/services/idle-sweeper";

TEST(ActorsAtRest, OneThatWaitsForItsNextStartIsNamedUntilItRuns) {
  Bystander bystander;
  Simulation cluster(3, {"n1:1", "n2:1"}, bystander);
  cluster.run(1s);
  ASSERT_EQ(whyNotAllRun(cluster), "");
  Node& node = cluster.life("n2:1").node();
  node.kill(node.address(kSweeper), Status(ErrorCode::kInternalError, "broken"));
  cluster.run(1ms);
  EXPECT_EQ(whyNotAllRun(cluster), std::string(kSweeper) + " of n2:1 is backing off: InternalError: broken");
  cluster.run(5s);
  EXPECT_EQ(whyNotAllRun(cluster), "");
}

TEST(ActorsAtRest, WhatRowsSayOfAnotherFailureIsUnderstood) {
  Bystander bystander;
  Simulation cluster(3, {"n1:1"}, bystander);
  cluster.run(1s);
  Registry& registry = cluster.life("n1:1").node().registry();
  const auto rowSays = [&](const char* path, const char* phase) {
    const auto row = registry.keep({.path = path, .type = "Planted"});
    registry.setPhase(*row, phase, "");
    std::string why = whyNotAllRun(cluster);
    registry.unkeep(path);
    return why;
  };
  EXPECT_EQ(rowSays("/node/services/leases/L1", "pausing"), "/node/services/leases/L1 of n1:1 is pausing: ");
  EXPECT_EQ(rowSays("/node/replication/applier", "failed"), "/node/replication/applier of n1:1 is failed: ");
  EXPECT_EQ(rowSays("/node/replication/initial-sync", "pausing"), "") << "between two attempts";
  EXPECT_EQ(rowSays("/node/services/leases/L1", "holding"), "");
  EXPECT_EQ(rowSays("/node/links/n2:1", "parked"), "/node/links/n2:1 of n1:1 is parked: ");
}

TEST(ActorsAtRest, ARunOfASetThatEndsWithAnActorSetAsideIsBroken) {
  const auto scenario = parseScenario(R"(
name = "x"
[[fault]]
kind = "parked-actor"
every = "4s..4900ms"
[liveness]
after = "5s"
converge_within = "10s"
)",
                                      "a.toml", invariantNames);
  ASSERT_TRUE(scenario.isOK()) << scenario.status().toString();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const std::string broken = runScenario(*scenario, seed, 1).broken;
    EXPECT_THAT(broken, StartsWith("it does not come together again: /node/services/"));
    EXPECT_THAT(broken, HasSubstr(" is parked: InternalError: a planted failure"));
  }
}

}  // namespace
}  // namespace troupe::sim
