#include "actors/storage/collection_writer.hpp"

#include <gtest/gtest.h>

#include "test/unit/actors/machines/store_fixture.hpp"

namespace troupe {
namespace {

using bson::operator""_json;
using machines::done;

struct CollectionWriterTest : commands::CommandTest {
  explicit CollectionWriterTest(commands::CommandNode::Options options = {}) : CommandTest(std::move(options)) {
    EXPECT_TRUE(server.run(R"({"insert": "c", "documents": [{"_id": 1}]})"_json)["ok"].truthy());
  }

  /// The operation outlives the check of what is left.
  void TearDown() override {
    operation.recoveryUnit().releaseSession();
    CommandTest::TearDown();
  }

  storage::CollectionPtr c() { return server.catalog->find({"test", "c"}); }
  storage::OperationContext operation{server.server->operations};
  CollectionWriter writer{server.server->writes, operation};
};

TEST_F(CollectionWriterTest, AConflictIsRetriedWithoutHoldingAThread) {
  int attempts = 0;
  auto body = [&]() -> Status {
    return ++attempts <= 10 ? Status(ErrorCode::kWriteConflict, "made up") : Status::OK();
  };
  EXPECT_TRUE(done(server, writer.commit(body)).isOK());
  EXPECT_EQ(attempts, 11);
  EXPECT_EQ(operation.metrics.writeConflicts, 10);
}

// STX-007
TEST_F(CollectionWriterTest, CachePressureIsWaitedOutAsTheParametersSayAndThenTheClients) {
  ASSERT_TRUE(server.run(R"({"setParameter": 1, "temporarilyUnavailableMaxRetries": 3})"_json, "admin")["ok"].truthy());
  ASSERT_TRUE(
      server.run(R"({"setParameter": 1, "temporarilyUnavailableBackoffBaseMs": 50})"_json, "admin")["ok"].truthy());
  const auto attemptsAt = [&](int failures, Status* outcome) {
    const TimePoint begun = server.time->now();
    std::vector<int64_t> times;
    auto body = [&]() -> Status {
      times.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(server.time->now() - begun).count());
      return failures-- > 0 ? Status(ErrorCode::kTemporarilyUnavailable, "made up") : Status::OK();
    };
    *outcome = done(server, writer.commit(body));
    return times;
  };
  Status outcome;
  EXPECT_EQ(attemptsAt(3, &outcome), (std::vector<int64_t>{0, 50, 150, 300}));
  EXPECT_TRUE(outcome.isOK()) << outcome.toString();
  EXPECT_EQ(attemptsAt(4, &outcome), (std::vector<int64_t>{0, 50, 150, 300}));
  EXPECT_EQ(static_cast<int>(outcome.code()), 365) << outcome.toString();
  EXPECT_EQ(server.server->conflicts.temporarilyUnavailableErrorsEscaped, 1);
}

TEST_F(CollectionWriterTest, TheConflictsOfAllStatementsOfAnOperationAreSummedUp) {
  for (int statement = 0; statement < 3; ++statement) {
    int attempts = 0;
    auto body = [&]() -> Status {
      return ++attempts <= 2 ? Status(ErrorCode::kWriteConflict, "made up") : Status::OK();
    };
    EXPECT_TRUE(done(server, writer.commit(body)).isOK());
  }
  storage::ConflictRetry another = writer.newRetry();
  another.next({ErrorCode::kWriteConflict, "made up"});
  EXPECT_EQ(operation.metrics.writeConflicts, 7);
}

TEST_F(CollectionWriterTest, AKilledOperationIsNotRetried) {
  auto body = []() -> Status { return {ErrorCode::kWriteConflict, "made up"}; };
  operation.kill(ErrorCode::kInterrupted);
  EXPECT_EQ(done(server, writer.commit(body)), ErrorCode::kInterrupted);
}

TEST_F(CollectionWriterTest, AKilledOperationAttemptsNothing) {
  int attempts = 0;
  auto body = [&]() -> Status {
    ++attempts;
    return Status::OK();
  };
  operation.kill(ErrorCode::kInterrupted);
  EXPECT_EQ(done(server, writer.commit(body)), ErrorCode::kInterrupted);
  EXPECT_EQ(attempts, 0);
}

TEST_F(CollectionWriterTest, AnyOtherFailureUndoesTheUnit) {
  auto body = [&]() -> Status {
    TROUPE_TRY(c()->insert(operation.recoveryUnit(), bson::doc("_id", 2)).status());
    return {ErrorCode::kBadValue, "made up"};
  };
  EXPECT_EQ(done(server, writer.commit(body)), ErrorCode::kBadValue);
  EXPECT_EQ(c()->records().count(), 1);
}

TEST_F(CollectionWriterTest, AKilledPauseEndsAtOnceAndAPausedOperationHoldsNoTicket) {
  ASSERT_TRUE(operation.tryAdmit(true));
  auto pausing = [](CollectionWriter* with, std::optional<Status>* to) -> Task<void> {
    to->emplace(co_await with->pause(std::chrono::seconds(10)));
  };
  std::optional<Status> outcome;
  server.node.start(pausing(&writer, &outcome));
  server.node.run();
  EXPECT_EQ(server.admission.write().out(), 0);
  operation.kill(ErrorCode::kInterruptedDueToReplStateChange);
  server.node.run();
  ASSERT_TRUE(outcome);
  EXPECT_EQ(*outcome, ErrorCode::kInterruptedDueToReplStateChange);
}

TEST_F(CollectionWriterTest, LocksThatAYieldGaveUpAreWaitedForAndCountedAgain) {
  for (const auto type : {storage::ResourceType::kCollection, storage::ResourceType::kDatabase}) {
    storage::HeldLock once(operation, type, "test.c", storage::LockMode::kIX);
    storage::HeldLock twice(operation, type, "test.c", storage::LockMode::kIX);
    ASSERT_TRUE(once.tryAcquire() && twice.tryAcquire());
    operation.yieldLocks();
    storage::OperationContext other(server.server->operations);
    auto taken = done(server, lockDatabase(server.node, other, "test", storage::LockMode::kX));
    ASSERT_TRUE(taken.isOK());
    std::optional<Status> resumed;
    auto resuming = [](Node* node, storage::OperationContext* which, std::optional<Status>* to) -> Task<void> {
      to->emplace(co_await resumeLocks(*node, *which));
    };
    server.node.start(resuming(&server.node, &operation, &resumed));
    server.node.run();
    ASSERT_FALSE(resumed);
    taken->reset();
    server.node.run();
    ASSERT_TRUE(resumed && resumed->isOK());
    twice.reset();
    EXPECT_NE(operation.locker()->modeOf(storage::ResourceId::database("test")), storage::LockMode::kNone);
    once.reset();
    EXPECT_FALSE(operation.locker()->holdsAny());
  }
}

// A step-down that is tried and kills nobody would wait for the holder, the holder for the ticket, and the ticket's
// owner for the step-down.
TEST_F(CollectionWriterTest, AnOperationThatWaitsForAStateTransitionHoldsNoTicketThatTheHolderNeeds) {
  server.admission.setFixed(1, 1);
  auto waiting = [](Node* node, storage::OperationContext* which, storage::HeldLock* lock,
                    std::optional<Status>* to) -> Task<void> {
    to->emplace(co_await acquireLock(*node, *which, *lock));
  };
  storage::HeldLock held = collectionLock(operation, {"test", "c"}, storage::LockMode::kIX);
  ASSERT_TRUE(done(server, acquireLock(server.node, operation, held)).isOK());
  operation.returnTicket();  // as in the pause between two tries
  storage::Locker transition(server.locks);
  const auto exclusive =
      transition.acquire(storage::ResourceId::stateTransition(), storage::LockMode::kX, {}, [](const Status&) {});
  ASSERT_TRUE(exclusive.wait);
  storage::OperationContext later(server.server->operations);
  storage::HeldLock its = collectionLock(later, {"test", "c"}, storage::LockMode::kIX);
  std::optional<Status> granted;
  server.node.start(waiting(&server.node, &later, &its, &granted));
  server.node.run();
  ASSERT_FALSE(granted) << "it waits behind the state transition";
  EXPECT_TRUE(done(server, admit(server.node, operation, true)).isOK());
  operation.returnTicket();
  held.reset();
  transition.releaseAll();
  server.node.run();
  ASSERT_TRUE(granted && granted->isOK());
  EXPECT_TRUE(later.isAdmitted());
}

TEST_F(CollectionWriterTest, WhatANodeWritesInEveryRoleDoesNotWaitForAStateTransition) {
  storage::Locker transition(server.locks);
  ASSERT_TRUE(transition.tryAcquire(storage::ResourceId::stateTransition(), storage::LockMode::kX));
  EXPECT_TRUE(done(server, writer.open({"local", "vote"}, IfMissing::kLeave)).isOK());
  storage::OperationContext other(server.server->operations);
  storage::HeldLock waits(other, storage::ResourceType::kCollection, "test.c", storage::LockMode::kIX);
  EXPECT_FALSE(waits.tryAcquire());
}

TEST_F(CollectionWriterTest, CreatesWhatIsMissingIfThatIsWanted) {
  const auto left = done(server, writer.open({"test", "none"}, IfMissing::kLeave));
  ASSERT_TRUE(left.isOK());
  EXPECT_FALSE(left->collection);
  EXPECT_FALSE(server.catalog->find({"test", "none"}));
  const auto made = done(server, writer.open({"test", "none"}, IfMissing::kCreate));
  ASSERT_TRUE(made.isOK());
  EXPECT_EQ(made->collection, server.catalog->find({"test", "none"}));
}

TEST_F(CollectionWriterTest, ACappedCollectionIsHeldAlone) {
  ASSERT_TRUE(server.run(R"({"create": "capped", "capped": true, "size": 4096})"_json)["ok"].truthy());
  const auto target = done(server, writer.open({"test", "capped"}, IfMissing::kLeave));
  ASSERT_TRUE(target.isOK());
  EXPECT_EQ(operation.locker()->modeOf(storage::ResourceId::collection("test.capped")), storage::LockMode::kX);
}

/// A prepared transaction that has changed {_id: 1} and added {_id: 5}. Its tables are not logged.
struct PreparedConflictTest : CollectionWriterTest {
  PreparedConflictTest() : CollectionWriterTest({.replicated = true}) {
    storage::RecoveryUnit& unit = preparer.recoveryUnit();
    work = std::make_unique<storage::WriteUnitOfWork>(unit);
    EXPECT_TRUE(c()->update(unit, storage::RecordId(1), bson::doc("_id", 1), bson::doc("_id", 1, "p", 1)).isOK());
    EXPECT_TRUE(c()->insert(unit, bson::doc("_id", 5)).isOK());
    EXPECT_TRUE(work->prepare({10, 1}).isOK());
  }
  void commit() {
    EXPECT_TRUE(work->commitPrepared({10, 2}, {10, 2}).isOK());
    work.reset();
  }
  void TearDown() override {
    work.reset();
    preparer.recoveryUnit().releaseSession();
    CollectionWriterTest::TearDown();
  }

  storage::OperationContext preparer{{.sessions = server.storageSessions}};
  std::unique_ptr<storage::WriteUnitOfWork> work;
};

constexpr const char* kUpdate = R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"x": 1}}}]})";

TEST_F(PreparedConflictTest, AnUpdateGoesOnWhenTheTransactionIsDecided) {
  const auto waiting = server.begin(parse(kUpdate));
  server.node.advance(std::chrono::seconds(30));
  ASSERT_FALSE(waiting->done);
  commit();
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["nModified"].toInt64(), 1);
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"_id": 1}})"),
            std::vector<std::string>{R"({ "_id" : 1, "p" : 1, "x" : 1 })"});
}

TEST_F(PreparedConflictTest, AnInsertOfTheSameKeyLearnsWhetherItIsTaken) {
  const auto waiting = server.begin(parse(R"({"insert": "c", "documents": [{"_id": 5, "mine": 1}]})"));
  server.node.advance(std::chrono::seconds(30));
  ASSERT_FALSE(waiting->done);
  work.reset();  // rolls back
  server.node.advance(std::chrono::seconds(1));
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["n"].toInt64(), 1);
}

TEST_F(PreparedConflictTest, ABatchThatRunsOutOfTimeInsertsNoneOfItsDocumentsOneByOne) {
  const auto waiting = server.begin(parse(
      R"({"insert": "c", "documents": [{"_id": 7}, {"_id": 5}, {"_id": 8}], "ordered": false, "maxTimeMS": 500})"));
  server.node.advance(std::chrono::seconds(1));
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].toInt64(), 50);
  work.reset();
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"_id": {"$gt": 1}}})"), std::vector<std::string>{});
}

TEST_F(PreparedConflictTest, TheWaitEndsWithMaxTimeMSAndLeavesNothingBehind) {
  bson::Builder limited;
  limited.appendAll(parse(kUpdate)).append("maxTimeMS", 500);
  const auto waiting = server.begin(limited.finish());
  server.node.advance(std::chrono::seconds(1));
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].toInt64(), 50);
  EXPECT_EQ(server.engine->preparedDecisions().waiters(), 0u);
}

}  // namespace
}  // namespace troupe
