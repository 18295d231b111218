#include "test/simulation/work_floor.hpp"

#include <gtest/gtest.h>

#include "test/simulation/data_sessions.hpp"
#include "test/simulation/scenario_run.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {
namespace {

constexpr WorkFloor kSomeFloor{.ofBegun = 0.5, .ofRate = 0.1};

Scenario scenarioWith(const std::string& workloads, const std::string& topology = "") {
  auto scenario = parseScenario("name = \"x\"\n" + topology + workloads + R"(
[liveness]
after = "10s"
converge_within = "30s"
)",
                                "a.toml", invariantNames);
  if (!scenario.isOK()) throw std::runtime_error(scenario.status().toString());
  return std::move(*scenario);
}

const char* const kFewItems = "[[workload]]\nkind = \"items\"\nrate = 0.5\n";

TEST(WorkFloor, OfAKindThatIsBegunOftenAShareHasToBeDone) {
  EXPECT_EQ(kSomeFloor.whyTooFew(10, 20, "reads"), "");
  EXPECT_EQ(kSomeFloor.whyTooFew(9, 20, "reads"), "9 of 20 reads");
  EXPECT_EQ(kSomeFloor.whyTooFew(0, 19, "reads"), "") << "it is begun rarely";
}

TEST(WorkFloor, WhatSessionsHaveToDoFollowsFromTheRates) {
  const Scenario busy = scenarioWith(
      "[[workload]]\nkind = \"items\"\nrate = 10\n[[workload]]\nkind = \"lists\"\nevery = \"50ms..150ms\"\n");
  EXPECT_EQ(kSomeFloor.whyTooFew(busy, 20), "");
  EXPECT_EQ(kSomeFloor.whyTooFew(busy, 19),
            "19 operations of sessions in 10 s, of about 200 that the scenario asks for");
}

TEST(WorkFloor, WhereNoSessionIsAskedNoneHasToWork) {
  EXPECT_EQ(kSomeFloor.whyTooFew(scenarioWith("[[workload]]\nkind = \"service-writes\"\nrate = 50\n"), 0), "");
  EXPECT_EQ(kSomeFloor.whyTooFew(scenarioWith(kFewItems), 0), "");
}

TEST(WorkFloor, AScenarioOfFewOperationsHoldsOnASet) { EXPECT_EQ(runScenario(scenarioWith(kFewItems), 1).broken, ""); }

TEST(WorkFloor, AScenarioOfFewOperationsHoldsOnADataNode) {
  const Scenario few = scenarioWith(kFewItems, "[topology]\nkind = \"data-node\"\nnodes = 1\n");
  EXPECT_EQ(runScenario(few, 1).broken, "");
}

}  // namespace
}  // namespace troupe::sim
