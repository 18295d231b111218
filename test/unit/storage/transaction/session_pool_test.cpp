#include "storage/transaction/session_pool.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "storage/engine/deterministic_engine.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

TEST(SessionPool, LendsAReturnedSessionAgain) {
  auto engine = DeterministicEngine::open();
  SessionPool pool(*engine);
  Session* first = nullptr;
  {
    auto lease = pool.borrow();
    ASSERT_TRUE(lease.isOK());
    first = lease->get();
    EXPECT_EQ(pool.statistics().lent, 1);
  }
  EXPECT_EQ(pool.statistics().lent, 0);
  EXPECT_EQ(pool.statistics().open, 1);
  EXPECT_EQ(pool.borrow()->get(), first);
}

TEST(SessionPool, IsBounded) {
  auto engine = DeterministicEngine::open();
  SessionPool pool(*engine, 2);
  auto one = pool.borrow();
  auto two = pool.borrow();
  EXPECT_EQ(pool.borrow().status().code(), ErrorCode::kTemporarilyUnavailable);
  one->giveBack();
  EXPECT_TRUE(pool.borrow().isOK());
}

TEST(SessionPool, AReturnedSessionHasNoTransaction) {
  auto engine = DeterministicEngine::open();
  const Table table = *engine->createTable("t", {});
  SessionPool pool(*engine);
  {
    SessionLease lease = *pool.borrow();
    ASSERT_TRUE(lease->begin().isOK());
    ASSERT_TRUE((*lease->cursor(table))->put("k", "v").isOK());
  }
  SessionLease lease = *pool.borrow();
  EXPECT_FALSE(lease->inTransaction());
  ASSERT_TRUE(lease->begin().isOK());
  EXPECT_FALSE(*(*lease->cursor(table))->seek("k"));
}

TEST(SessionPool, AMovedLeaseIsGivenBackOnce) {
  auto engine = DeterministicEngine::open();
  SessionPool pool(*engine);
  SessionLease a = *pool.borrow();
  SessionLease b = std::move(a);
  EXPECT_FALSE(a);
  a = *pool.borrow();
  a = std::move(b);
  EXPECT_EQ(pool.statistics().lent, 1);
  a.giveBack();
  EXPECT_EQ(pool.statistics().lent, 0);
}

TEST(SessionPool, ForgettingATableReachesIdleAndLentSessions) {
  auto engine = DeterministicEngine::open();
  const Table table = *engine->createTable("t", {});
  SessionPool pool(*engine);
  const auto use = [&](SessionLease& lease) { (void)(*lease->cursor(table))->seek("k"); };
  SessionLease lent = *pool.borrow();
  use(lent);
  {
    SessionLease idle = *pool.borrow();
    use(idle);
  }
  EXPECT_EQ(engine->dropTable("t").code(), ErrorCode::kObjectIsBusy);
  pool.forgetTable(table);
  EXPECT_EQ(engine->dropTable("t").code(), ErrorCode::kObjectIsBusy);  // the lent one keeps its cursor
  lent.giveBack();
  EXPECT_TRUE(engine->dropTable("t").isOK());
}

TEST(SessionPool, ASessionThatMissedTooManyForgottenTablesIsClosed) {
  auto engine = DeterministicEngine::open();
  const Table table = *engine->createTable("t", {});
  SessionPool pool(*engine);
  SessionLease lent = *pool.borrow();
  (void)(*lent->cursor(table))->seek("k");
  pool.forgetTable(table);
  for (uint32_t i = 0; i < 1000; ++i) pool.forgetTable({"gone", 100 + i});
  lent.giveBack();
  EXPECT_EQ(pool.statistics().open, 0);
  EXPECT_TRUE(engine->dropTable("t").isOK());
}

TEST(SessionPool, ManyThreadsShareItSafely) {
  WiredTigerHarness harness;
  const Table table = *harness.engine().createTable("t", {});
  SessionPool pool(harness.engine(), 8);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&, n] {
      for (int i = 0; i < 500; ++i) {
        auto lease = pool.borrow();
        if (!lease.isOK() || !(*lease)->begin().isOK()) ++failures;
        const std::string key = std::to_string(n) + "-" + std::to_string(i);
        if (!(*(*lease)->cursor(table))->insert(key, "v").isOK() || !(*lease)->commit().isOK()) ++failures;
        if (i % 100 == 0) pool.forgetTable({"other", static_cast<uint32_t>(1000 + i)});
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_LE(pool.statistics().open, 8);
  EXPECT_EQ(pool.statistics().lent, 0);
  pool.closeIdle();
  EXPECT_EQ(pool.statistics().open, 0);
}

}  // namespace
}  // namespace troupe::storage
