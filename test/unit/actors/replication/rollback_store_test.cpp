#include "actors/replication/rollback_store.hpp"

#include <gtest/gtest.h>

#include "actors/replication/replica_view.hpp"
#include "messaging/bson/json.hpp"
#include "storage/oplog/rollback_id.hpp"
#include "test/unit/actors/commands/command_node.hpp"

namespace troupe::replication {
namespace {

using namespace std::chrono_literals;
using bson::operator""_json;
using commands::CommandNode;

// RBK-005
TEST(RollbackIdTest, AMemberShowsIt) {
  CommandNode server({.name = "n1:1", .replicaSet = "rs"});
  EXPECT_EQ(server.run(R"({"replSetGetRBID": 1})"_json, "admin")["rbid"].toInt64(), 1);
  server.server->membership->setRollbackId(3);
  EXPECT_EQ(server.run(R"({"replSetGetRBID": 1})"_json, "admin")["rbid"].toInt64(), 3);
}

TEST(RollbackStoreTest, KeepsTheIdWhereOperatorsLookForIt) {
  CommandNode server;
  RollbackStore store(server.assembly.storageAccess());
  EXPECT_EQ(store.read()->value.rollbackId, 1);
  bool done = false;
  auto put = [](RollbackStore* to, bool* over) -> Task<void> {
    const Rollback::Document document{.rollbackId = 7};
    const machines::UnknownFields none;
    const Status status = co_await to->put(document, none, machines::Durability::kJournaled);
    EXPECT_TRUE(status.isOK()) << status.toString();
    *over = true;
  };
  server.node.start(put(&store, &done));
  for (int i = 0; i < 50 && !done; ++i) server.node.advance(10ms);
  ASSERT_TRUE(done);
  EXPECT_EQ(store.read()->value.rollbackId, 7);
  const auto reply = server.run(bson::doc("find", "system.rollback.id"), "local");
  EXPECT_EQ(bson::toRelaxedJson(reply["cursor"].asDocument()["firstBatch"].asArray()["0"]),
            R"({ "_id" : "rollbackId", "rollbackId" : 7 })");
}

TEST(RollbackStoreTest, AStartMovesTheIdDurably) {
  CommandNode server;
  for (const int64_t id : {2, 3}) {
    const auto raised = storage::raiseRollbackId(*server.catalog, {.sessions = server.storageSessions});
    ASSERT_TRUE(raised.isOK()) << raised.status().toString();
    EXPECT_EQ(*raised, id);
    CommandNode afterAKill({.disk = server.engine->disk()});
    EXPECT_EQ(RollbackStore(afterAKill.assembly.storageAccess()).read()->value.rollbackId, id);
  }
}

}  // namespace
}  // namespace troupe::replication
