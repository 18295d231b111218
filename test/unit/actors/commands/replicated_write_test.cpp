// Commands that write on a member of a replica set: what they do when its right to write goes.
#include <gtest/gtest.h>

#include "storage/oplog/write_slots.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;
namespace {

using bson::operator""_json;

class ReplicatedWriteTest : public CommandTest {
 protected:
  ReplicatedWriteTest() {
    server.server->operations.replicated = &writes;
    server.storageSessions.setMember(true);
    writes.fence.open(1);
  }
  ~ReplicatedWriteTest() override { server.server->operations.replicated = nullptr; }

  storage::ReplicatedWrites writes{[this] { return static_cast<uint32_t>(server.wallMillis() / 1000); }};
};

/// Every command that writes what is replicated; in this order they all succeed.
constexpr const char* kWrites[] = {
    R"({"insert": "c", "documents": [{"_id": 2}]})",
    R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"x": 1}}}]})",
    R"({"update": "c", "updates": [{"q": {"_id": 7}, "u": {"$set": {"x": 1}}, "upsert": true}]})",
    R"({"update": "c", "updates": [{"q": {}, "u": {"$inc": {"y": 1}}, "multi": true}]})",
    R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$set": {"x": 2}}})",
    R"({"aggregate": "c", "pipeline": [{"$out": "copy"}], "cursor": {}})",
    R"({"aggregate": "c", "pipeline": [{"$set": {"z": 1}}, {"$merge": "copy"}], "cursor": {}})",
    R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})",
    R"({"collMod": "c", "index": {"name": "x_1", "hidden": true}})",
    R"({"dropIndexes": "c", "index": "x_1"})",
    R"({"create": "d"})",
    R"({"create": "v", "viewOn": "c", "pipeline": []})",
    R"({"renameCollection": "test.d", "to": "test.e"})",
    R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})",
    R"({"drop": "e"})",
    R"({"createUser": "u", "pwd": "p", "roles": []})",
    R"({"dropUser": "u"})",
    R"({"dropDatabase": 1})",
};

/// The same where test.c has {_id: 1} and the index x_1, and test.d is empty: each has something to write.
constexpr const char* kRefused[] = {
    kWrites[0],
    kWrites[1],
    kWrites[2],
    kWrites[3],
    kWrites[4],
    kWrites[5],
    R"({"aggregate": "c", "pipeline": [{"$set": {"z": 1}}, {"$merge": "d"}], "cursor": {}})",
    R"({"createIndexes": "c", "indexes": [{"key": {"y": 1}, "name": "y_1"}]})",
    R"({"collMod": "c", "index": {"name": "x_1", "hidden": true}})",
    R"({"dropIndexes": "c", "index": "x_1"})",
    R"({"create": "e"})",
    R"({"create": "v", "viewOn": "c", "pipeline": []})",
    R"({"renameCollection": "test.d", "to": "test.e"})",
    R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})",
    R"({"drop": "d"})",
    R"({"createUser": "u", "pwd": "p", "roles": []})",
    R"({"dropDatabase": 1})",
};

std::string databaseOf(std::string_view command) {
  return command.find("renameCollection") != command.npos ? "admin" : "test";
}

TEST_F(ReplicatedWriteTest, EachTakesSlotsAndLeavesNoHole) {
  ASSERT_TRUE(server.run(R"({"insert": "c", "documents": [{"_id": 1}]})"_json)["ok"].truthy());
  for (const char* command : kWrites) {
    const auto before = writes.slots.newest();
    const auto reply = server.run(bson::fromJson(command).value(), databaseOf(command));
    EXPECT_TRUE(reply["ok"].truthy() && !reply["writeErrors"]) << command << bson::toRelaxedJson(reply);
    EXPECT_GT(writes.slots.newest(), before) << command;
    EXPECT_EQ(writes.slots.openReservations(), 0u) << command;
    EXPECT_EQ(writes.visibility.get(), writes.slots.newest()) << command;
  }
}

TEST_F(ReplicatedWriteTest, NoneChangesAnythingOnceTheNodeHasSteppedDown) {
  ASSERT_TRUE(server.run(R"({"insert": "c", "documents": [{"_id": 1}]})"_json)["ok"].truthy());
  ASSERT_TRUE(
      server.run(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"_json)["ok"].truthy());
  ASSERT_TRUE(server.run(R"({"create": "d"})"_json)["ok"].truthy());
  const auto everything = [&] {
    return batch(R"({"aggregate": 1, "pipeline": [{"$listCatalog": {}}, {"$sort": {"ns": 1}}], "cursor": {}})",
                 "admin");
  };
  const auto before = everything();
  writes.fence.close([] {});
  for (const char* command : kRefused) {
    const auto reply = server.run(bson::fromJson(command).value(), databaseOf(command));
    EXPECT_EQ(reply["code"].toInt64(), 10107) << command << bson::toRelaxedJson(reply);
  }
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(batch(R"({"find": "c"})"), std::vector<std::string>{R"({ "_id" : 1 })"});
}

TEST_F(ReplicatedWriteTest, AnInsertOfManyGroupsThatMeetsAStepDownFailsAsAWhole) {
  bson::Builder command;
  command.append("insert", "c").openArray("documents");
  for (int i = 0; i < 1000; ++i) command.pushDocument().append("_id", i).close();
  command.close();
  ASSERT_TRUE(server.run(R"({"create": "c"})"_json)["ok"].truthy());
  auto exchange = std::make_shared<Exchange>(wire::buildRequest(99, "test", command.finish(), {}, 0), *server.server,
                                             *server.client, server.time->now());
  server.node.start([](std::shared_ptr<Exchange> e) -> Task<void> {
    co_await dispatch(e->request);
    e->done = true;
  }(exchange));
  while (server.catalog->find({"test", "c"})->records().count() == 0) ASSERT_TRUE(server.node.step());
  writes.fence.close([] {});
  writes.fence.open(2);  // it is primary again, but not for what began before
  server.node.run();
  ASSERT_TRUE(exchange->done);
  EXPECT_EQ(exchange->takeReply()["code"].toInt64(), 11602);
  const auto written = server.catalog->find({"test", "c"})->records().count();
  EXPECT_GT(written, 0);
  EXPECT_LT(written, 1000);
}

TEST_F(ReplicatedWriteTest, WhatANodeKeepsForItselfIsWrittenInEveryRole) {
  writes.fence.close([] {});
  EXPECT_TRUE(server.run(R"({"insert": "c", "documents": [{"_id": 1}]})"_json, "local")["ok"].truthy());
  EXPECT_EQ(writes.slots.newest(), bson::Timestamp{});
}

}  // namespace
}  // namespace troupe::commands
