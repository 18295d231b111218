// Requests that wait for work on a worker: they hear of kills, and hold no locks.
#include "actors/commands/blocking_work.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {

class BlockingWorkTest : public CommandTest {
 protected:
  /// An index that may become unique.
  static constexpr const char* kPrepared =
      R"({"createIndexes": "c", "indexes": [{"key": {"_id": 1, "x": 1}, "name": "i", "prepareUnique": true}]})";

  /// Starts a command and goes on until its work has been queued; no worker has taken it yet.
  std::shared_ptr<Exchange> beginWork(std::string_view json, std::string_view db = "test") {
    auto exchange = std::make_shared<Exchange>(wire::buildRequest(++server.lastRequest, db, parse(json)),
                                               *server.server, *server.client, server.time->now());
    server.node.start([](std::shared_ptr<Exchange> e) -> Task<void> {
      co_await dispatch(e->request);
      e->done = true;
    }(exchange));
    return exchange;
  }
  /// Turns of the request only: what is ready last is what has become ready last.
  void untilDone(const Exchange& exchange) {
    for (int turns = 0; !exchange.done && turns < 100 && server.node.step(server.node.readyCount() - 1); ++turns) {
    }
  }
};

TEST_F(BlockingWorkTest, AKilledRequestDoesNotAwaitItsWork) {
  fill("c", 300);
  ASSERT_TRUE(succeeds(kPrepared));
  for (const auto& [command, db] :
       {std::pair(R"({"validate": "c"})", "test"), std::pair(R"({"validate": "c", "background": true})", "test"),
        std::pair(R"({"fsync": 1})", "admin"), std::pair(R"({"createUser": "u", "pwd": "p", "roles": []})", "test"),
        std::pair(R"({"collMod": "c", "index": {"name": "i", "unique": true}})", "test")}) {
    const auto exchange = beginWork(command, db);
    ASSERT_FALSE(exchange->done) << command;
    exchange->operation.kill(ErrorCode::kInterrupted);
    untilDone(*exchange);
    ASSERT_TRUE(exchange->done) << command;
    EXPECT_EQ(exchange->takeReply()["code"].toInt64(), 11601) << command;
    server.node.run();
    EXPECT_EQ(server.locks.inUse(), 0u) << command;
    EXPECT_EQ(server.storageSessions.statistics().lent, 0) << command;
  }
  EXPECT_TRUE(answers(R"({"usersInfo": "u"})", R"({"users": []})"));
}

TEST_F(BlockingWorkTest, ItsLockIsTheWorksOwn) {
  fill("c", 300);
  const auto validation = beginWork(R"({"validate": "c"})");
  ASSERT_FALSE(validation->done);
  ASSERT_FALSE(server.locks.inspect().empty());
  const storage::ResourceView collection = server.locks.inspect().back();
  EXPECT_EQ(collection.name, "test.c");
  ASSERT_EQ(collection.granted.size(), 1u);
  EXPECT_EQ(collection.granted[0].mode, storage::LockMode::kX);
  EXPECT_NE(collection.granted[0].locker, validation->operation.lockerId());
  storage::Locker* const own = validation->operation.locker();
  EXPECT_FALSE(own && own->holdsAny()) << "a request that waits holds nothing";
  EXPECT_FALSE(validation->operation.isAdmitted());
  server.node.run();
  EXPECT_TRUE(validation->done);
}

TEST_F(BlockingWorkTest, AValidationThatWaitsForItsLockCanBeSeenAndKilled) {
  fill("c", 3);
  LockHolder other(server.locks, "test.c", storage::LockMode::kIX);
  for (const bool itsOwn : {true, false}) {
    const auto validation = server.begin(parse(R"({"validate": "c"})"), "test", server.connect());
    ASSERT_FALSE(validation->done);
    const auto shown = run(R"({"currentOp": 1, "desc": "validate test.c"})", "admin");
    ASSERT_EQ(shown["inprog"].asArray().count(), 1) << bson::toRelaxedJson(shown);
    const bson::View row = shown["inprog"].asArray().first().asDocument();
    EXPECT_TRUE(holds(row, parse(R"({"ns": "test.c", "waitingForLock": true, "locks": {"Collection": "W"}})")));
    const int64_t id = itsOwn ? row["opid"].toInt64() : validation->operation.id();
    ASSERT_TRUE(server.run(bson::doc("killOp", 1, "op", id), "admin")["ok"].truthy());
    server.node.run();
    ASSERT_TRUE(validation->done);
    EXPECT_EQ(validation->takeReply()["code"].toInt64(), 11601);
  }
  other.release();
}

TEST_F(BlockingWorkTest, APieceOfLongWorkEndsAfterItsBytesOrItsTime) {
  VirtualEnvironment time;
  PieceLimit byBytes(time), byTime(time);
  EXPECT_FALSE(byBytes.reached(PieceLimit::kBytes - 1));
  EXPECT_TRUE(byBytes.reached(1));
  EXPECT_FALSE(byTime.reached(1));
  time.advance(PieceLimit::kTime);
  EXPECT_TRUE(byTime.reached(0));
}

TEST_F(BlockingWorkTest, ShortWorkEndsWhileADigestOfLargeDocumentsGoesOn) {
  for (int i = 0; i < 20; ++i) {
    const auto document = bson::doc("_id", i, "s", std::string(4'000'000, 'x'));
    const auto insert = bson::doc("insert", "c", "documents", std::vector<bson::Document>{document});
    ASSERT_TRUE(server.run(insert)["ok"].truthy());
  }
  const auto digest = beginWork(R"({"dbHash": 1})");
  ASSERT_FALSE(digest->done);
  const auto shorter = beginWork(R"({"createUser": "u", "pwd": "p", "roles": []})");
  while (!shorter->done && !digest->done && server.node.step()) {
  }
  EXPECT_TRUE(shorter->done);
  EXPECT_FALSE(digest->done);
  server.node.run();
  EXPECT_TRUE(digest->done);
}

TEST_F(BlockingWorkTest, ASlowValidationEndsWhenItsTimeIsOver) {
  fill("c", 5000);
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "maxValidateMBperSec": 1})", "admin"));
  bson::Builder big;
  big.append("insert", "c").openArray("documents");
  for (int i = 0; i < 10; ++i) big.push(bson::doc("_id", 10'000 + i, "s", std::string(1'000'000, 'x')));
  ASSERT_TRUE(server.run(big.close().finish())["ok"].truthy());
  const TimePoint begun = server.time->now();
  EXPECT_EQ(code(R"({"validate": "c", "background": true, "maxTimeMS": 300})"), 50);
  EXPECT_LT(server.time->now() - begun, 400ms);
}

TEST_F(BlockingWorkTest, AnIndexBecomesUniqueOnlyAsItWasChecked) {
  fill("c", 300);
  ASSERT_TRUE(succeeds(kPrepared));
  const auto conversion = beginWork(R"({"collMod": "c", "index": {"name": "i", "unique": true}})");
  ASSERT_FALSE(conversion->done);
  EXPECT_TRUE(beginWork(R"({"insert": "c", "documents": [{"_id": 1000}]})")->done) << "writers go on beside it";
  EXPECT_TRUE(beginWork(R"({"collMod": "c", "index": {"name": "i", "prepareUnique": false}})")->done);
  server.node.run();
  ASSERT_TRUE(conversion->done);
  EXPECT_EQ(conversion->takeReply()["code"].toInt64(), 72) << "since its keys were looked at, duplicates may have come";
  ASSERT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "i", "prepareUnique": true}})"));
  EXPECT_TRUE(succeeds(R"({"collMod": "c", "index": {"name": "i", "unique": true}})"));
  EXPECT_TRUE(answers(R"({"listIndexes": "c"})", R"({"cursor": {"firstBatch": [{}, {"unique": true}]}})"));
}

/// A change of the role asks for the state transition lock, and all reads queue behind it.
TEST_F(BlockingWorkTest, NoChangeOfTheRoleWaitsForIt) {
  fill("c", 300);
  ASSERT_TRUE(succeeds(kPrepared));
  for (const auto& [command, db] :
       {std::pair(R"({"validate": "c"})", "test"), std::pair(R"({"validate": "c", "background": true})", "test"),
        std::pair(R"({"dbHash": 1})", "test"), std::pair(R"({"fsync": 1})", "admin"),
        std::pair(R"({"collMod": "c", "index": {"name": "i", "unique": true}})", "test")}) {
    const auto exchange = beginWork(command, db);
    ASSERT_FALSE(exchange->done) << command;
    {
      storage::Locker transition(server.locks);
      EXPECT_TRUE(transition.tryAcquire(storage::ResourceId::stateTransition(), storage::LockMode::kX)) << command;
    }
    server.node.run();
    ASSERT_TRUE(exchange->done) << command;
    EXPECT_TRUE(exchange->takeReply()["ok"].truthy()) << command;
  }
}

TEST_F(BlockingWorkTest, NoChangeOfTheRoleWaitsForACompaction) {
  fill("c", 3);
  LockHolder other(server.locks, "test.c", storage::LockMode::kX);
  const auto compaction = server.begin(parse(R"({"compact": "c"})"));
  ASSERT_FALSE(compaction->done) << "it waits for the collection";
  {
    storage::Locker transition(server.locks);
    EXPECT_TRUE(transition.tryAcquire(storage::ResourceId::stateTransition(), storage::LockMode::kX));
  }
  other.release();
  server.node.run();
  ASSERT_TRUE(compaction->done);
  EXPECT_TRUE(compaction->takeReply()["ok"].truthy());
}

TEST_F(BlockingWorkTest, WorkThatKeepsARoleIsABrokenInvariant) {
  const auto client = server.connect();
  Exchange exchange(wire::buildRequest(1, "test", parse(R"({"ping": 1})")), *server.server, *client,
                    server.time->now());
  const auto operation = std::make_shared<storage::OperationContext>(server.server->operations);
  storage::HeldLock lock(*operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kIS);
  ASSERT_TRUE(lock.tryAcquire());
  bool refused = false;
  server.node.start([](Request* request, std::shared_ptr<storage::OperationContext> work, bool* broken) -> Task<void> {
    const BlockingBody nothing = [](auto&) { return Status::OK(); };
    try {
      (void)co_await runBlocking(*request, std::move(work), "test", WorkLength::kLong, nothing);
    } catch (const BrokenInvariant&) {
      *broken = true;
    }
  }(&exchange.request, operation, &refused));
  server.node.run();
  EXPECT_TRUE(refused);
}

}  // namespace troupe::commands
