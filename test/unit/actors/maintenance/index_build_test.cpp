// Builds of indexes as actors: how they end, and that they leave nothing.
#include "actors/maintenance/index_build.hpp"

#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/maintenance/index_build_fixture.hpp"

namespace troupe::maintenance {

TEST_F(IndexBuildTest, IsARowOfTheTreeWithItsProgressItsOperationAndItsLocks) {
  fillC();
  hold("scanning");
  const auto build = beginBuild();
  ASSERT_FALSE(build->done);
  ASSERT_EQ(rows().size(), 1u);
  const ActorRow row = rows()[0];
  EXPECT_TRUE(row.path.starts_with(std::string(kIndexBuildsPath) + "/")) << row.path;
  EXPECT_EQ(row.parent, kIndexBuildsPath);
  EXPECT_EQ(row.phase, "scanning");
  const auto details = server.node.wait(server.node.inspect(row.path, 1s));
  ASSERT_TRUE(details);
  EXPECT_TRUE(commands::holds(details->state, parse(R"({"collection": "test.c", "indexes": ["x_1"], "locks": [],
      "documentsScanned": 256, "documentsEstimated": 600, "keysInserted": 256, "batchesRunAgain": 0})")));
  const auto shown = operations();
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_TRUE(commands::holds(shown[0], parse(R"({"ns": "test.c", "active": true, "admissionPriority": "low",
      "msg": "Index Build: scanning collection", "progress": {"done": 256, "total": 600},
      "command": {"createIndexes": "c"}})")));
  EXPECT_EQ(shown[0]["opid"].toInt64(), details->state["opid"].toInt64());
  letGo();
  EXPECT_EQ(codeOf(*build), 0);
  expectIndexOf(600);
  expectNothingLeft();
}

TEST_F(IndexBuildTest, ShowsTheLockItWaitsFor) {
  fillC();
  hold("committing");
  const auto build = beginBuild();
  LockHolder reader(server.locks, "test.c", storage::LockMode::kIS);
  letGo();
  EXPECT_FALSE(build->done);
  const auto details = server.node.wait(server.node.inspect(rows().at(0).path, 1s));
  EXPECT_EQ(details->state["waitsFor"].toStringOr(), "lock X on Collection test.c");
  EXPECT_EQ(details->row.phase, "committing");
  reader.release();
  server.node.advance(1s);
  EXPECT_EQ(codeOf(*build), 0);
}

TEST_F(IndexBuildTest, HoldsNoLockBetweenItsSteps) {
  fillC();
  for (const char* phase : kPhases) {
    hold(phase);
    const auto build = beginBuild();
    EXPECT_FALSE(build->done);
    EXPECT_EQ(server.locks.inUse(), 0u) << phase;
    EXPECT_TRUE(succeeds(R"({"collMod": "c", "validator": {}})")) << phase;
    letGo();
    EXPECT_EQ(codeOf(*build), 0) << phase;
    ASSERT_TRUE(succeeds(R"({"dropIndexes": "c", "index": "x_1"})"));
  }
}

TEST_F(IndexBuildTest, KilledByItsOwnOperationItEndsForItsClientToo) {
  fillC();
  for (const char* phase : kPhases) {
    hold(phase);
    const auto build = beginBuild();
    const auto shown = operations();
    ASSERT_EQ(shown.size(), 1u) << phase;
    kill(shown[0]["opid"].toInt64());
    EXPECT_EQ(codeOf(*build), 11601) << phase;
    expectNothingLeft();
    letGo();
    EXPECT_TRUE(succeeds(kBuildX)) << phase;
    ASSERT_TRUE(succeeds(R"({"dropIndexes": "c", "index": "x_1"})"));
  }
}

TEST_F(IndexBuildTest, TakesNothingOfAnotherBuildOfItsCollectionWithIt) {
  fillC();
  hold("scanning");
  const auto x = beginBuild();
  const auto shown = operations();
  ASSERT_EQ(shown.size(), 1u);
  const auto y = beginBuild(R"({"createIndexes": "c", "indexes": [{"key": {"y": 1}, "name": "y_1"}]})");
  ASSERT_EQ(rows().size(), 2u);
  kill(shown[0]["opid"].toInt64());
  EXPECT_EQ(codeOf(*x), 11601);
  ASSERT_EQ(storage::unfinishedBuilds(*server.catalog->snapshot()).size(), 1u) << "that of y";
  EXPECT_FALSE(y->done);
  letGo();
  EXPECT_EQ(codeOf(*y), 0);
  const auto checked = run(R"({"validate": "c", "full": true})");
  EXPECT_TRUE(commands::holds(checked, parse(R"({"valid": true, "nIndexes": 2, "keysPerIndex": {"y_1": 600}})")))
      << bson::toRelaxedJson(checked);
  expectNothingLeft();
}

TEST_F(IndexBuildTest, EndsWhenItsRequestIsKilledOrOutOfTime) {
  fillC();
  for (const char* phase : kPhases) {
    hold(phase);
    const auto killed = beginBuild();
    kill(killed->operation.id());
    EXPECT_EQ(codeOf(*killed), 11601) << phase;
    expectNothingLeft();
    const auto late =
        beginBuild(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}], "maxTimeMS": 500})");
    EXPECT_FALSE(late->done) << phase;
    server.node.advance(1s);
    EXPECT_EQ(codeOf(*late), 50) << phase;
    expectNothingLeft();
    letGo();
  }
}

TEST_F(IndexBuildTest, EndsWhenItsIndexIsDropped) {
  fillC();
  for (const char* phase : {"set up", "scanning", "committing"}) {
    for (const char* index : {R"("x_1")", R"({"x": 1})", R"("*")", R"(["x_1"])"}) {
      hold(phase);
      const auto build = beginBuild();
      ASSERT_FALSE(build->done);
      EXPECT_TRUE(
          answers(R"({"dropIndexes": "c", "index": )" + std::string(index) + "}", R"({"ok": 1, "nIndexesWas": 2})"))
          << phase << index;
      const auto reply = build->takeReply();
      EXPECT_TRUE(commands::holds(reply, parse(R"({"code": 276, "errmsg": "the index was dropped during its build"})")))
          << bson::toRelaxedJson(reply);
      expectNothingLeft();
      letGo();
    }
  }
}

TEST_F(IndexBuildTest, IndexesOfOneBuildAreDroppedTogether) {
  fillC();
  hold("scanning");
  const auto build = beginBuild(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"},
                                    {"key": {"y": 1}, "name": "y_1"}]})");
  EXPECT_EQ(code(R"({"dropIndexes": "c", "index": "x_1"})"), 12587);
  EXPECT_FALSE(build->done);
  EXPECT_TRUE(answers(R"({"dropIndexes": "c", "index": ["y_1", "x_1"]})", R"({"ok": 1, "nIndexesWas": 3})"));
  EXPECT_EQ(codeOf(*build), 276);
  letGo();
  expectNothingLeft();
}

TEST_F(IndexBuildTest, EndsWhenItsCollectionOrDatabaseIsDropped) {
  for (const char* drop : {R"({"drop": "c"})", R"({"dropDatabase": 1})"}) {
    for (const char* phase : kPhases) {
      fillC();
      hold(phase);
      const auto build = beginBuild();
      ASSERT_FALSE(build->done);
      EXPECT_TRUE(succeeds(drop)) << phase;
      EXPECT_EQ(codeOf(*build), 276) << phase << drop;
      expectNothingLeft();
      letGo();
    }
  }
}

TEST_F(IndexBuildTest, FailsAsAnActorAndIsCleanedUpByItsSupervisor) {
  fillC();
  for (const char* phase : kPhases) {
    failPoint("failIndexBuild", R"({"times": 1})", phase);
    const auto build = beginBuild();
    server.node.advance(1s);
    EXPECT_EQ(codeOf(*build), 1) << phase;
    expectNothingLeft();
    EXPECT_TRUE(succeeds(kBuildX)) << phase;
    ASSERT_TRUE(succeeds(R"({"dropIndexes": "c", "index": "x_1"})"));
  }
}

TEST_F(IndexBuildTest, GoesWithItsSupervisorWhoseNextLifeCleansUp) {
  fillC();
  hold("scanning");
  const auto build = beginBuild();
  server.node.start([](Node& node) -> Task<void> {
    const Status restarted =
        co_await supervisors::controlActor(node, kIndexBuildsPath, supervisors::ControlAction::kRestart, "test");
    EXPECT_TRUE(restarted.isOK()) << restarted.toString();
  }(server.node));
  server.node.advance(3s);
  EXPECT_EQ(codeOf(*build), 276);
  expectNothingLeft();
  server.node.kill(server.node.address(kIndexBuildsPath), Status(ErrorCode::kInternalError, "a test"));
  server.node.advance(3s);
  letGo();
  EXPECT_TRUE(succeeds(kBuildX));
  expectNothingLeft();
}

TEST_F(IndexBuildTest, WhatACrashLeftIsDiscardedBeforeClientsCome) {
  fillC();
  constexpr const char* kFails =
      R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1", "unique": true}]})";
  for (const std::string phase : {"set up", "scanning", "committing", "aborting"}) {
    hold(phase);
    const auto build = beginBuild(phase == "aborting" ? kFails : kBuildX);
    ASSERT_FALSE(build->done);
    ASSERT_EQ(rows().at(0).phase, phase == "set up" ? "scanning" : phase);
    ASSERT_TRUE(server.engine->flushLog().isOK());
    CommandNode again({.disk = server.engine->disk()});
    EXPECT_FALSE(again.catalog->find({"test", "c"})->findIndex("x_1")) << phase;
    expectNothingLeft(again);
    EXPECT_TRUE(again.run(parse(kBuildX))["ok"].truthy()) << phase;
    kill(build->operation.id());
    letGo();
    expectNothingLeft();
  }
}

class IndexBuildShutdownTest : public IndexBuildTest {
 protected:
  void TearDown() override {}  // the node is gone
};

TEST_F(IndexBuildShutdownTest, EndsWithItsNode) {
  fillC();
  hold("scanning");
  const auto build = beginBuild();
  const TimePoint asked = server.time->now();
  server.assembly.stop();
  EXPECT_EQ(codeOf(*build), 11600);
  EXPECT_LT(server.time->now() - asked, 3s) << "nothing of it held the shutdown up";
}

class IndexBuildDiscardTest : public IndexBuildTest {
 protected:
  /// Leaves an unfinished index of test.c that no build makes: a reader keeps its build from removing it, and then the
  /// supervisor, until an operator kills what waits. The supervisor tries again ten seconds later.
  void leaveUnfinished() {
    fillC();
    hold("scanning");
    const auto build = beginBuild();
    LockHolder reader(server.locks, "test.c", storage::LockMode::kIS);
    kill(operations().at(0)["opid"].toInt64());
    letGo();
    EXPECT_FALSE(build->done) << "its build has not ended";
    killDiscard();
    EXPECT_EQ(codeOf(*build), 11601);
    EXPECT_TRUE(rows().empty());
    killDiscard();
    EXPECT_TRUE(discards().empty());
    ASSERT_EQ(storage::unfinishedBuilds(*server.catalog->snapshot()).size(), 1u);
  }
  std::vector<bson::Document> discards() { return operations("^DiscardIndexBuild"); }
  void killDiscard() {
    const auto shown = discards();
    ASSERT_EQ(shown.size(), 1u);
    kill(shown[0]["opid"].toInt64());
  }
};

TEST_F(IndexBuildDiscardTest, IsAnOperationThatIsSeenAndKilledAndIsTriedAgainLater) {
  fillC();
  hold("scanning");
  const auto build = beginBuild();
  LockHolder reader(server.locks, "test.c", storage::LockMode::kIS);
  kill(operations().at(0)["opid"].toInt64());
  const auto shown = discards();
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_TRUE(commands::holds(shown[0], parse(R"({"ns": "test.c", "active": true, "waitingForLock": true,
      "command": {"discardIndexBuild": "c", "$db": "test"}})")))
      << bson::toRelaxedJson(shown[0]);
  const auto locks = run(R"({"lockInfo": 1})", "admin");
  EXPECT_NE(bson::toRelaxedJson(locks).find("DiscardIndexBuild"), std::string::npos) << bson::toRelaxedJson(locks);
  killDiscard();
  EXPECT_EQ(codeOf(*build), 11601);
  killDiscard();
  reader.release();
  EXPECT_EQ(storage::unfinishedBuilds(*server.catalog->snapshot()).size(), 1u);
  letGo();
  server.node.advance(10s);
  expectNothingLeft();
}

TEST_F(IndexBuildDiscardTest, WhatItCouldNotRemoveDoesNotStandInTheWay) {
  for (const char* command : {kBuildX, R"({"dropIndexes": "c", "index": "x_1"})", R"({"drop": "c"})"}) {
    leaveUnfinished();
    EXPECT_TRUE(succeeds(command)) << command;
    if (command == std::string_view(kBuildX)) {
      expectIndexOf(600);
      ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
    }
    expectNothingLeft();
    server.node.advance(10s);  // the supervisor looks again
    (void)run(R"({"drop": "c"})");
  }
}

TEST_F(IndexBuildDiscardTest, ThatFailsWhileTheSupervisorStartsIsTriedAgainWhileItServes) {
  leaveUnfinished();
  LockHolder reader(server.locks, "test.c", storage::LockMode::kIS);
  server.node.kill(server.node.address(kIndexBuildsPath), Status(ErrorCode::kInternalError, "a test"));
  server.node.advance(1s);
  const auto phase = [&] { return server.node.registry().rows({.under = kIndexBuildsPath}).at(0).phase; };
  EXPECT_EQ(phase(), "recovering");
  killDiscard();
  EXPECT_EQ(phase(), "serving");
  reader.release();
  EXPECT_EQ(storage::unfinishedBuilds(*server.catalog->snapshot()).size(), 1u);
  server.node.advance(10s);
  expectNothingLeft();
}

TEST_F(IndexBuildDiscardTest, ADropThatWaitsForItEndsWithItsTimeAndByAKill) {
  for (const bool isKilled : {false, true}) {
    leaveUnfinished();
    LockHolder before(server.locks, "test.c", storage::LockMode::kIS);
    const char* command = isKilled ? R"({"dropIndexes": "c", "index": "x_1"})"
                                   : R"({"dropIndexes": "c", "index": "x_1", "maxTimeMS": 500})";
    const auto drop = server.begin(parse(command), "test", server.connect());
    LockHolder between(server.locks, "test.c", storage::LockMode::kIS);  // granted when the drop has looked
    before.release();
    server.node.advance(100ms);
    ASSERT_TRUE(between.held());
    ASSERT_FALSE(drop->done);
    if (isKilled) kill(drop->operation.id());
    else server.node.advance(1s);
    EXPECT_EQ(codeOf(*drop), isKilled ? 11601 : 50);
    between.release();
    server.node.advance(10s);
    expectNothingLeft();
    ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  }
}

// Else nothing would help such a build but a kill: what the scan refuses could not be removed while it runs.
TEST_F(IndexBuildTest, AClientRemovesAndMendsWhatTheIndexCannotHold) {
  constexpr const char* kBuild = R"({"createIndexes": "c", "indexes": [{"key": {"t": 1, "u": 1}, "name": "x_1"}]})";
  for (const bool isMended : {true, false}) {
    fillC();
    ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 7000, "t": [1], "u": [2]},
                                                          {"_id": 7001, "t": [1], "u": [2]}]})"));
    hold("scanning");
    const auto build = beginBuild(kBuild);
    ASSERT_FALSE(build->done);
    ASSERT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {"_id": 7000}, "limit": 1}]})"));
    if (isMended) {
      ASSERT_TRUE(succeeds(R"({"update": "c", "updates": [{"q": {"_id": 7001}, "u": {"$set": {"u": 2}}}]})"));
    }
    letGo();
    EXPECT_EQ(codeOf(*build), isMended ? 0 : static_cast<int64_t>(ErrorCode::kCannotIndexParallelArrays));
    if (isMended) expectIndexOf(601);
    expectNothingLeft();
    ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  }
}

TEST_F(IndexBuildTest, WaitsWhereTheCacheHasNoRoomAsWritersDo) {
  fillC();
  failPoint("failIndexBuild", R"({"times": 3})", "batch");
  const auto build = beginBuild();
  server.node.advance(5s);
  EXPECT_FALSE(build->done) << "one second, then two, then three";
  EXPECT_EQ(server.locks.inUse(), 0u);
  server.node.advance(2s);
  EXPECT_EQ(codeOf(*build), 0);
  expectIndexOf(600);
  expectNothingLeft();
}

TEST_F(IndexBuildTest, EndsWhereTheCacheHasNoRoomForLong) {
  fillC();
  failPoint("failIndexBuild", R"("alwaysOn")", "batch");
  const auto build = beginBuild();
  server.node.advance(60s);
  EXPECT_EQ(codeOf(*build), static_cast<int64_t>(ErrorCode::kTemporarilyUnavailable));
  expectNothingLeft();
}

}  // namespace troupe::maintenance
