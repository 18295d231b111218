#include "actors/replication/rollback_actor.hpp"

#include "test/unit/actors/replication/rollback_fixture.hpp"

namespace troupe::replication {
namespace {

// RBK-001 to RBK-014, RBK-017.
/// A fetcher that waits for a rollback of the last life of this actor would wait for ever.
TEST_F(RollbackActorTest, AStartLetsTheFetcherGoOn) {
  EXPECT_THAT(whenStarted, ::testing::ElementsAre("follow again"));
}

TEST_F(RollbackActorTest, TheMemberGoesBackToTheNewestEntryThatItShares) {
  insert(2);
  const OpTime common = leaveLogsHere();
  stableAt(common);
  insert(3);
  insert(4, "undone");
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(steps, ElementsAre("stop following", "ROLLBACK", "invalidate", "SECONDARY", "follow again"));
  EXPECT_EQ(phase(), "following");
  EXPECT_THAT(found(), ElementsAre(1, 2));
  EXPECT_THAT(found("undone"), IsEmpty());
  EXPECT_EQ(server.run(R"({"count": "c"})"_json)["n"].toInt64(), 2);
  EXPECT_EQ(ownLog().size() + 1, other.entries.size());
  EXPECT_THAT(resets, ElementsAre(common));
  EXPECT_THAT(ids, ElementsAre(1, 2));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->common, common);
  EXPECT_EQ(summary->undone, 3) << "two inserts and the collection";
  EXPECT_EQ(summary->savedDocuments, 2);
  EXPECT_EQ(summary->rollbackId, 2);
  EXPECT_EQ(server.assembly.endOfLog()->get(), common.timestamp);
  ASSERT_EQ(other.asked.size(), 1u);
  EXPECT_THAT(other.asked[0], HasSubstr(R"(b:1 local { "find" : "oplog.rs", "sort" : { "$natural" : -1 })"));
}

TEST_F(RollbackActorTest, ItsRowShowsHowManyEntriesWereReplayed) {
  stableAt(leaveLogsHere());
  insert(2);
  insert(3);
  leaveLogsHere();  // later than what is stable
  insert(4);
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(found(), ElementsAre(1, 2, 3));
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->replayed, 2);
  const auto details = server.node.wait(server.node.inspect(kPath, 1s));
  ASSERT_TRUE(details.has_value());
  EXPECT_EQ(details->state["replayed"].toInt64(-1), 2);
}

/// Commit points are learned meanwhile: with a later stable time the engine would refuse what is replayed.
TEST_F(RollbackActorTest, TheStableTimeStandsStillUntilStorageIsUp) {
  insert(2);
  const OpTime common = leaveLogsHere();
  stableAt(common);
  insert(3);
  const OpTime later{common.term, {common.timestamp.seconds + 50, 1}};
  bson::Timestamp meanwhile;
  whileDown = [&] {
    history.setStable(later);
    meanwhile = server.engine->stableTimestamp();
    stable = later;
  };
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_EQ(meanwhile, common.timestamp);
  EXPECT_EQ(server.engine->stableTimestamp(), later.timestamp) << "what is stable by then";
}

TEST_F(RollbackActorTest, WritingGoesOnAndItMayGoBackAgain) {
  for (int round = 1; round <= 3; ++round) {
    const OpTime common = leaveLogsHere();
    stableAt(common);
    insert(100 + round);
    diverge();
    ASSERT_THAT(failures, IsEmpty());
    EXPECT_EQ(resets.size(), static_cast<size_t>(round));
    insert(10 + round);
  }
  EXPECT_THAT(found(), ElementsAre(1, 11, 12, 13));
  EXPECT_THAT(ids, ElementsAre(1, 2, 3, 4));
  server.node.advance(1s);
  EXPECT_EQ(server.durability.durable(), server.durability.taken()) << "flushes go on";
}

TEST_F(RollbackActorTest, WhatIsUndoneIsKeptInFiles) {
  const OpTime common = leaveLogsHere();
  stableAt(common);
  insert(2);
  diverge();
  std::vector<std::string> files;
  for (const auto& file : std::filesystem::recursive_directory_iterator(directory.path() + "/rollback"))
    if (file.is_regular_file()) files.push_back(file.path().filename().string());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(files[0].starts_with("removed.") && files[0].ends_with(".bson")) << files[0];
  EXPECT_THAT(found(), ElementsAre(1));
}

TEST_F(RollbackActorTest, FilesAreOffByParameter) {
  writesFiles = false;
  const OpTime common = leaveLogsHere();
  stableAt(common);
  insert(2);
  diverge();
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/rollback"));
  EXPECT_THAT(found(), ElementsAre(1));
}

// RBK-018.
TEST_F(RollbackActorTest, NothingHappensWhereNothingIsToBeUndone) {
  stableAt(leaveLogsHere());
  diverge();
  EXPECT_THAT(steps, ElementsAre("stop following", "follow again"));
  EXPECT_THAT(ids, ElementsAre(1));
  EXPECT_THAT(found(), ElementsAre(1));
}

TEST_F(RollbackActorTest, ASourceThatCannotBeReadChangesNothing) {
  stableAt(leaveLogsHere());
  insert(2);
  other.failure = {ErrorCode::kHostUnreachable, "it has gone"};
  diverge();
  EXPECT_THAT(steps, ElementsAre("stop following", "follow again"));
  EXPECT_THAT(found(), ElementsAre(1, 2));
  EXPECT_THAT(failures, IsEmpty());
}

TEST_F(RollbackActorTest, WhatAMajorityHasIsNotUndone) {
  const OpTime common = leaveLogsHere();
  insert(2);
  const bson::Document newest = ownLog().back();
  stableAt({common.term, newest["ts"].asTimestamp()});
  diverge();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("Save its data directory"));
  EXPECT_THAT(codes, ElementsAre(ErrorCode::kManualInterventionRequired)) << "a start would find the same";
  EXPECT_THAT(steps, ElementsAre("stop following"));
  EXPECT_THAT(found(), ElementsAre(1, 2));
}

/// Its source had entries that no majority got.
TEST_F(RollbackActorTest, ACopyOfWhatWasUndoneIsMadeAnew) {
  leaveLogsHere();
  insert(2);
  const bson::Document newest = ownLog().back();
  copied = {newest["t"].asInt64(), newest["ts"].asTimestamp()};
  stableAt(copied);
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(steps, ElementsAre("stop following", "follow again"));
}

TEST_F(RollbackActorTest, LogsThatShareNothingMeanAResync) {
  stableAt(leaveLogsHere());
  insert(2);
  other.entries = {bson::doc("ts", bson::Timestamp{UINT32_MAX, 1}, "t", 9)};
  diverge();
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("no entry of their logs in common"));
}

TEST_F(RollbackActorTest, ACopyWhoseLogSharesNothingIsMadeAnew) {
  copied = leaveLogsHere();
  stableAt(copied);
  insert(2);
  other.entries = {bson::doc("ts", bson::Timestamp{UINT32_MAX, 1}, "t", 9)};
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(steps, ElementsAre("stop following", "follow again"));
}

TEST_F(RollbackActorTest, ANodeThatStandsOrLeadsDoesNotGoBack) {
  stableAt(leaveLogsHere());
  insert(2);
  entering = {ErrorCode::kNotSecondary, "it was elected"};
  diverge();
  EXPECT_THAT(steps, ElementsAre("stop following", "ROLLBACK", "SECONDARY", "follow again"));
  EXPECT_THAT(ids, ElementsAre(1));
  EXPECT_THAT(found(), ElementsAre(1, 2));
}

/// The topology may hear each question later: a rollback that was given up would leave the node in its state for good.
TEST_F(RollbackActorTest, ATopologyThatDoesNotAnswerIsAskedAgain) {
  stableAt(leaveLogsHere());
  insert(2);
  unanswered = 1000;
  diverge();
  EXPECT_EQ(phase(), "entering");
  EXPECT_GT(steps.size(), 5u);
  EXPECT_THAT(steps, testing::Not(testing::Contains("follow again")));
  EXPECT_EQ(interruptions, 0) << "operations go on until the state is ROLLBACK";
  unanswered = 0;
  for (int i = 0; i < 100; ++i) server.node.advance(10ms);
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_EQ(steps.back(), "follow again");
  EXPECT_THAT(found(), ElementsAre(1));
}

TEST_F(RollbackActorTest, ATopologyThatDoesNotAnswerAtTheEndIsAskedAgain) {
  stableAt(leaveLogsHere());
  insert(2);
  whileDown = [this] { unanswered = 2; };
  diverge();
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_EQ(phase(), "following");
  EXPECT_THAT(steps, ElementsAre("stop following", "ROLLBACK", "invalidate", "SECONDARY", "SECONDARY", "SECONDARY",
                                 "follow again"));
}

/// The first question was heard late, by a follower; the second one by a node that is no follower any more.
TEST_F(RollbackActorTest, ARefusalTakesBackWhatAnEarlierQuestionMayHaveDone) {
  stableAt(leaveLogsHere());
  insert(2);
  unanswered = 1;
  entering = {ErrorCode::kNotSecondary, "it was removed"};
  diverge();
  EXPECT_THAT(steps, ElementsAre("stop following", "ROLLBACK", "ROLLBACK", "SECONDARY", "follow again"));
  EXPECT_THAT(failures, IsEmpty());
  EXPECT_THAT(found(), ElementsAre(1, 2));
}

/// The logs were compared before; what was written since may be what a majority has.
TEST_F(RollbackActorTest, NothingIsUndoneOfANodeThatHasLedSinceTheLogsWereCompared) {
  stableAt(leaveLogsHere());
  insert(2);
  unanswered = 1000;
  diverge();
  EXPECT_EQ(phase(), "entering");
  insert(3);
  unanswered = 0;
  for (int i = 0; i < 100; ++i) server.node.advance(10ms);
  EXPECT_EQ(phase(), "following");
  EXPECT_THAT(steps, testing::Contains("ROLLBACK"));
  EXPECT_EQ(steps.back(), "follow again") << "the logs are compared again";
  EXPECT_EQ(steps[steps.size() - 2], "SECONDARY");
  EXPECT_THAT(ids, ElementsAre(1));
  EXPECT_THAT(found(), ElementsAre(1, 2, 3));
  storage::Locker next(server.locks);
  EXPECT_TRUE(next.tryAcquire(ResourceId::stateTransition(), LockMode::kIX)) << "its locks are given back";
}

// RBK-002.
TEST_F(RollbackActorTest, ItWaitsForOperationsThatHoldLocksAndEndsThem) {
  stableAt(leaveLogsHere());
  insert(2);
  storage::Locker reader(server.locks);
  ASSERT_TRUE(reader.tryAcquire(ResourceId::stateTransition(), LockMode::kIS));
  diverge();
  EXPECT_EQ(phase(), "entering");
  EXPECT_GT(interruptions, 10) << "again and again: others may have come";
  EXPECT_THAT(ids, ElementsAre(1));
  reader.releaseAll();
  storage::Locker local(server.locks);
  ASSERT_TRUE(local.tryAcquire(ResourceId::global(), LockMode::kIS));
  for (int i = 0; i < 20; ++i) server.node.advance(10ms);
  EXPECT_EQ(phase(), "taking down");
  local.releaseAll();
  for (int i = 0; i < 20; ++i) server.node.advance(10ms);
  EXPECT_EQ(phase(), "following");
  EXPECT_THAT(found(), ElementsAre(1));
  EXPECT_TRUE(reader.tryAcquire(ResourceId::stateTransition(), LockMode::kIX)) << "its locks are given back";
}

// RBK-015.
TEST_F(RollbackActorTest, AFailureOnTheWayEndsTheNode) {
  stableAt(leaveLogsHere());
  insert(2);
  storage::Locker reader(server.locks);
  ASSERT_TRUE(reader.tryAcquire(ResourceId::global(), LockMode::kIS));  // held before storage is taken down
  diverge();
  ASSERT_EQ(phase(), "taking down");
  server.engine->setDiskFault([](auto) { return Status(ErrorCode::kInternalError, "the disk is broken"); });
  reader.releaseAll();
  for (int i = 0; i < 20; ++i) server.node.advance(10ms);
  EXPECT_EQ(phase(), "failed");
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0], HasSubstr("the disk is broken"));
  EXPECT_THAT(codes, ElementsAre(ErrorCode::kOperationFailed)) << "a start may end it";
  EXPECT_THAT(steps, ElementsAre("stop following", "ROLLBACK")) << "it stays out of service";
}

}  // namespace
}  // namespace troupe::replication
