#include "test/simulation/counters.hpp"

#include <gtest/gtest.h>

#include "test/simulation/scenario_run.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {
namespace {

/// What the first of some seeds that is broken says; empty if none is.
std::string firstBroken(const std::string& torn) {
  const auto scenario = parseScenario(R"(
name = "x"
[topology]
nodes = 3
[[workload]]
kind = "counters"
rate = 40
torn = )" + torn + R"(
[[fault]]
kind = "kill"
every = "2s..5s"
for = "200ms..1s"
leave = 2
[liveness]
after = "10s"
converge_within = "60s"
)",
                                      "a.toml", invariantNames);
  if (!scenario.isOK()) return scenario.status().toString();
  for (uint64_t seed = 1; seed <= 2; ++seed)
    if (std::string broken = runScenario(*scenario, seed, 1).broken; !broken.empty()) return broken;
  return {};
}

TEST(Counters, AreExactWhilePrimariesAreKilled) { EXPECT_EQ(firstBroken("0"), ""); }

TEST(Counters, AnOperationThatIsCarriedOutTwiceIsFound) {
  const std::string broken = firstBroken("0.2");
  EXPECT_TRUE(broken.starts_with(kCountersHold)) << broken;
}

}  // namespace
}  // namespace troupe::sim
