#include "test/simulation/data_node.hpp"

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

TEST(DataNode, WritesThatALyingDiskLosesAreFound) {
  const std::string lies = R"(
[[fault]]
kind = "lying-flush"
every = "200ms..400ms"
for = "2s"
share = 1
)";
  EXPECT_NE(firstBroken(dataScenario(std::string(kAllWork) + kKills + lies)), "");
  const std::string registers = "[[workload]]\nkind = \"registers\"\nrate = 60\n";
  EXPECT_TRUE(firstBroken(dataScenario(registers + kKills + lies)).starts_with(kRegistersHold));
  const std::string lists = "[[workload]]\nkind = \"lists\"\nrate = 60\n";
  EXPECT_TRUE(firstBroken(dataScenario(lists + kKills + lies)).starts_with(kListsHold));
  const std::string items = "[[workload]]\nkind = \"items\"\nrate = 60\n";
  EXPECT_TRUE(firstBroken(dataScenario(items + kKills + lies)).starts_with(kContentsHold));
}

TEST(DataNode, AKeyThatAnIndexHasLostIsFound) {
  const std::string lost = "[[fault]]\nkind = \"lost-key\"\nevery = \"3s\"\n";
  const std::string broken = firstBroken(dataScenario(std::string(kAllWork) + kKills + lost));
  EXPECT_TRUE(broken.starts_with(kContentsHold)) << broken;
}

TEST(DataNode, ACompareAndSetInTwoStepsIsFound) {
  const std::string torn = "[[workload]]\nkind = \"registers\"\nrate = 100\ntorn = 1\n";
  const std::string broken = firstBroken(dataScenario(torn));
  EXPECT_TRUE(broken.starts_with(kRegistersHold)) << broken;
}

}  // namespace
}  // namespace troupe::sim
