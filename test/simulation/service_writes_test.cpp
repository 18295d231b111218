#include "test/simulation/service_writes.hpp"

#include <gtest/gtest.h>

#include "test/simulation/scenario_run.hpp"

namespace troupe::sim {
namespace {

std::string firstBroken(const std::string& ofWrites, uint64_t seeds = 5) {
  const auto scenario =
      parseScenario("name = \"services\"\n[[workload]]\nkind = \"service-writes\"\nrate = 20\n" + ofWrites + R"(
[[workload]]
kind = "counters"
rate = 10
[network]
breaks = 0.01
[[fault]]
kind = "kill"
every = "2s..5s"
for = "200ms..1s"
leave = 2
[[fault]]
kind = "partition"
shape = "isolate"
every = "2s..5s"
for = "500ms..4s"
[liveness]
after = "15s"
converge_within = "60s"
)",
                    "a.toml", invariantNames);
  if (!scenario.isOK()) return scenario.status().toString();
  for (uint64_t seed = 1; seed <= seeds; ++seed)
    if (std::string broken = runScenario(*scenario, seed, 1).broken; !broken.empty()) return broken;
  return {};
}

TEST(ServiceWrites, EachIsCarriedOutOnceWhileNodesDie) {  // SES-010, SES-017
  EXPECT_EQ(firstBroken(""), "");
}

TEST(ServiceWrites, OneThatIsCarriedOutTwiceIsFound) {
  const std::string broken = firstBroken("torn = 0.2");
  EXPECT_TRUE(broken.starts_with(kServiceWritesHold)) << broken;
}

bson::Document document(int64_t id, int64_t n) { return bson::doc("_id", id, "n", n); }

TEST(ServiceWrites, ADocumentThatNobodyWroteIsFound) {
  const ServiceWrites writes;
  EXPECT_EQ(writes.compare({}), "");
  EXPECT_EQ(writes.compare({document(0, 1)}), "document 0 was written by nobody");
}

}  // namespace
}  // namespace troupe::sim
