// The contract of storage/engine/engine.hpp: timestamps, prepared transactions and what survives.
#include "test/unit/storage/engine/engine_contract.hpp"

namespace troupe::storage {
namespace {

using EngineTime = EngineContract;
INSTANTIATE_TEST_SUITE_P(Engines, EngineTime, engineKinds(), engineKindName);

TEST_P(EngineTime, AReadTimestampSeesTheDataOfThatTime) {
  Table t = create("u", false);
  commit(t, "a", "10", 10);
  commit(t, "a", "20", 20);
  commit(t, "b", "30", 30);
  EXPECT_EQ(rowsAt(t, 9), "");
  EXPECT_EQ(rowsAt(t, 10), "a=10");
  EXPECT_EQ(rowsAt(t, 25), "a=20");
  EXPECT_EQ(rowsAt(t, 30), "a=20 b=30");
  EXPECT_EQ(rows(t), "a=20 b=30");
}

TEST_P(EngineTime, EachWriteCarriesTheTimestampSetBeforeIt) {
  Table u = create("u", false);
  Transaction t(engine(), u);
  t.commitAt(30).put("a", "30").commitAt(31).put("b", "31").commitAt(32).put("c", "32");
  ASSERT_TRUE(t.commit().isOK());
  EXPECT_EQ(rowsAt(u, 30), "a=30");
  EXPECT_EQ(rowsAt(u, 31), "a=30 b=31");
  EXPECT_EQ(rowsAt(u, 32), "a=30 b=31 c=32");
}

TEST_P(EngineTime, WritesWithoutATimestampAreSeenAtEveryTime) {
  Table u = create("u", false);
  ASSERT_TRUE(Transaction(engine(), u).put("a", "0").commit().isOK());
  EXPECT_EQ(rowsAt(u, 1), "a=0");
}

TEST_P(EngineTime, RemovalAndTruncationAreTimestamped) {
  Table u = create("u", false);
  commit(u, "a", "1", 1);
  commit(u, "b", "1", 1);
  Transaction t(engine(), u);
  t.commitAt(5);
  ASSERT_TRUE(t.session().truncate(u, "", "").isOK());
  ASSERT_TRUE(t.commit().isOK());
  EXPECT_EQ(rowsAt(u, 4), "a=1 b=1");
  EXPECT_EQ(rowsAt(u, 5), "");
}

TEST_P(EngineTime, AReadBeforeOldestIsTooOldUnlessRoundedUp) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  commit(u, "a", "20", 20);
  ASSERT_TRUE(engine().setOldestTimestamp(at(15)).isOK());
  EXPECT_EQ(rowsAt(u, 14), "SnapshotTooOld");
  EXPECT_EQ(rowsAt(u, 15), "a=10");
  Transaction rounded(engine(), u, {.readTimestamp = at(3), .roundUpReadTimestamp = true});
  EXPECT_EQ(rounded.rows(), "a=10");
  Transaction t(engine(), u, {.readTimestamp = at(3)});
  EXPECT_EQ(t.begun().code(), ErrorCode::kSnapshotTooOld);
  EXPECT_FALSE(t.session().inTransaction());
  EXPECT_TRUE(t.session().begin().isOK());  // the failure left nothing behind
  EXPECT_EQ(t.rows(), "a=20");
}

TEST_P(EngineTime, AReaderAtATimeConflictsWhenItWritesNewerRows) {
  Table u = create("u", false);
  commit(u, "a", "20", 20);
  Transaction t(engine(), u, {.readTimestamp = at(10)});
  EXPECT_EQ(t.cursor()->put("a", "x").code(), ErrorCode::kWriteConflict);
}

TEST_P(EngineTime, StableAndOldestMoveForwardOnlyAndInOrder) {
  EXPECT_EQ(engine().stableTimestamp(), at(0));
  EXPECT_EQ(engine().oldestTimestamp(), at(0));
  EXPECT_EQ(engine().setStableTimestamp(at(0)).code(), ErrorCode::kBadValue);
  EXPECT_EQ(engine().setOldestTimestamp(at(0)).code(), ErrorCode::kBadValue);
  EXPECT_TRUE(engine().setStableTimestamp(at(20)).isOK());
  EXPECT_TRUE(engine().setStableTimestamp(at(10)).isOK());
  EXPECT_EQ(engine().stableTimestamp(), at(20));
  EXPECT_EQ(engine().setOldestTimestamp(at(21)).code(), ErrorCode::kBadValue);
  EXPECT_TRUE(engine().setOldestTimestamp(at(15)).isOK());
  EXPECT_TRUE(engine().setOldestTimestamp(at(5)).isOK());
  EXPECT_EQ(engine().oldestTimestamp(), at(15));
}

TEST_P(EngineTime, ACommitTimestampIsNotBeforeStableNorTheFirstOne) {
  Table u = create("u", false);
  ASSERT_TRUE(engine().setStableTimestamp(at(20)).isOK());
  Transaction t(engine(), u);
  EXPECT_EQ(t.session().setCommitTimestamp(at(0)).code(), ErrorCode::kBadValue);
  EXPECT_EQ(t.session().setCommitTimestamp(at(19)).code(), ErrorCode::kBadValue);
  EXPECT_TRUE(t.session().setCommitTimestamp(at(21)).isOK());
  EXPECT_TRUE(t.session().setCommitTimestamp(at(25)).isOK());
  EXPECT_EQ(t.session().setCommitTimestamp(at(20)).code(), ErrorCode::kBadValue);
}

TEST_P(EngineTime, AllDurableStopsBeforeHoles) {
  Table u = create("u", false);
  EXPECT_EQ(engine().allDurableTimestamp(), at(0));
  Transaction slow(engine(), u);
  slow.commitAt(30).put("slow", "");
  commit(u, "fast", "", 40);
  EXPECT_EQ(engine().allDurableTimestamp(), at(29));
  ASSERT_TRUE(slow.commit().isOK());
  EXPECT_EQ(engine().allDurableTimestamp(), at(40));
}

TEST_P(EngineTime, AHoleThatIsRolledBackIsNoHole) {
  Table u = create("u", false);
  Transaction slow(engine(), u);
  slow.commitAt(30).put("slow", "");
  commit(u, "fast", "", 40);
  slow.session().rollback();
  EXPECT_EQ(engine().allDurableTimestamp(), at(40));
}

TEST_P(EngineTime, RollbackToStableTakesUnloggedTablesBack) {
  Table u = create("u", false);
  EXPECT_EQ(engine().rollbackToStable().code(), ErrorCode::kIllegalOperation);
  commit(u, "a", "10", 10);
  commit(u, "a", "20", 20);
  commit(u, "b", "30", 30);
  ASSERT_TRUE(Transaction(engine(), u).put("n", "no time").commit().isOK());
  fill({"logged"});
  ASSERT_TRUE(engine().setStableTimestamp(at(15)).isOK());
  {
    Transaction writer(engine(), u);
    writer.put("x", "");
    EXPECT_EQ(engine().rollbackToStable().code(), ErrorCode::kObjectIsBusy);
  }
  ASSERT_EQ(engine().rollbackToStable().toString(), Status::OK().toString());
  EXPECT_EQ(rows(u), "a=10 n=no time");
  EXPECT_EQ(rows(table()), "logged=logged!");
  EXPECT_EQ(engine().allDurableTimestamp(), at(15));
  commit(u, "a", "16", 16);
  EXPECT_EQ(rows(u), "a=16 n=no time");
}

TEST_P(EngineTime, APreparedTransactionBlocksLaterReadersUntilDecided) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  Transaction t(engine(), u);
  t.put("a", "20");
  ASSERT_EQ(t.session().prepare(at(20)).toString(), Status::OK().toString());
  EXPECT_EQ(Transaction(engine(), u).read("a"), "PreparedTransactionInProgress");
  EXPECT_EQ(Transaction(engine(), u, {.readTimestamp = at(20)}).read("a"), "PreparedTransactionInProgress");
  EXPECT_EQ(Transaction(engine(), u, {.readTimestamp = at(19)}).read("a"), "10");
  BeginOptions through;
  through.ignorePrepare = true;
  EXPECT_EQ(Transaction(engine(), u, through).read("a"), "10");
  EXPECT_EQ(Transaction(engine(), u, through).cursor()->put("b", "x").code(), ErrorCode::kBadValue);
  EXPECT_EQ(Transaction(engine(), u).cursor()->put("a", "x").code(), ErrorCode::kWriteConflict);
  EXPECT_EQ(Transaction(engine(), u).rows(), "");  // a scan stops there too
  ASSERT_EQ(t.session().commitPrepared(at(25), at(26)).toString(), Status::OK().toString());
  EXPECT_FALSE(t.session().inTransaction());
  EXPECT_EQ(Transaction(engine(), u).read("a"), "20");
  EXPECT_EQ(Transaction(engine(), u, {.readTimestamp = at(24)}).read("a"), "10");
  EXPECT_EQ(engine().allDurableTimestamp(), at(26));
}

TEST_P(EngineTime, AReaderFromBeforeThePreparationIsNotBlocked) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  Transaction t(engine(), u);
  t.put("a", "20");
  Transaction before(engine(), u);
  ASSERT_TRUE(t.session().prepare(at(20)).isOK());
  Transaction after(engine(), u);
  EXPECT_EQ(before.read("a"), "10");
  EXPECT_EQ(after.read("a"), "PreparedTransactionInProgress");
  ASSERT_TRUE(t.session().commitPrepared(at(25), at(25)).isOK());
  EXPECT_EQ(before.read("a"), "10");
  EXPECT_EQ(after.read("a"), "20");  // it waited for this
}

TEST_P(EngineTime, AfterPrepareOnlyTheDecisionIsAllowed) {
  Table u = create("u", false);
  Transaction t(engine(), u);
  auto lease = t.cursor();
  ASSERT_TRUE(lease->put("a", "1").isOK());
  ASSERT_TRUE(t.session().prepare(at(20)).isOK());
  EXPECT_EQ(lease->seek("a").status().code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(lease->next().status().code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(lease->put("a", "2").code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(t.session().cursor(u).status().code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(t.session().truncate(u, "", "").code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(t.session().setCommitTimestamp(at(21)).code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(t.session().prepare(at(21)).code(), ErrorCode::kIllegalOperation);
  EXPECT_EQ(t.session().commit().code(), ErrorCode::kIllegalOperation);
  lease.reset();  // a lease that ends meanwhile does no harm
  ASSERT_EQ(t.session().commitPrepared(at(21), at(21)).toString(), Status::OK().toString());
  EXPECT_EQ(Transaction(engine(), u).rows(), "a=1");
}

TEST_P(EngineTime, APreparedTransactionMayRollBack) {
  Table u = create("u", false);
  Transaction t(engine(), u);
  t.put("a", "1");
  EXPECT_EQ(t.session().commitPrepared(at(3), at(3)).code(), ErrorCode::kIllegalOperation);
  ASSERT_TRUE(t.session().prepare(at(20)).isOK());
  t.session().rollback();
  EXPECT_EQ(Transaction(engine(), u).rows(), "");
}

TEST_P(EngineTime, PrepareRefusesLoggedTablesAndCommitTimestamps) {
  Table u = create("u", false);
  {
    Transaction t(engine(), table());
    t.put("a", "1");
    EXPECT_EQ(t.session().prepare(at(20)).code(), ErrorCode::kBadValue);
  }
  Transaction t(engine(), u);
  t.commitAt(10).put("a", "1");
  EXPECT_EQ(t.session().prepare(at(20)).code(), ErrorCode::kBadValue);
  t.session().rollback();
  EXPECT_EQ(rows(table()), "");
}

TEST_P(EngineTime, ALoggedTableKeepsEverythingFlushed) {
  fill({"a"});
  ASSERT_TRUE(engine().flushLog().isOK());
  { Transaction(engine(), table()).put("open", ""); }
  harness().crash();
  EXPECT_EQ(rows(open("t")), "a=a!");
}

TEST_P(EngineTime, ACommitWithoutAFlushMayBeLost) {
  fill({"a"});
  ASSERT_TRUE(engine().flushLog().isOK());
  fill({"b"});
  harness().crash();
  const std::string kept = rows(open("t"));
  EXPECT_TRUE(kept == "a=a!" || (harness().flushesByItself() && kept == "a=a! b=b!")) << kept;
}

TEST_P(EngineTime, AnUnloggedTableReturnsToTheLastStableCheckpoint) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  commit(u, "a", "30", 30);
  ASSERT_TRUE(engine().setStableTimestamp(at(20)).isOK());
  ASSERT_TRUE(engine().checkpoint({.stable = true}).isOK());
  commit(u, "b", "21", 21);
  fill({"logged"});
  ASSERT_TRUE(engine().flushLog().isOK());
  harness().crash();
  EXPECT_EQ(rows(open("u")), "a=10");
  EXPECT_EQ(rows(open("t")), "logged=logged!");
  EXPECT_EQ(engine().recoveryTimestamp(), at(20));
  EXPECT_EQ(engine().stableTimestamp(), at(20));
  EXPECT_EQ(engine().oldestTimestamp(), at(20));
  EXPECT_EQ(engine().allDurableTimestamp(), at(0));
}

TEST_P(EngineTime, NoHistoryBeforeTheRecoveredTime) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  commit(u, "a", "20", 20);
  ASSERT_TRUE(engine().setStableTimestamp(at(20)).isOK());
  ASSERT_TRUE(engine().checkpoint().isOK());
  harness().crash();
  EXPECT_EQ(rowsAt(open("u"), 10), "SnapshotTooOld");
  EXPECT_EQ(rowsAt(open("u"), 20), "a=20");
}

TEST_P(EngineTime, AFullCheckpointKeepsTheNewestData) {
  Table u = create("u", false);
  commit(u, "a", "30", 30);
  ASSERT_TRUE(engine().setStableTimestamp(at(20)).isOK());
  ASSERT_TRUE(engine().checkpoint({.stable = false}).isOK());
  harness().crash();
  EXPECT_EQ(rows(open("u")), "a=30");
}

TEST_P(EngineTime, WithoutAStableTimeAStableCheckpointKeepsTheNewestData) {
  Table u = create("u", false);
  commit(u, "a", "30", 30);
  ASSERT_TRUE(engine().checkpoint({.stable = true}).isOK());
  harness().crash();
  EXPECT_EQ(rows(open("u")), "a=30");
  EXPECT_EQ(engine().recoveryTimestamp(), at(0));
}

TEST_P(EngineTime, ACheckpointKeepsLoggedTablesToo) {
  fill({"a"});
  ASSERT_TRUE(engine().checkpoint().isOK());
  harness().crash();
  EXPECT_EQ(rows(open("t")), "a=a!");
}

TEST_P(EngineTime, APreparedTransactionDoesNotSurvive) {
  Table u = create("u", false);
  {
    Transaction t(engine(), u);
    t.put("a", "1");
    ASSERT_TRUE(t.session().prepare(at(20)).isOK());
    ASSERT_TRUE(engine().checkpoint().isOK());
  }
  harness().crash();
  EXPECT_EQ(rows(open("u")), "");
}

TEST_P(EngineTime, ACommitBeforeThePreparationIsRefusedAndRolledBack) {
  Table u = create("u", false);
  Transaction t(engine(), u);
  t.put("a", "1");
  ASSERT_TRUE(t.session().prepare(at(20)).isOK());
  EXPECT_EQ(t.session().commitPrepared(at(19), at(30)).code(), ErrorCode::kBadValue);
  EXPECT_FALSE(t.session().inTransaction());
  EXPECT_EQ(Transaction(engine(), u).rows(), "");
}

TEST_P(EngineTime, OldReadersKeepTheirHistoryWhileOldestMoves) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  Transaction reader(engine(), u, {.readTimestamp = at(12)});
  commit(u, "a", "20", 20);
  ASSERT_TRUE(engine().setStableTimestamp(at(30)).isOK());
  ASSERT_TRUE(engine().setOldestTimestamp(at(30)).isOK());
  commit(u, "a", "40", 40);
  ASSERT_TRUE(engine().checkpoint().isOK());
  EXPECT_EQ(reader.read("a"), "10");
  EXPECT_EQ(rowsAt(u, 30), "a=20");
}

TEST_P(EngineTime, TablesSurviveTheirCreation) {
  create("late", true);
  ASSERT_TRUE(engine().flushLog().isOK());
  harness().crash();
  EXPECT_EQ(engine().listTables(), (std::vector<std::string>{"late", "t"}));
}

TEST_P(EngineTime, ACleanCloseKeepsEverythingUpToStable) {
  Table u = create("u", false);
  fill({"a"});
  commit(u, "a", "10", 10);
  commit(u, "b", "30", 30);
  ASSERT_TRUE(engine().setStableTimestamp(at(20)).isOK());
  harness().reopen();
  EXPECT_EQ(rows(open("t")), "a=a!");
  EXPECT_EQ(rows(open("u")), "a=10");
  EXPECT_EQ(engine().recoveryTimestamp(), at(20));
}

TEST_P(EngineTime, RecoveredDataCanBeWrittenFrom) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  ASSERT_TRUE(engine().setStableTimestamp(at(10)).isOK());
  ASSERT_TRUE(engine().checkpoint().isOK());
  harness().crash();
  Table again = open("u");
  commit(again, "a", "11", 11);
  EXPECT_EQ(rowsAt(again, 10), "a=10");
  EXPECT_EQ(rowsAt(again, 11), "a=11");
  EXPECT_EQ(engine().allDurableTimestamp(), at(11));
}

}  // namespace
}  // namespace troupe::storage
