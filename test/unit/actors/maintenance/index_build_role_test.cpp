// Builds of indexes on a member of a replica set, whose right to write comes and goes.
#include <memory>
#include <optional>

#include "actors/machines/collection_store.hpp"
#include "actors/replication/replica_view.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/machines/store_fixture.hpp"
#include "test/unit/actors/maintenance/index_build_fixture.hpp"

namespace troupe::maintenance {

/// The only member of its set, with documents of a service: clients do not write to members yet. Its builds are asked
/// for as createIndexes asks.
class IndexBuildRoleTest : public IndexBuildTest {
 protected:
  using Outcome = std::shared_ptr<std::optional<Answer>>;
  static constexpr const char* kSteppedDown = R"({"replSetStepDown": 30, "force": true})";
  static constexpr const char* kTriesToStepDown = R"({"replSetStepDown": 30, "secondaryCatchUpPeriodSecs": 5})";
  static constexpr int64_t kWaiter = 1'000'000;

  IndexBuildRoleTest() : IndexBuildTest({.name = "n1:1", .replicaSet = "rs"}) {}
  void SetUp() override {
    commands::becomePrimary(server);
    machines::CollectionStore store(server.assembly.storageAccess(), kThings);
    store.serveIn(commands::termOf(server));
    for (int i = 0; i < kDocuments; ++i) {
      const bson::Document document = bson::doc("_id", i, "x", i % 10);
      ASSERT_TRUE(machines::done(server, store.put(document, machines::Durability::kLocal)).isOK());
    }
  }

  /// Asks for an index of that field; the build stays at the point of the fail point.
  Outcome beginBuildOfThings(CommandNode& node, const std::string& field = "x") {
    BuildIndexes wanted;
    wanted.collection = node.catalog->find(kThings)->uuid();
    wanted.ns = kThings;
    wanted.specs = {bson::doc("key", bson::doc(field, 1), "name", field + "_1")};
    wanted.waiter = kWaiter;
    auto outcome = std::make_shared<std::optional<Answer>>();
    auto keep = [](Outcome to, Future<Answer> from) -> Task<void> { to->emplace(co_await from); };
    node.node.start(keep(outcome, node.node.ask(node.node.address(kIndexBuildsPath), local(std::move(wanted)))));
    node.node.advance(100ms);
    return outcome;
  }
  Outcome beginBuildOfThings(const std::string& field = "x") { return beginBuildOfThings(server, field); }
  static ErrorCode codeOf(const Outcome& outcome) {
    EXPECT_TRUE(outcome->has_value()) << "the build has not ended";
    if (!outcome->has_value()) return ErrorCode::kInternalError;
    return (*outcome)->isOK() ? (**outcome)->local<BuildOutcome>().indexes.status().code()
                              : (*outcome)->status().code();
  }
  void stepDown() {
    ASSERT_TRUE(succeeds(kSteppedDown, "admin"));
    ASSERT_FALSE(server.server->operations.replicated->fence.isOpen());
  }
  static void untilPrimary(CommandNode& node) {
    commands::untilPrimary(node);
    node.node.advance(1s);
  }
  static size_t unfinished(CommandNode& node) { return storage::unfinishedBuilds(*node.catalog->snapshot()).size(); }
  size_t unfinished() { return unfinished(server); }
  bool isReady(const std::string& field = "x") {
    const storage::IndexEntry* index = server.catalog->find(kThings)->findIndex(field + "_1");
    return index && index->ready;
  }

  static constexpr int kDocuments = 600;
  const storage::Namespace kThings = storage::Namespace("config", "things");
};

TEST_F(IndexBuildRoleTest, ThatMeetsAStepDownIsDiscardedByTheNextPrimary) {
  for (const char* phase : kPhases) {
    hold(phase);
    const auto build = beginBuildOfThings();
    EXPECT_FALSE(build->has_value());
    stepDown();
    EXPECT_EQ(codeOf(build), ErrorCode::kInterruptedDueToReplStateChange) << phase;
    EXPECT_TRUE(rows().empty());
    EXPECT_EQ(unfinished(), std::string_view(phase) != "setting up" ? 1u : 0u) << phase;
    letGo();
    untilPrimary(server);
    expectNothingLeft();
    EXPECT_EQ(server.server->operations.replicated->slots.openReservations(), 0u);
  }
  EXPECT_EQ(codeOf(beginBuildOfThings()), ErrorCode::kOK);
  EXPECT_TRUE(isReady());
}

TEST_F(IndexBuildRoleTest, WhatIsOnTheDiskOfAMemberStaysWithoutItsSet) {
  hold("scanning");
  const auto build = beginBuildOfThings();
  ASSERT_TRUE(server.engine->checkpoint({}).isOK());
  CommandNode alone({.disk = server.engine->disk()});
  EXPECT_EQ(unfinished(alone), 1u) << "a start as a member refuses data that were changed without the set";
  letGo();
  EXPECT_EQ(codeOf(build), ErrorCode::kOK);
}

TEST_F(IndexBuildRoleTest, WhatIsOnTheDiskOfAMemberIsDiscardedWhenItBecomesPrimary) {
  hold("scanning");
  const auto build = beginBuildOfThings();
  ASSERT_TRUE(server.engine->flushLog().isOK());
  CommandNode again({.disk = server.engine->disk(), .name = "n1:1", .replicaSet = "rs"});
  ASSERT_FALSE(again.server->operations.replicated->fence.isOpen());
  EXPECT_EQ(unfinished(again), 1u) << "a member that is no primary must not write";
  untilPrimary(again);
  expectNothingLeft(again);
  EXPECT_EQ(codeOf(beginBuildOfThings(again)), ErrorCode::kOK);
  letGo();
  EXPECT_EQ(codeOf(build), ErrorCode::kOK);
}

TEST_F(IndexBuildRoleTest, SurvivesAStepDownThatFails) {
  for (const auto& [phase, field] :
       {std::pair("set up", "x"), std::pair("scanning", "y"), std::pair("committing", "z")}) {
    hold(phase);
    const auto build = beginBuildOfThings(field);
    const auto attempt = server.begin(parse(kTriesToStepDown), "admin", server.connect());
    letGo();
    server.node.advance(2s);
    ASSERT_FALSE(server.server->operations.replicated->fence.isOpen());
    EXPECT_FALSE(build->has_value()) << phase;
    EXPECT_EQ(unfinished(), 1u) << "it waits for the right to write";
    EXPECT_EQ(server.locks.inUse(), 0u);
    server.node.advance(5s);
    ASSERT_TRUE(attempt->done);
    EXPECT_FALSE(attempt->takeReply()["ok"].truthy());
    EXPECT_EQ(codeOf(build), ErrorCode::kOK) << phase;
    EXPECT_TRUE(isReady(field));
  }
  expectNothingLeft();
}

TEST_F(IndexBuildRoleTest, ThatWaitsForTheRightToWriteEndsByAKillAndWithTheRole) {
  for (const bool roleEnds : {false, true}) {
    hold("scanning");
    const auto build = beginBuildOfThings();
    const auto attempt = server.begin(parse(kTriesToStepDown), "admin", server.connect());
    letGo();
    ASSERT_FALSE(build->has_value());
    if (roleEnds) {
      server.node.kill(server.node.address(replication::kTopologyPath), Status(ErrorCode::kInternalError, "a test"));
      server.node.advance(100ms);
      EXPECT_EQ(codeOf(build), ErrorCode::kInterruptedDueToReplStateChange) << "its supervisor hears of the new role";
    } else {
      kill(operations().at(0)["opid"].toInt64());
      EXPECT_EQ(codeOf(build), ErrorCode::kInterrupted);
    }
    if (!roleEnds) {
      EXPECT_EQ(unfinished(), 1u);  // else it may be primary again by now
    }
    server.node.advance(10s);
    untilPrimary(server);
    expectNothingLeft();
  }
}

/// The news that the writes were given back comes before the end of a build that could not discard its indexes.
TEST_F(IndexBuildRoleTest, ThatEndsAfterAStepDownFailedIsDiscardedByItsSupervisor) {
  hold("scanning");
  const auto build = beginBuildOfThings();
  const auto attempt = server.begin(parse(kTriesToStepDown), "admin", server.connect());
  hold("ended");
  kill(operations().at(0)["opid"].toInt64());
  EXPECT_EQ(unfinished(), 1u);
  server.node.advance(10s);
  ASSERT_TRUE(attempt->done);
  ASSERT_TRUE(server.server->operations.replicated->fence.isOpen());
  EXPECT_FALSE(build->has_value());
  EXPECT_EQ(unfinished(), 1u) << "the build has not ended";
  letGo();
  EXPECT_EQ(codeOf(build), ErrorCode::kInterrupted);
  expectNothingLeft();
}

TEST_F(IndexBuildRoleTest, ADiscardThatWaitsDoesNotHoldAStepDownUp) {
  hold("scanning");
  const auto build = beginBuildOfThings();
  LockHolder reader(server.locks, kThings.toString(), storage::LockMode::kIS);
  kill(operations().at(0)["opid"].toInt64());
  ASSERT_EQ(operations("^DiscardIndexBuild").size(), 1u);
  stepDown();
  server.node.advance(100ms);
  EXPECT_EQ(codeOf(build), ErrorCode::kInterrupted);
  EXPECT_TRUE(operations("^DiscardIndexBuild").empty());
  letGo();
  untilPrimary(server);  // the old role has ended though the reader stays
  EXPECT_EQ(unfinished(), 1u);
  reader.release();
  server.node.advance(1s);
  expectNothingLeft();
}

}  // namespace troupe::maintenance
