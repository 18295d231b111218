#include "actors/maintenance/concurrency_tuner.hpp"

#include <gtest/gtest.h>

#include "messaging/bson/json.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::maintenance {

using bson::operator""_json;
using namespace std::chrono_literals;

struct ConcurrencyTunerTest : commands::CommandTest {
  int64_t readTickets() const { return server.admission.read().total(); }
};

TEST_F(ConcurrencyTunerTest, FixesThePoolsThatParametersFix) {
  const int64_t adaptive = server.admission.write().total();
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "storageEngineConcurrentReadTransactions": 7})", "admin"));
  server.node.advance(200ms);
  EXPECT_EQ(readTickets(), 7);
  EXPECT_EQ(server.admission.write().total(), adaptive);
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "storageEngineConcurrentReadTransactions": 0})", "admin"));
  server.node.advance(200ms);
  EXPECT_NE(readTickets(), 7) << "it adapts again";
}

TEST_F(ConcurrencyTunerTest, MoreTicketsAreTriedWhileOperationsQueue) {
  const int64_t before = readTickets();
  std::vector<storage::Ticket> taken;
  while (auto ticket = server.admission.read().tryTake(storage::AdmissionPriority::kNormal))
    taken.push_back(std::move(ticket));
  const auto waits = server.begin(R"({"find": "c"})"_json);
  EXPECT_FALSE(waits->done);
  server.node.advance(150ms);
  EXPECT_GT(readTickets(), before);
  EXPECT_TRUE(waits->done) << "it has one of the new tickets";
}

}  // namespace troupe::maintenance
