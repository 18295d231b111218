#include "actors/maintenance/transition_keeper.hpp"

#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;
using commands::CommandNode;

/// A member of a replica set that has elected itself: its topology machine has moved.
class TransitionKeeperTest : public commands::CommandTest {
 protected:
  TransitionKeeperTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {}
  void SetUp() override {
    commands::becomePrimary(server);
    server.node.advance(1s);
  }
  /// "event from>to" of each step of the member's topology machine, newest first.
  static std::vector<std::string> moves(CommandNode& node, const std::string& more = "") {
    std::vector<std::string> out;
    const auto reply =
        node.run(parse(R"({"transitionLog": 1, "path": "/node/replication", "moves": true)" + more + "}"), "admin");
    for (const auto& element : reply.view().at("cursor.firstBatch").asArray()) {
      const bson::View record = element.asDocument();
      out.push_back(std::string(record["event"].toStringOr()) + " " + std::string(record["from"].toStringOr()) + ">" +
                    std::string(record["to"].toStringOr()));
    }
    return out;
  }
};

TEST_F(TransitionKeeperTest, TheStepsOfAMachineCanBeAskedFor) {
  const auto found = moves(server);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.front(), "DrainDone draining>primary");
  EXPECT_EQ(moves(server, R"(, "limit": 1)").size(), 1u);
  EXPECT_TRUE(moves(server, R"(, "machine": "lease")").empty());
}

TEST_F(TransitionKeeperTest, AStartAfterACrashKnowsWhatHappenedBefore) {
  const auto before = moves(server);
  ASSERT_TRUE(server.engine->flushLog().isOK());
  CommandNode again({.disk = server.engine->disk(), .name = "n1:1", .replicaSet = "rs"});
  again.node.advance(10ms);
  const auto known = moves(again, R"(, "limit": 0)");
  ASSERT_GE(known.size(), before.size());
  EXPECT_EQ(std::vector<std::string>(known.end() - static_cast<std::ptrdiff_t>(before.size()), known.end()), before);
}

TEST_F(TransitionKeeperTest, KeepsMovesInACappedCollectionOfBoundedSize) {
  const auto collection = server.catalog->find({"local", "troupe.transitions"});
  ASSERT_TRUE(collection);
  EXPECT_TRUE(collection->isCapped());
  EXPECT_EQ(collection->options().cappedSize, TransitionKeeper::kCollectionBytes);
  EXPECT_EQ(static_cast<size_t>(collection->records().count()), moves(server, R"(, "limit": 0)").size());
}

TEST_F(TransitionKeeperTest, AKeeperThatIsRestartedBringsAndLosesNothing) {
  const size_t before = moves(server, R"(, "limit": 0)").size();
  const auto path = parse(R"({"controlActor": "/node/storage/transition-keeper", "action": "restart"})");
  ASSERT_TRUE(server.run(path, "admin")["ok"].truthy());
  server.node.advance(5s);
  EXPECT_EQ(moves(server, R"(, "limit": 0)").size(), before);
  TransitionRecord record;
  record.path = "/x";
  record.machine = "errand";
  record.to = "on";
  server.node.transitions().add(std::move(record));
  server.node.advance(1s);
  const auto collection = server.catalog->find({"local", "troupe.transitions"});
  EXPECT_EQ(static_cast<size_t>(collection->records().count()), before + 1);
}

TEST_F(TransitionKeeperTest, BadQuestionsAreRefused) {
  EXPECT_EQ(code(R"({"transitionLog": 1, "limit": -1})", "admin"), 2);
  EXPECT_EQ(code(R"({"transitionLog": 1, "since": 1})", "admin"), 40415);
  EXPECT_EQ(code(R"({"actorDetails": 1})", "admin"), 14);
  EXPECT_EQ(code(R"({"actorDetails": "/nowhere"})", "admin"), 4);
  EXPECT_EQ(code(R"({"controlActor": "/node/storage/transition-keeper", "action": "kill"})", "admin"), 2);
  EXPECT_EQ(code(R"({"controlActor": "/nowhere", "action": "park"})", "admin"), 4);
  EXPECT_EQ(code(R"({"controlActor": "/node", "action": "park"})", "admin"), 20) << "the root has no supervisor";
}

TEST_F(TransitionKeeperTest, AnActorTellsItsStateItsMachineAndItsMessages) {
  const auto details = server.run(parse(R"({"actorDetails": "/node/replication/topology"})"), "admin");
  EXPECT_EQ(details.view().at("row.phase").toStringOr(), "primary");
  EXPECT_EQ(details.view().at("machine.name").toStringOr(), "topology");
  EXPECT_GT(details.view().at("machine.transitions").asArray().size(), 10u);
  EXPECT_EQ(details.view().at("state.memory.phase").toStringOr(), "primary");
  EXPECT_FALSE(details["received"].asArray().empty());
}

}  // namespace troupe::maintenance
