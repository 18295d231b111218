#include "storage/engine/prepared_decisions.hpp"

#include "test/unit/storage/engine/engine_contract.hpp"

namespace troupe::storage {
namespace {

TEST(PreparedDecisions, ADecisionResumesAllWhoWaitOnce) {
  PreparedDecisions decisions;
  int resumed = 0;
  decisions.whenPast(decisions.generation(), [&] { ++resumed; });
  decisions.whenPast(decisions.generation(), [&] { ++resumed; });
  EXPECT_EQ(resumed, 0);
  decisions.announce();
  EXPECT_EQ(resumed, 2);
  decisions.announce();
  EXPECT_EQ(resumed, 2);
  EXPECT_EQ(decisions.waiters(), 0U);
}

TEST(PreparedDecisions, ADecisionBetweenConflictAndWaitIsNotMissed) {
  PreparedDecisions decisions;
  const uint64_t seen = decisions.generation();
  decisions.announce();
  bool resumed = false;
  EXPECT_EQ(decisions.whenPast(seen, [&] { resumed = true; }), 0U);
  EXPECT_TRUE(resumed);
}

TEST(PreparedDecisions, AWithdrawnWaiterIsNotCalled) {
  PreparedDecisions decisions;
  bool resumed = false;
  const auto waiter = decisions.whenPast(0, [&] { resumed = true; });
  EXPECT_TRUE(decisions.withdraw(waiter));
  decisions.announce();
  EXPECT_FALSE(resumed);
  EXPECT_FALSE(decisions.withdraw(waiter));
}

TEST(PreparedDecisions, AResumedWaiterMayWaitAgain) {
  PreparedDecisions decisions;
  int resumed = 0;
  decisions.whenPast(0, [&] {
    ++resumed;
    decisions.whenPast(decisions.generation(), [&] { ++resumed; });
  });
  decisions.announce();
  EXPECT_EQ(resumed, 1);
  decisions.announce();
  EXPECT_EQ(resumed, 2);
}

using EnginePreparedDecisions = EngineContract;
INSTANTIATE_TEST_SUITE_P(Engines, EnginePreparedDecisions, engineKinds(), engineKindName);

TEST_P(EnginePreparedDecisions, AReaderIsResumedByTheCommitAndSeesIt) {
  Table u = create("u", false);
  Transaction writer(engine(), u);
  writer.put("a", "1");
  ASSERT_TRUE(writer.session().prepare(at(5)).isOK());
  auto& decisions = engine().preparedDecisions();
  const uint64_t seen = decisions.generation();
  ASSERT_EQ(Transaction(engine(), u).read("a"), "PreparedTransactionInProgress");
  std::string read;
  decisions.whenPast(seen, [&] { read = Transaction(engine(), u).read("a"); });
  EXPECT_EQ(read, "");
  ASSERT_TRUE(writer.session().commitPrepared(at(6), at(6)).isOK());
  EXPECT_EQ(read, "1");
}

TEST_P(EnginePreparedDecisions, ARollbackIsADecisionToo) {
  Table u = create("u", false);
  Transaction writer(engine(), u);
  writer.put("a", "1");
  ASSERT_TRUE(writer.session().prepare(at(5)).isOK());
  std::string read;
  engine().preparedDecisions().whenPast(engine().preparedDecisions().generation(),
                                        [&] { read = Transaction(engine(), u).read("a"); });
  {
    Transaction other(engine(), u);  // not prepared: nobody waits for it
    other.put("b", "1");
  }
  EXPECT_EQ(read, "");
  writer.session().rollback();
  EXPECT_EQ(read, "-");
}

TEST_P(EnginePreparedDecisions, ClosingTheEngineResumesWaiters) {
  bool resumed = false;
  engine().preparedDecisions().whenPast(engine().preparedDecisions().generation(), [&] { resumed = true; });
  ASSERT_TRUE(engine().close().isOK());
  EXPECT_TRUE(resumed);
}

}  // namespace
}  // namespace troupe::storage
