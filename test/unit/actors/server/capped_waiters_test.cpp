#include "actors/server/capped_waiters.hpp"

#include "storage/catalog/catalog_operations.hpp"
#include "test/unit/actors/commands/batch_in_progress.hpp"

namespace troupe::server {
using namespace commands;

class CappedWaitersTest : public CommandTest {
 protected:
  CappedWaitersTest() { EXPECT_TRUE(succeeds(R"({"create": "c", "capped": true, "size": 4096, "max": 2})")); }

  bson::Uuid uuid() { return server.catalog->find({"test", "c"})->uuid(); }
  /// Whether somebody who had seen `known` news is woken at once.
  bool wakes(int64_t known) {
    const auto woken = std::make_shared<Promise<Done>>();
    const auto future = woken->future();
    server.cappedWaiters.wakeOnNews({uuid()}, known, woken);
    return future.isReady();
  }
};

TEST_F(CappedWaitersTest, WakesForNewsThatCameBeforeTheWaitBegan) {
  const int64_t known = server.cappedWaiters.newsOf({uuid()});
  EXPECT_FALSE(wakes(known));
  fill("c", 1);
  EXPECT_TRUE(wakes(known));
}

TEST_F(CappedWaitersTest, WakesWhoWaitsWhenAnInsertIsCommitted) {
  const int64_t known = server.cappedWaiters.newsOf({uuid()});
  const auto woken = std::make_shared<Promise<Done>>();
  const auto future = woken->future();
  server.cappedWaiters.wakeOnNews({uuid()}, known, woken);
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{"_id": [1]}]})"), 0);
  EXPECT_FALSE(future.isReady()) << "nothing was inserted";
  fill("c", 1);
  EXPECT_TRUE(future.isReady());
}

/// So that a reader of the log does not take one large write for many writers (NewsPace).
TEST(CappedWaitersOfTheLog, ACommitIsOnePieceOfNews) {
  CommandNode primary{{.name = "n1:1", .replicaSet = "rs"}};
  becomePrimary(primary);
  ASSERT_TRUE(primary.run(bson::doc("create", "c"))["ok"].truthy());
  const bson::Uuid log = primary.catalog->find({"local", "oplog.rs"})->uuid();
  const int64_t known = primary.cappedWaiters.newsOf({log});
  std::vector<bson::Document> many;
  for (int i = 0; i < 20; ++i) many.push_back(bson::doc("_id", i));
  ASSERT_EQ(primary.run(bson::doc("insert", "c", "documents", many))["n"].toInt64(), 20);
  EXPECT_EQ(primary.cappedWaiters.newsOf({log}), known + 1);
}

/// They have earlier times than those that were taken back.
TEST(CappedWaitersOfTheLog, EntriesThatFollowARollbackAreNewsAtOnce) {
  CommandNode primary{{.name = "n1:1", .replicaSet = "rs"}};
  becomePrimary(primary);
  const bson::Uuid log = primary.catalog->find({"local", "oplog.rs"})->uuid();
  int64_t known = primary.cappedWaiters.newsOf({log});
  auto& visibility = primary.server->operations.replicated->visibility;
  visibility.reset({1, 1});
  EXPECT_GT(primary.cappedWaiters.newsOf({log}), known);
  known = primary.cappedWaiters.newsOf({log});
  visibility.advance({1, 2});
  EXPECT_EQ(primary.cappedWaiters.newsOf({log}), known + 1);
}

TEST_F(CappedWaitersTest, RemembersOnlyCollectionsSomebodyAskedAbout) {
  fill("c", 1);
  EXPECT_EQ(server.cappedWaiters.watched(), 0u);
  server.cappedWaiters.newsOf({uuid()});
  EXPECT_EQ(server.cappedWaiters.watched(), 1u);
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  EXPECT_EQ(server.cappedWaiters.watched(), 0u);
}

class FollowedCappedTest : public CommandTest {
 protected:
  FollowedCappedTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    becomePrimary(server);
    EXPECT_TRUE(succeeds(R"({"create": "c", "capped": true, "size": 4096})"));
    fill("c", 1);
    becomeSecondary(server);
  }
  bson::Uuid uuid() { return server.catalog->find(kCapped)->uuid(); }
  int64_t news(const bson::Uuid& of) { return server.cappedWaiters.newsOf({of}); }
  std::shared_ptr<Exchange> tails() {
    const bson::Document opened =
        run(R"({"find": "c", "tailable": true, "awaitData": true, "$readPreference": {"mode": "nearest"}})");
    EXPECT_TRUE(opened["ok"].truthy()) << bson::toRelaxedJson(opened);
    return server.begin(
        bson::doc("getMore", opened.view().at("cursor.id").toInt64(), "collection", "c", "maxTimeMS", int64_t{60'000}));
  }
  const storage::Namespace kCapped{"test", "c"};
};

TEST_F(FollowedCappedTest, ATailWakesWhenTheBatchHasEndedAndItSeesTheInsert) {
  const auto waiting = tails();
  BatchInProgress batch(server);
  batch.insert(kCapped, bson::doc("_id", 2));
  batch.insert(kCapped, bson::doc("_id", 3));
  server.node.run();
  EXPECT_FALSE(waiting->done);
  batch.end();
  ASSERT_TRUE(waiting->done);
  EXPECT_TRUE(holds(waiting->takeReply(), parse(R"({"cursor": {"nextBatch": [{"_id": 2}, {"_id": 3}]}})")));
}

/// Nobody had asked for the collection's news when the insert was committed.
TEST_F(FollowedCappedTest, ATailThatBeginsWithinTheBatchWakesToo) {
  BatchInProgress batch(server);
  batch.insert(kCapped, bson::doc("_id", 2));
  const auto waiting = tails();
  EXPECT_FALSE(waiting->done);
  batch.end();
  ASSERT_TRUE(waiting->done);
  EXPECT_TRUE(holds(waiting->takeReply(), parse(R"({"cursor": {"nextBatch": [{"_id": 2}]}})")));
}

TEST_F(FollowedCappedTest, ABatchIsOnePieceOfNews) {
  const bson::Uuid of = uuid();
  const int64_t known = news(of);
  BatchInProgress batch(server);
  for (int i = 2; i < 6; ++i) batch.insert(kCapped, bson::doc("_id", i));
  EXPECT_EQ(news(of), known);
  batch.end();
  EXPECT_EQ(news(of), known + 1);
  BatchInProgress next(server);
  next.insert(kCapped, bson::doc("_id", 6));
  next.end();
  EXPECT_EQ(news(of), known + 2);
}

TEST_F(FollowedCappedTest, ACollectionThatIsDroppedIsForgottenAtTheEndOfTheBatch) {
  const bson::Uuid of = uuid();
  news(of);
  BatchInProgress batch(server);
  batch.insert(kCapped, bson::doc("_id", 2));
  batch.apply(
      [&](auto& unit) { return storage::dropCollection(*server.catalog, unit, server.catalog->find(kCapped)); });
  EXPECT_EQ(server.cappedWaiters.watched(), 1u);
  batch.end();
  EXPECT_EQ(server.cappedWaiters.watched(), 0u);
}

}  // namespace troupe::server
