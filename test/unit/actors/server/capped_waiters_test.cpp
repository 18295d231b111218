#include "actors/server/capped_waiters.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

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

TEST_F(CappedWaitersTest, RemembersOnlyCollectionsSomebodyAskedAbout) {
  fill("c", 1);
  EXPECT_EQ(server.cappedWaiters.watched(), 0u);
  server.cappedWaiters.newsOf({uuid()});
  EXPECT_EQ(server.cappedWaiters.watched(), 1u);
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  EXPECT_EQ(server.cappedWaiters.watched(), 0u);
}

}  // namespace troupe::server
