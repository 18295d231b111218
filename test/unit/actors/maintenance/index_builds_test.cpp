// Several builds of indexes, and writers beside them.
#include "actors/maintenance/index_builds.hpp"

#include <optional>

#include "test/unit/actors/maintenance/index_build_fixture.hpp"

namespace troupe::maintenance {

class IndexBuildsTest : public IndexBuildTest {
 protected:
  /// Documents that the build under way has scanned.
  int64_t scanned() {
    int64_t done = 0;
    server.clients.each([&](server::Client& client) {
      if (!client.description().starts_with("IndexBuild ")) return;
      client.withOperation([&](storage::OperationContext& operation) { done = operation.metrics.progress.done; });
    });
    return done;
  }
};

TEST_F(IndexBuildsTest, RequestsForTheSameIndexesShareABuild) {
  fillC();
  hold("scanning");
  const auto first = beginBuild();
  const auto second = beginBuild(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1", "v": 2}]})");
  EXPECT_EQ(rows().size(), 1u);
  EXPECT_FALSE(first->done || second->done);
  kill(first->operation.id());
  EXPECT_EQ(codeOf(*first), 11601);
  EXPECT_EQ(rows().size(), 1u) << "another client waits for it";
  letGo();
  EXPECT_TRUE(commands::holds(second->takeReply(), parse(R"({"ok": 1, "numIndexesBefore": 1, "numIndexesAfter": 2})")));
  expectIndexOf(600);
  expectNothingLeft();
}

TEST_F(IndexBuildsTest, ABuildEndsWithTheLastOfItsClients) {
  fillC();
  hold("scanning");
  const auto first = beginBuild();
  const auto second = beginBuild();
  kill(first->operation.id());
  EXPECT_EQ(rows().size(), 1u);
  kill(second->operation.id());
  EXPECT_EQ(codeOf(*second), 11601);
  letGo();
  expectNothingLeft();
}

TEST_F(IndexBuildsTest, ARequestDoesNotJoinABuildThatHasFailed) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "x": 1}, {"_id": 2, "x": 1}]})"));
  hold("aborting");
  const auto failed = beginBuild(kUniqueX);
  ASSERT_EQ(rows().at(0).phase, "aborting");
  ASSERT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})"));
  const auto next = beginBuild(kUniqueX);
  ASSERT_EQ(rows().size(), 2u) << "it awaits the end of the other";
  EXPECT_FALSE(failed->done || next->done);
  letGo();
  EXPECT_EQ(codeOf(*failed), 11000);
  EXPECT_EQ(codeOf(*next), 0);
  expectIndexOf(1);
  expectNothingLeft();
}

TEST_F(IndexBuildsTest, ARequestDoesNotJoinABuildThatHasSucceeded) {
  for (const int documents : {0, 600}) {
    ASSERT_TRUE(succeeds(R"({"create": "c"})"));
    if (documents > 0) fillC();
    for (const bool isThere : {false, true}) {
      if (isThere) {
        ASSERT_TRUE(succeeds(kBuildX));
      }
      hold("ended");
      const auto first = beginBuild();
      EXPECT_FALSE(first->done);
      ASSERT_TRUE(answers(R"({"dropIndexes": "c", "index": "x_1"})", R"({"ok": 1, "nIndexesWas": 2})"));
      const auto second = beginBuild();
      letGo();
      EXPECT_EQ(codeOf(*first), 0);
      EXPECT_EQ(codeOf(*second), 0);
      expectIndexOf(documents);
      ASSERT_TRUE(succeeds(R"({"dropIndexes": "c", "index": "x_1"})"));
    }
    ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  }
  expectNothingLeft();
}

TEST_F(IndexBuildsTest, ARequestDoesNotJoinABuildWhoseActorHasFailed) {
  fillC();
  failPoint("failIndexBuild", R"({"times": 1})", "scanning");
  hold("set up");
  const auto failed = beginBuild();
  LockHolder reader(server.locks, "test.c", storage::LockMode::kIS);
  letGo();
  ASSERT_TRUE(rows().empty()) << "what it left is being discarded";
  EXPECT_FALSE(failed->done);
  const auto next = beginBuild();
  EXPECT_FALSE(next->done);
  reader.release();
  server.node.advance(1s);
  EXPECT_EQ(codeOf(*failed), 1);
  EXPECT_EQ(codeOf(*next), 0);
  expectIndexOf(600);
  expectNothingLeft();
}

/// Messages and news of ends come in any order.
TEST_F(IndexBuildsTest, AnOutcomeThatComesAfterTheFailureOfItsActorCounts) {
  fillC();
  hold("scanning");
  const auto build = beginBuild();
  LockHolder reader(server.locks, "test.c", storage::LockMode::kIS);
  const Address actor = server.node.address(rows().at(0).path);
  server.node.kill(actor, Status(ErrorCode::kInternalError, "a test"));
  server.node.advance(100ms);
  const auto uuid = bson::Uuid::fromString(actor.path().substr(actor.path().rfind('/') + 1));
  server.node.tell(server.node.address(kIndexBuildsPath),
                   local(BuildDone{*uuid, IndexesBuilt{.before = 1, .after = 2, .lastOpTime = {}}}));
  server.node.advance(100ms);
  EXPECT_FALSE(build->done);
  reader.release();
  server.node.advance(100ms);
  EXPECT_TRUE(commands::holds(build->takeReply(), bson::doc("ok", 1, "numIndexesAfter", 2)));
  letGo();
  expectNothingLeft();
}

/// The kernel has the same error for an actor that is not there.
TEST_F(IndexBuildsTest, AFailureOfStorageIsToldAsItIs) {
  fillC();
  hold("scanning");
  const auto build = beginBuild();
  const Address actor = server.node.address(rows().at(0).path);
  LockHolder reader(server.locks, "test.c", storage::LockMode::kIS);
  server.node.kill(actor, Status(ErrorCode::kInternalError, "a test"));
  server.node.advance(100ms);
  const auto uuid = bson::Uuid::fromString(actor.path().substr(actor.path().rfind('/') + 1));
  server.node.tell(server.node.address(kIndexBuildsPath),
                   local(BuildDone{*uuid, Status(ErrorCode::kNoSuchKey, "no such table")}));
  server.node.advance(100ms);
  reader.release();
  server.node.advance(100ms);
  EXPECT_EQ(codeOf(*build), 4);
  letGo();
  expectNothingLeft();
}

TEST_F(IndexBuildsTest, OneThatWantsMoreAwaitsTheOtherAndMakesTheRest) {
  fillC();
  constexpr const char* kBoth = R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"},
                                    {"key": {"y": 1}, "name": "y_1"}]})";
  for (const bool fails : {false, true}) {
    hold("scanning");
    const auto first = beginBuild();
    const auto second = beginBuild(kBoth);
    ASSERT_EQ(rows().size(), 2u);
    EXPECT_TRUE(rows()[0].phase == "waiting" || rows()[1].phase == "waiting");
    if (fails) kill(first->operation.id());
    letGo();
    EXPECT_EQ(codeOf(*first), fails ? 11601 : 0);
    EXPECT_TRUE(commands::holds(second->takeReply(), bson::doc("ok", 1, "numIndexesAfter", 3)));
    expectIndexOf(600);
    ASSERT_TRUE(succeeds(R"({"dropIndexes": "c", "index": "*"})"));
    expectNothingLeft();
  }
}

TEST_F(IndexBuildsTest, OneThatContradictsAnotherIsRefused) {
  fillC();
  hold("scanning");
  const auto first = beginBuild();
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"y": 1}, "name": "x_1"}]})"), 86);
  EXPECT_EQ(code(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "other"}]})"), 85);
  EXPECT_FALSE(first->done);
  letGo();
  EXPECT_EQ(codeOf(*first), 0);
  hold("setting up");  // both are on their way to the lock
  const auto one = beginBuild(R"({"createIndexes": "c", "indexes": [{"key": {"y": 1}, "name": "y"}]})");
  const auto other = beginBuild(R"({"createIndexes": "c", "indexes": [{"key": {"z": 1}, "name": "y"}]})");
  letGo();
  EXPECT_EQ(codeOf(*one) + codeOf(*other), 86) << "one of them was the first";
  expectNothingLeft();
}

TEST_F(IndexBuildsTest, SoManyRunAsTheParameterSaysAndTheOthersWait) {
  ASSERT_TRUE(succeeds(R"({"setParameter": 1, "maxNumActiveUserIndexBuilds": 1})", "admin"));
  fillC();
  hold("scanning");
  const auto first = beginBuild();
  const auto second = beginBuild(R"({"createIndexes": "c", "indexes": [{"key": {"y": 1}, "name": "y_1"}]})");
  const auto third = beginBuild(R"({"createIndexes": "c", "indexes": [{"key": {"z": 1}, "name": "z_1"}]})");
  EXPECT_EQ(rows().size(), 1u);
  const auto details = server.node.wait(server.node.inspect(kIndexBuildsPath, 1s));
  EXPECT_TRUE(commands::holds(details->state, parse(R"({"builds": [{"waitsFor": ""},
      {"waitsFor": "a place among maxNumActiveUserIndexBuilds"}, {"clients": 1}]})")));
  kill(third->operation.id());
  EXPECT_EQ(codeOf(*third), 11601);
  letGo();
  EXPECT_EQ(codeOf(*first), 0);
  EXPECT_EQ(codeOf(*second), 0);
  expectNothingLeft();
}

TEST_F(IndexBuildsTest, TakesInWhatIsWrittenBesideIt) {
  fillC();
  for (const char* phase : {"set up", "scanning", "committing"}) {
    hold(phase);
    const auto build = beginBuild();
    EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1001, "x": 5}, {"_id": 1002, "x": [6, 7]}]})"));
    EXPECT_TRUE(succeeds(R"({"update": "c", "updates": [{"q": {"_id": 2}, "u": {"$set": {"x": 99}}},
                             {"q": {"_id": 599}, "u": {"$set": {"x": 98}}}]})"));
    EXPECT_TRUE(
        succeeds(R"({"delete": "c", "deletes": [{"q": {"_id": 3}, "limit": 1}, {"q": {"_id": 598}, "limit": 1}]})"));
    EXPECT_FALSE(build->done);
    letGo();
    EXPECT_EQ(codeOf(*build), 0) << phase;
    expectIndexOf(601);
    EXPECT_EQ(batch(R"({"find": "c", "filter": {"x": {"$gte": 98}}, "hint": "x_1"})").size(), 2u) << phase;
    EXPECT_EQ(batch(R"({"find": "c", "filter": {"_id": 1002, "x": 7}, "hint": "x_1"})").size(), 1u) << "multikey";
    ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
    fillC();
  }
}

TEST_F(IndexBuildsTest, FindsArraysAndDuplicatesOfTheDocumentsThatItScans) {
  fillC();
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1002, "x": [6, 70]}]})"));
  EXPECT_TRUE(answers(kUniqueX, R"({"code": 11000, "keyPattern": {"x": 1}})"));
  expectNothingLeft();
  ASSERT_TRUE(succeeds(kBuildX));
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"x": 70}, "hint": "x_1"})").size(), 1u);
  expectIndexOf(602);
}

TEST_F(IndexBuildsTest, ADuplicateThatGoesBeforeTheCommitIsForgiven) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "x": 1}, {"_id": 2, "x": 1}]})"));
  hold("committing");
  const auto build = beginBuild(kUniqueX);
  EXPECT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})"));
  letGo();
  EXPECT_EQ(codeOf(*build), 0);
  EXPECT_TRUE(
      answers(R"({"insert": "c", "documents": [{"_id": 3, "x": 1}]})", R"({"writeErrors": [{"code": 11000}]})"));
  expectNothingLeft();
}

TEST_F(IndexBuildsTest, AWaitingDropStallsWritersNoLongerThanASlice) {
  constexpr int kDocuments = 20 * 256;  // so many batches
  fill("c", kDocuments);
  std::optional<LockHolder> drop, insert;
  server.server->writes.roomFor = [&](size_t) {  // asked before each batch of a slice, with its lock held
    if (!drop && server.locks.inUse() > 0 && !rows().empty() && rows()[0].phase == "scanning") {
      drop.emplace(server.locks, "test.c", storage::LockMode::kX);
      insert.emplace(server.locks, "test.c", storage::LockMode::kIX);
      EXPECT_FALSE(drop->held() || insert->held());
    }
    server.time->jumpTo(server.time->now() + 20ms);
    return Status::OK();
  };
  const auto build = beginBuild();
  ASSERT_TRUE(drop);
  EXPECT_TRUE(drop->held());
  EXPECT_LT(scanned(), kDocuments / 2);
  drop->release();
  server.node.advance(1s);
  EXPECT_TRUE(insert->held());
  EXPECT_FALSE(build->done) << "its last phase waits for the writer";
  insert->release();
  server.node.advance(1s);
  EXPECT_EQ(codeOf(*build), 0);
  expectIndexOf(kDocuments);
}

TEST_F(IndexBuildsTest, OnAnEmptyCollectionThereIsNothingToScan) {
  ASSERT_TRUE(succeeds(R"({"create": "c"})"));
  hold("set up");
  EXPECT_TRUE(answers(
      R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}, {"key": {"y": 1}, "name": "y_1"}]})",
      R"({"ok": 1, "numIndexesBefore": 1, "numIndexesAfter": 3})"));
  letGo();
  expectNothingLeft();
}

}  // namespace troupe::maintenance
