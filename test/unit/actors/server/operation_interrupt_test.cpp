#include "actors/server/operation_interrupt.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"
#include "test/unit/actors/lock_holder.hpp"

namespace troupe::server {

using namespace std::chrono_literals;
using bson::operator""_json;

class OperationInterruptTest : public commands::CommandTest {};

// RBK-002
TEST_F(OperationInterruptTest, EndsWhatUsesStorageAndAllCursors) {
  fill("c", 5);
  const auto opened = server.run(R"({"find": "c", "batchSize": 2})"_json);
  const int64_t cursor = opened["cursor"].asDocument()["id"].toInt64();
  ASSERT_NE(cursor, 0);
  LockHolder holder(server.locks, "test.c", storage::LockMode::kX);
  const auto waiting = server.begin(R"({"insert": "c", "documents": [{"_id": 9}]})"_json, "test", server.connect());
  const auto hello = server.begin(R"({"hello": 1})"_json, "admin", server.connect());
  EXPECT_TRUE(hello->done);
  ASSERT_FALSE(waiting->done);
  EXPECT_EQ(interruptForRollback(*server.server), 1);
  server.node.advance(50ms);
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].asInt32(), static_cast<int>(ErrorCode::kInterruptedDueToReplStateChange));
  EXPECT_EQ(server.cursors.statistics().open, 0);
  const auto next = server.run(bson::doc("getMore", cursor, "collection", "c"));
  EXPECT_FALSE(next["ok"].truthy());
  holder.release();
  EXPECT_EQ(interruptForRollback(*server.server), 0);
}

}  // namespace troupe::server
