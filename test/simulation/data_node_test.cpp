#include "test/simulation/data_node.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "test/simulation/data_workload.hpp"
#include "test/simulation/scenario_run.hpp"

namespace troupe::sim {
namespace {

Scenario dataScenario(const std::string& more) {
  auto scenario = parseScenario(R"(
name = "x"
[topology]
kind = "data-node"
nodes = 1
[liveness]
after = "20s"
)" + more,
                                "a.toml", invariantNames);
  if (!scenario.isOK()) throw std::runtime_error(scenario.status().toString());
  return std::move(*scenario);
}

const char* const kAllWork = R"(
[[workload]]
kind = "registers"
rate = 20
[[workload]]
kind = "lists"
rate = 20
[[workload]]
kind = "items"
rate = 20
)";
const char* const kKills = R"(
[[fault]]
kind = "kill"
every = "1s..3s"
for = "100ms..500ms"
leave = 0
)";

/// What the first of ten seeds that is broken says; empty if none is.
std::string firstBroken(const Scenario& scenario) {
  for (uint64_t seed = 1; seed <= 10; ++seed)
    if (std::string broken = runScenario(scenario, seed, 1).broken; !broken.empty()) return broken;
  return {};
}

TEST(DataNode, ServesDriversThroughCrashes) {
  const Scenario scenario = dataScenario(std::string(kAllWork) + kKills);
  const RunOutcome outcome = runScenario(scenario, 1);
  EXPECT_EQ(outcome.broken, "");
  EXPECT_GT(outcome.tally.done, 300u);
  EXPECT_GT(outcome.progress, 3) << "lives of the node";
  EXPECT_EQ(runScenario(scenario, 1).hash, outcome.hash) << "the same seed gives the same run";
}

TEST(DataNode, AKeyThatAnIndexHasLostIsFound) {
  const std::string lost = "[[fault]]\nkind = \"lost-key\"\nevery = \"3s\"\n";
  const std::string items = "[[workload]]\nkind = \"items\"\nrate = 60\n";
  const std::string broken = firstBroken(dataScenario(items + kKills + lost));
  EXPECT_TRUE(broken.starts_with(kContentsHold)) << broken;
  EXPECT_NE(broken.find("items is not valid"), std::string::npos) << broken;
  EXPECT_NE(broken.find("and the index"), std::string::npos) << broken;
}

TEST(DataNode, WhatALyingDiskLosesIsFoundByEachCheckerAlone) {
  const std::string lies = R"(
[[fault]]
kind = "lying-flush"
every = "200ms..400ms"
for = "2s"
share = 1
)";
  const std::pair<const char*, const char*> checkers[] = {{kRegistersHold, "registers"},
                                                          {kSessionsHold, "registers"},
                                                          {kListsHold, "lists"},
                                                          {kContentsHold, "items"},
                                                          {kRecoveryHolds, "lists"}};
  for (const auto& [alone, work] : checkers) {
    const std::string scenario =
        fmt::format("[check]\ninvariants = [\"{}\"]\n[[workload]]\nkind = \"{}\"\nrate = 60\n", alone, work);
    const std::string broken = firstBroken(dataScenario(scenario + kKills + lies));
    EXPECT_TRUE(broken.starts_with(alone)) << alone << " by " << work << ": " << broken;
  }
}

TEST(DataNode, AFastCountThatIsWrongIsFound) {
  const std::string items = "[[workload]]\nkind = \"items\"\nrate = 60\n";
  EXPECT_EQ(firstBroken(dataScenario(items)), "");
  const std::string broken = firstBroken(dataScenario(items + "[[fault]]\nkind = \"miscount\"\nevery = \"3s\"\n"));
  EXPECT_TRUE(broken.starts_with(kContentsHold)) << broken;
  EXPECT_NE(broken.find("is counted as"), std::string::npos) << broken;
}

TEST(DataNode, OperationsThatAreHardlyEverDoneAreFound) {
  const std::string failing = "[[fault]]\nkind = \"failed-flush\"\nevery = \"500ms\"\nfor = \"2s\"\nshare = 1\n";
  const std::string broken = firstBroken(dataScenario(kAllWork + failing));
  EXPECT_TRUE(broken.starts_with(kWorkIsDone)) << broken;
}

TEST(DataNode, ACompareAndSetInTwoStepsIsFound) {
  const std::string torn = "[[workload]]\nkind = \"registers\"\nrate = 100\ntorn = 1\n";
  const std::string broken = firstBroken(dataScenario(torn));
  EXPECT_TRUE(broken.starts_with(kRegistersHold)) << broken;
}

}  // namespace
}  // namespace troupe::sim
