// The contract of storage/engine/engine.hpp: what checkpoints hold, and tables that change between logged and not.
#include "test/unit/storage/engine/engine_contract.hpp"

namespace troupe::storage {
namespace {

using EngineCheckpoint = EngineContract;
INSTANTIATE_TEST_SUITE_P(Engines, EngineCheckpoint, engineKinds(), engineKindName);

TEST_P(EngineCheckpoint, ReportsTheStableTimeItHolds) {
  Table u = create("u", false);
  EXPECT_EQ(engine().lastCheckpointTimestamp(), at(0));
  commit(u, "a", "10", 10);
  EXPECT_EQ(*engine().checkpoint(), at(0));  // no stable time is set
  ASSERT_TRUE(engine().setStableTimestamp(at(15)).isOK());
  EXPECT_EQ(engine().lastCheckpointTimestamp(), at(0));
  EXPECT_EQ(*engine().checkpoint(), at(15));
  EXPECT_EQ(engine().lastCheckpointTimestamp(), at(15));
  ASSERT_TRUE(engine().setStableTimestamp(at(20)).isOK());
  EXPECT_EQ(engine().lastCheckpointTimestamp(), at(15));
  EXPECT_EQ(*engine().checkpoint(), at(20));  // nothing was written since, yet more is stable
  harness().crash();
  EXPECT_EQ(engine().recoveryTimestamp(), at(20));
  EXPECT_EQ(engine().lastCheckpointTimestamp(), at(20));
}

TEST_P(EngineCheckpoint, AFullOneHasNoTime) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  ASSERT_TRUE(engine().setStableTimestamp(at(10)).isOK());
  EXPECT_EQ(*engine().checkpoint(), at(10));
  commit(u, "a", "12", 12);
  EXPECT_EQ(*engine().checkpoint({.stable = false}), at(0));
  EXPECT_EQ(engine().lastCheckpointTimestamp(), at(0));
  harness().crash();
  EXPECT_EQ(engine().recoveryTimestamp(), at(0));
  EXPECT_EQ(rows(open("u")), "a=12");
}

// As one that was decided on within an initial sync, and has its turn after it.
TEST_P(EngineCheckpoint, AFullOneHasATimeOnceTheDataHaveOne) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  ASSERT_TRUE(engine().setStableTimestamp(at(10)).isOK());
  engine().setInitialDataTimestamp(at(10));
  commit(u, "a", "12", 12);
  EXPECT_EQ(*engine().checkpoint({.stable = false}), at(10));
  harness().crash();
  EXPECT_EQ(engine().recoveryTimestamp(), at(10));
  EXPECT_EQ(rows(open("u")), "a=10");
}

TEST_P(EngineCheckpoint, HoldsAPreparedCommitFromItsDurableTimeOn) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  {
    Transaction t(engine(), u);
    t.put("a", "20").put("b", "20");
    ASSERT_TRUE(t.session().prepare(at(18)).isOK());
    ASSERT_TRUE(t.session().commitPrepared(at(20), at(30)).isOK());
  }
  EXPECT_EQ(rowsAt(u, 20), "a=20 b=20");
  ASSERT_TRUE(engine().setStableTimestamp(at(25)).isOK());  // after its commit, before it is durable
  EXPECT_EQ(*engine().checkpoint(), at(25));
  harness().crash();
  EXPECT_EQ(rows(open("u")), "a=10");
}

TEST_P(EngineCheckpoint, RollbackToStableUndoesAPreparedCommitThatIsDurableLater) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  {
    Transaction t(engine(), u);
    t.put("a", "20");
    ASSERT_TRUE(t.session().prepare(at(18)).isOK());
    ASSERT_TRUE(t.session().commitPrepared(at(20), at(30)).isOK());
  }
  ASSERT_TRUE(engine().setStableTimestamp(at(25)).isOK());
  ASSERT_TRUE(engine().setOldestTimestamp(at(25)).isOK());
  commit(u, "b", "31", 31);  // and the older version is kept for that, even if it is never read
  ASSERT_TRUE(engine().checkpoint().isOK());
  ASSERT_EQ(engine().rollbackToStable().toString(), Status::OK().toString());
  EXPECT_EQ(rows(u), "a=10");
}

TEST_P(EngineCheckpoint, ATableBecomesUnloggedAndLoggedAgainWithItsData) {
  Table u = create("u", true);
  EXPECT_TRUE(*engine().isLogged("u"));
  EXPECT_EQ(engine().isLogged("none").status().code(), ErrorCode::kNoSuchKey);
  ASSERT_TRUE(Transaction(engine(), u).put("a", "logged").commit().isOK());
  ASSERT_TRUE(engine().flushLog().isOK());
  harness().crash();

  // In another role: what is not stable goes with a kill.
  const TableLogging asMember[] = {{"u", false}};
  ASSERT_EQ(engine().setLogged(asMember).toString(), Status::OK().toString());
  EXPECT_FALSE(*engine().isLogged("u"));
  u = open("u");
  commit(u, "b", "10", 10);
  commit(u, "c", "20", 20);
  ASSERT_TRUE(engine().setStableTimestamp(at(15)).isOK());
  ASSERT_TRUE(engine().checkpoint().isOK());
  ASSERT_TRUE(engine().flushLog().isOK());
  harness().crash();
  EXPECT_FALSE(*engine().isLogged("u"));
  EXPECT_EQ(rows(open("u")), "a=logged b=10");
  harness().reopen();

  // And back: a flush is enough.
  const TableLogging asStandalone[] = {{"u", true}, {"t", true}};
  ASSERT_EQ(engine().setLogged(asStandalone).toString(), Status::OK().toString());
  u = open("u");
  ASSERT_TRUE(Transaction(engine(), u).put("d", "logged").commit().isOK());
  ASSERT_TRUE(engine().flushLog().isOK());
  harness().crash();
  EXPECT_TRUE(*engine().isLogged("u"));
  EXPECT_EQ(rows(open("u")), "a=logged b=10 d=logged");
}

TEST_P(EngineCheckpoint, LoggingChangesNeedTheTableForThemselves) {
  const TableLogging missing[] = {{"none", false}};
  EXPECT_EQ(engine().setLogged(missing).code(), ErrorCode::kNoSuchKey);
  Transaction reader(engine(), table());
  auto cursor = reader.cursor();
  const TableLogging wanted[] = {{"t", false}};
  EXPECT_EQ(engine().setLogged(wanted).code(), ErrorCode::kObjectIsBusy);
  const TableLogging same[] = {{"t", true}};
  EXPECT_TRUE(engine().setLogged(same).isOK());  // nothing to do
}

}  // namespace
}  // namespace troupe::storage
