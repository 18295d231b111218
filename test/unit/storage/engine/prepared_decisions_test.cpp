#include "storage/engine/prepared_decisions.hpp"

#include "test/unit/storage/engine/engine_contract.hpp"

namespace troupe::storage {
namespace {

using EnginePreparedDecisions = EngineContract;
INSTANTIATE_TEST_SUITE_P(Engines, EnginePreparedDecisions, engineKinds(), engineKindName);

TEST_P(EnginePreparedDecisions, AReaderIsResumedByTheCommitAndSeesIt) {
  Table u = create("u", false);
  Transaction writer(engine(), u);
  writer.put("a", "1");
  ASSERT_TRUE(writer.session().prepare(at(5)).isOK());
  auto& decisions = engine().preparedDecisions();
  const uint64_t seen = decisions.get();
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
  engine().preparedDecisions().whenPast(engine().preparedDecisions().get(),
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
  engine().preparedDecisions().whenPast(engine().preparedDecisions().get(), [&] { resumed = true; });
  ASSERT_TRUE(engine().close().isOK());
  EXPECT_TRUE(resumed);
}

}  // namespace
}  // namespace troupe::storage
