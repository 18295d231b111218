#include "test/simulation/service_writes.hpp"

#include <gtest/gtest.h>

#include "test/simulation/stormy_set.hpp"

namespace troupe::sim {
namespace {

TEST(ServiceWrites, TheirAnswersAreCounted) {
  const auto scenario = parseScenario(R"(
name = "x"
[[workload]]
kind = "service-writes"
rate = 10
[liveness]
after = "10s"
)",
                                      "a.toml", invariantNames);
  ASSERT_TRUE(scenario.isOK()) << scenario.status().toString();
  const RunOutcome outcome = runScenario(*scenario, 1);
  EXPECT_EQ(outcome.broken, "");
  uint64_t answered = outcome.tally.done;
  for (const auto& [error, count] : outcome.tally.refused) answered += count;
  EXPECT_EQ(answered, outcome.tally.asked);
  EXPECT_GT(outcome.tally.done, 50u);
}

std::string firstBroken(const std::string& wrong) {
  return firstBrokenOfStormySet("[[workload]]\nkind = \"service-writes\"\nrate = 20\n" + wrong + R"(
[[workload]]
kind = "counters"
rate = 10
[network]
breaks = 0.01
)",
                                5);
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
  const ServiceWrites writes([](const std::string&) {});
  EXPECT_EQ(writes.compare({}), "");
  EXPECT_EQ(writes.compare({document(0, 1)}), "document 0 was written by nobody");
}

}  // namespace
}  // namespace troupe::sim
