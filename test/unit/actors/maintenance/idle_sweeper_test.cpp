#include "actors/maintenance/idle_sweeper.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;

class IdleSweeperTest : public commands::CommandTest {
 protected:
  IdleSweeperTest() { fill("c", 5); }
};

TEST_F(IdleSweeperTest, EndsCursorsNobodyFetchesFrom) {
  ASSERT_TRUE(succeeds(R"({"find": "c", "batchSize": 1})"));
  ASSERT_TRUE(succeeds(R"({"find": "c", "batchSize": 1, "noCursorTimeout": true})"));
  server.node.advance(9min);
  EXPECT_EQ(server.cursors.statistics().open, 2);
  server.node.advance(2min);
  EXPECT_EQ(server.cursors.statistics().open, 1);
}

TEST_F(IdleSweeperTest, TheTimeoutIsAParameter) {
  server.parameters.cursorTimeoutMillis = 1000;
  ASSERT_TRUE(succeeds(R"({"find": "c", "batchSize": 1})"));
  server.node.advance(5s);
  EXPECT_EQ(server.cursors.statistics().open, 0);
}

TEST_F(IdleSweeperTest, WithoutRefreshesEndsSessionsNobodyUsesAndTheirCursors) {
  server.parameters.disableLogicalSessionCacheRefresh = true;
  const bson::Document session = run(R"({"startSession": 1})");
  bson::Builder find;
  find.append("find", "c").append("batchSize", 1).append("noCursorTimeout", true).append("lsid", session["id"]);
  ASSERT_TRUE(server.run(find.finish())["ok"].truthy());
  server.node.advance(29min);
  EXPECT_EQ(server.sessions.size(), 1u);
  server.node.advance(2min);
  EXPECT_EQ(server.sessions.size(), 0u);
  EXPECT_EQ(server.cursors.statistics().open, 0);
}

}  // namespace troupe::maintenance
