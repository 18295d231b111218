#include "actors/replication/history_keeper.hpp"

#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::replication {
namespace {

using namespace std::chrono_literals;

/// The only member of a set, which is asked to keep history for five minutes and whose writers have gone.
class HistoryKeeperTest : public commands::CommandTest {
 protected:
  HistoryKeeperTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    commands::becomePrimary(server);
    // The note of an idle primary would move the stable time.
    EXPECT_TRUE(succeeds(R"({"setParameter": 1, "writePeriodicNoops": false})", "admin"));
    server.node.advance(1s);
    EXPECT_TRUE(succeeds(R"({"insert": "things", "documents": [{}]})"));
    server.node.advance(1s);
  }
  int64_t keptSeconds() {
    return static_cast<int64_t>(server.engine->stableTimestamp().seconds) - server.engine->oldestTimestamp().seconds;
  }
};

TEST_F(HistoryKeeperTest, HistoryThatTheCacheHasNoRoomForIsGivenUpWithoutAnotherWrite) {
  const bson::Timestamp stable = server.engine->stableTimestamp();
  server.node.advance(5s);
  EXPECT_GT(keptSeconds(), 0) << "there is room for it";
  server.engine->pretendDirty(int64_t{1} << 29);
  server.node.advance(12s);
  EXPECT_EQ(keptSeconds(), 0);
  EXPECT_EQ(server.engine->stableTimestamp(), stable) << "nothing was written";
}

/// As while a rollback has taken storage down.
TEST_F(HistoryKeeperTest, NothingMovesWhileItIsFrozen) {
  KeptHistory history(server.assembly.catalog(), server.assembly.parameters().minSnapshotHistoryWindowInSeconds,
                      server.assembly.environment());
  const bson::Timestamp stable = server.engine->stableTimestamp(), oldest = server.engine->oldestTimestamp();
  history.setStable({1, stable});
  server.engine->pretendDirty(int64_t{1} << 29);
  history.freeze();
  const bson::Timestamp later{stable.seconds + 50, 1};
  history.setStable({1, later});
  history.lookAgain();
  EXPECT_EQ(server.engine->stableTimestamp(), stable);
  EXPECT_EQ(server.engine->oldestTimestamp(), oldest);
  history.thaw({1, later});
  EXPECT_EQ(server.engine->stableTimestamp(), later);
  EXPECT_GT(server.engine->oldestTimestamp(), oldest);
}

/// REP-059: a checkpoint of the stable time would hold what is behind the hole, and a write that may yet commit in it
/// would be missing.
TEST_F(HistoryKeeperTest, TheStableTimeNeverPassesAnOpenHoleOfAPrimary) {
  auto& slots = server.server->operations.replicated->slots;
  const auto writeBehind = [&](const storage::SlotReserver::Slots& hole) {
    EXPECT_TRUE(succeeds(R"({"insert": "things", "documents": [{}], "writeConcern": {"w": 1, "j": false}})"));
    server.node.advance(10s);
    EXPECT_LT(server.engine->stableTimestamp(), hole.last().timestamp);
    EXPECT_LE(server.engine->oldestTimestamp(), server.engine->stableTimestamp());
  };
  auto first = slots.reserve(commands::termOf(server), 1);
  const bson::Timestamp one = first.last().timestamp;
  writeBehind(first);
  auto second = slots.reserve(commands::termOf(server), 1);
  const bson::Timestamp two = second.last().timestamp;
  writeBehind(first);
  first.release();
  server.node.advance(1s);
  EXPECT_GT(server.engine->stableTimestamp(), one);
  EXPECT_LT(server.engine->stableTimestamp(), two) << "the flush that waited ends with the first one";
  second.release();
  server.node.advance(1s);
  EXPECT_GT(server.engine->stableTimestamp(), two);
}

TEST_F(HistoryKeeperTest, ItsRowShowsWhatIsKept) {
  server.engine->pretendDirty(int64_t{1} << 29);
  server.node.advance(12s);
  const auto details = server.node.wait(server.node.inspect("/node/replication/history", 1s));
  ASSERT_TRUE(details.has_value());
  EXPECT_EQ(details->state["keptSeconds"].toInt64(-1), 0);
  EXPECT_EQ(details->state["wantedSeconds"].toInt64(), 300);
  EXPECT_EQ(details->state["stable"].asTimestamp(), server.engine->stableTimestamp());
}

}  // namespace
}  // namespace troupe::replication
