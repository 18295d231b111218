#include "actors/server/latencies.hpp"

#include <gtest/gtest.h>

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::server {
using namespace commands;

TEST(LatencyHistogram, EveryDurationFallsIntoTheBucketOfItsBounds) {
  for (const int64_t micros : {0, 1, 2, 3, 4, 1000, 1023, 1024, 60'000'000}) {
    const size_t bucket = LatencyHistogram::bucketOf(micros);
    EXPECT_LE(LatencyHistogram::lowerBound(bucket), micros);
    EXPECT_LT(micros, LatencyHistogram::lowerBound(bucket + 1));
  }
  EXPECT_EQ(LatencyHistogram::bucketOf(-5), 0u);
  EXPECT_EQ(LatencyHistogram::bucketOf(INT64_MAX), LatencyHistogram::kBuckets - 1);
}

TEST(LatencyHistogram, SumsWhatItWasTold) {
  LatencyHistogram histogram;
  histogram.note(3us);
  histogram.note(5us);
  histogram.note(1ms);
  const auto read = histogram.read();
  EXPECT_EQ(read.operations, 3);
  EXPECT_EQ(read.micros, 1008);
  EXPECT_EQ(read.counts[LatencyHistogram::bucketOf(1000)], 1);
}

class OperationLatenciesTest : public CommandTest {
 protected:
  int64_t micros(std::string_view kind) {
    return run(R"({"serverStatus": 1})", "admin").view().at("opLatencies." + std::string(kind) + ".latency").toInt64();
  }
};

TEST_F(OperationLatenciesTest, AreToldApartByWhatRequestsDo) {
  fill("c", 3);
  run(R"({"find": "c"})");
  run(R"({"count": "c"})");
  run(R"({"ping": 1})");
  EXPECT_TRUE(answers(R"({"serverStatus": 1})",
                      R"({"opLatencies": {"reads": {"ops": 2}, "writes": {"ops": 1}, "commands": {"ops": 1}}})",
                      "admin"));
}

TEST_F(OperationLatenciesTest, LastFromTheRequestToItsReply) {
  ASSERT_TRUE(succeeds(
      R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
          "data": {"failCommands": ["find"], "blockConnection": true, "blockTimeMS": 300}})",
      "admin"));
  EXPECT_EQ(micros("reads"), 0);
  run(R"({"find": "c"})");
  EXPECT_EQ(micros("reads"), 300'000);
  EXPECT_TRUE(answers(R"({"serverStatus": 1, "opLatencies": {"histograms": true}})",
                      R"({"opLatencies": {"reads": {"histogram": [{"micros": 262144, "count": 1}]}}})", "admin"));
}

TEST_F(OperationLatenciesTest, LeaveOutWhatAClientWaitsForOnPurpose) {
  const auto counter = server.hello.counter();
  const auto hello = bson::doc("hello", 1, "maxAwaitTimeMS", 10'000, "topologyVersion",
                               bson::doc("processId", server.hello.processId(), "counter", counter));
  EXPECT_TRUE(server.run(hello, "admin")["ok"].truthy());
  EXPECT_LT(micros("commands"), 1000);
}

}  // namespace troupe::server
