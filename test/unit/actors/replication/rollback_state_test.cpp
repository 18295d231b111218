// The state of a whole node while it rolls back: its topology, the wiring and all commands are the node's own
// (RBK-002).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/replication/member_figures.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/replication/rollback_actor.hpp"
#include "actors/replication/topology_actor.hpp"
#include "messaging/bson/json.hpp"
#include "supervisors/metrics/replication_metrics.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/replication/other_log.hpp"

namespace troupe::replication {
namespace {

using namespace std::chrono_literals;
using bson::operator""_json;
using commands::CommandNode;
using testing::IsEmpty;

/// A member that was primary and has an entry to be undone, in a rollback that waits for an operation that holds a
/// lock.
class RollbackStateTest : public ::testing::Test {
 protected:
  RollbackStateTest() {
    server.server->progress->onStable(nullptr);  // the entry to be undone would be stable here: nobody else has a vote
    commands::becomePrimary(server);
    insert(1);
    const OpTime common = leaveLogsHere();
    stable = common;
    EXPECT_TRUE(server.engine->setStableTimestamp(common.timestamp).isOK());
    EXPECT_TRUE(server.engine->setOldestTimestamp(common.timestamp).isOK());
    insert(2);
    const auto steppedDown =
        server.run(R"({"replSetStepDown": 3600, "force": true, "secondaryCatchUpPeriodSecs": 0})"_json, "admin");
    EXPECT_TRUE(steppedDown["ok"].truthy()) << bson::toRelaxedJson(steppedDown);
    server.node.advance(100ms);
    EXPECT_EQ(state(), MemberState::kSecondary);
    EXPECT_TRUE(reader.tryAcquire(storage::ResourceId::stateTransition(), storage::LockMode::kIS));
    server.node.tell(server.node.address(kRollbackPath), local(Diverged{"b:1"}));
    server.node.advance(500ms);
    EXPECT_EQ(state(), MemberState::kRollback);
    EXPECT_THAT(failures, IsEmpty());
  }

  void adjust(RollbackParts& parts) {
    parts.members = &other;
    parts.stable = [this] { return stable; };
    parts.filesDirectory.clear();
    parts.fail = [this](const Status& why) { failures.push_back(why.toString()); };
  }
  void insert(int id) {
    bson::Builder command;
    command.append("insert", "c").openArray("documents").push(bson::doc("_id", id)).close();
    const auto reply = server.run(command.finish());
    EXPECT_TRUE(reply["ok"].truthy() && !reply["writeErrors"]) << bson::toRelaxedJson(reply);
  }
  /// The other member has this one's log up to now, and then an entry of a later term.
  OpTime leaveLogsHere() {
    storage::OperationContext reading({.sessions = server.storageSessions});
    auto cursor = server.assembly.oplog()->cursor(reading.recoveryUnit());
    while (*cursor->next()) other.entries.emplace_back(cursor->entry());
    const bson::View last = other.entries.back();
    const OpTime common{last["t"].toInt64(), last["ts"].asTimestamp()};
    other.entries.push_back(bson::doc("ts", bson::Timestamp{common.timestamp.seconds + 100, 1}, "t", common.term + 1));
    return common;
  }
  MemberState state() const { return server.server->membership->view()->state(); }
  int64_t codeOf(bson::View command, std::string_view db = "test") {
    const auto reply = server.run(command, db);
    return reply["ok"].truthy() ? 0 : reply["code"].toInt64(-1);
  }
  void goOn() {
    reader.releaseAll();
    server.node.advance(2s);
  }

  OtherLog other;
  OpTime stable;
  std::vector<std::string> failures;
  CommandNode server{{.replicated = true, .name = "n1:1", .replicaSet = "rs", .adjustRollback = [this](auto& parts) {
                        adjust(parts);
                      }}};
  storage::Locker reader{server.locks};
};

TEST_F(RollbackStateTest, NobodyReadsFromItAndItDoesNotStand) {
  const auto status = server.run(R"({"replSetGetStatus": 1})"_json, "admin");
  EXPECT_EQ(status["myState"].toInt64(), 9) << bson::toRelaxedJson(status);
  const auto hello = server.run(R"({"hello": 1})"_json, "admin");
  EXPECT_FALSE(hello["secondary"].truthy());
  EXPECT_FALSE(hello["isWritablePrimary"].truthy());
  const auto refused = static_cast<int64_t>(ErrorCode::kNotPrimaryOrSecondary);
  EXPECT_EQ(codeOf(R"({"find": "c"})"_json), refused);
  for (const char* mode : {"primaryPreferred", "secondary", "secondaryPreferred", "nearest"})
    EXPECT_EQ(codeOf(bson::doc("find", "c", "$readPreference", bson::doc("mode", mode))), refused) << mode;
  EXPECT_EQ(codeOf(R"({"replSetStepUp": 1})"_json, "admin"), static_cast<int64_t>(ErrorCode::kCommandFailed));
  EXPECT_EQ(state(), MemberState::kRollback) << "all the while";
  goOn();
  EXPECT_EQ(state(), MemberState::kSecondary);
  EXPECT_THAT(failures, IsEmpty());
}

/// It alone is started again: the rollback goes on beside it. This member is the only voter, and would lead at once.
TEST_F(RollbackStateTest, ATopologyThatIsStartedAgainIsInRollback) {
  server.node.kill(server.node.address(kTopologyPath), Status(ErrorCode::kInternalError, "a test"));
  for (int i = 0; i < 500; ++i) {
    server.node.advance(10ms);
    ASSERT_TRUE(state() == MemberState::kRollback || state() == MemberState::kStartup) << static_cast<int>(state());
  }
  EXPECT_EQ(state(), MemberState::kRollback);
  goOn();
  EXPECT_THAT(failures, IsEmpty());
  commands::untilPrimary(server);
  const auto found = server.run(R"({"count": "c"})"_json);
  EXPECT_EQ(found["n"].toInt64(), 1) << bson::toRelaxedJson(found);
}

TEST_F(RollbackStateTest, ServerStatusAndMetricsTellOfIt) {
  EXPECT_EQ(server.server->following->rolledBack.get().rollbacks, 0) << "it is not over yet";
  goOn();
  ASSERT_EQ(state(), MemberState::kSecondary);
  const auto status = server.run(R"({"serverStatus": 1})"_json, "admin");
  const bson::View after = status.view().at("metrics.repl.rollback").asDocument();
  EXPECT_TRUE(commands::holds(after, R"({"count": 1, "savedDocuments": 0})"_json)) << "it keeps no files";
  EXPECT_GE(after["undoneEntries"].toInt64(), 1);
  supervisors::MetricSet metrics;
  supervisors::addReplicationMetrics(metrics, *server.server);
  EXPECT_THAT(metrics.text(), testing::HasSubstr("\ntroupe_replica_rollbacks_total{set=\"rs\"} 1\n"));
  EXPECT_THAT(metrics.text(), testing::HasSubstr("\ntroupe_replica_rolled_back_entries_total{set=\"rs\"} " +
                                                 std::to_string(after["undoneEntries"].toInt64()) + "\n"));
}

/// What it is between two lives, and after the rollback: the mark is gone.
TEST_F(RollbackStateTest, ATopologyThatIsStartedAgainAfterwardsIsNotInRollback) {
  goOn();
  ASSERT_EQ(state(), MemberState::kSecondary);
  server.node.kill(server.node.address(kTopologyPath), Status(ErrorCode::kInternalError, "a test"));
  commands::untilPrimary(server);
}

}  // namespace
}  // namespace troupe::replication
