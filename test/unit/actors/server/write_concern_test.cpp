#include "actors/server/write_concern.hpp"

#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::server {
using namespace commands;

class WriteConcernTest : public CommandTest {
 protected:
  void breakTheJournal() {
    server.engine->setDiskFault([](storage::DeterministicEngine::DiskOperation operation) {
      return operation == storage::DeterministicEngine::DiskOperation::kFlushLog
                 ? Status(ErrorCode::kInternalError, "the disk is gone")
                 : Status::OK();
    });
  }
  static bool storedAfterAKill(const CommandNode& node) {
    CommandNode after({.disk = node.engine->disk()});
    const bson::Document found = after.run(R"({"find": "c"})"_json);
    return found["ok"].truthy() && !found.view().at("cursor.firstBatch").asArray().empty();
  }
  void parkTheFlusher() {
    const Status parked = server.node.wait(supervisors::controlActor(
        server.node, "/node/storage/journal-flusher", supervisors::ControlAction::kPark, "nothing is flushed"));
    EXPECT_TRUE(parked.isOK()) << parked.toString();
  }
};

TEST_F(WriteConcernTest, ItsFailureStandsBesideWhatWasDone) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 0}]})"));
  breakTheJournal();
  EXPECT_TRUE(answers(R"({"insert": "c", "documents": [{"_id": 2}, {"_id": 2}], "writeConcern": {"j": true}})",
                      R"({"ok": 1.0, "n": 1, "writeErrors": [{"index": 1, "code": 11000}],
                          "writeConcernError": {"code": 1, "codeName": "InternalError"}})"));
  EXPECT_TRUE(
      answers(R"({"find": "c", "filter": {"_id": {"$gt": 0}}})", R"({"cursor": {"firstBatch": [{"_id": 2}]}})"));
}

TEST_F(WriteConcernTest, WhatACommandWroteBeforeItFailedIsAwaitedToo) {
  ASSERT_TRUE(succeeds(R"({"insert": "from", "documents": [{"_id": 1}, {"_id": 2}]})"));
  ASSERT_TRUE(succeeds(R"({"insert": "to", "documents": [{"_id": 2}], "writeConcern": {"j": true}})"));
  EXPECT_EQ(code(R"({"aggregate": "from", "cursor": {}, "writeConcern": {"j": true},
                     "pipeline": [{"$merge": {"into": "to", "whenMatched": "fail"}}]})"),
            11000);
  CommandNode after({.disk = server.engine->disk()});
  EXPECT_TRUE(holds(after.run(R"({"find": "to", "sort": {"_id": 1}})"_json),
                    R"({"cursor": {"firstBatch": [{"_id": 1}, {"_id": 2}]}})"_json))
      << "the first document was written";
}

/// Each has nothing to write, and answers for a document or collection that is not on disk yet.
constexpr const char* kChangesNothing[] = {
    R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"j": true}})",
    R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}], "writeConcern": {"j": true}})",
    R"({"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$set": {"a": 1}}}], "writeConcern": {"w": "majority"}})",
    R"({"delete": "c", "deletes": [{"q": {"_id": 9}, "limit": 1}], "writeConcern": {"j": true}})",
    R"({"findAndModify": "c", "query": {"_id": 9}, "remove": true, "writeConcern": {"j": true}})",
    R"({"create": "c", "capped": true, "size": 4096, "writeConcern": {"j": true}})",
    R"({"createIndexes": "c", "indexes": [{"key": {"_id": 1}, "name": "_id_"}], "writeConcern": {"j": true}})",
};

TEST_F(WriteConcernTest, AWriteThatChangedNothingAwaitsWhatWasThereBefore) {
  for (const char* command : kChangesNothing) {
    CommandNode node;
    ASSERT_TRUE(node.run(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})"_json)["ok"].truthy());
    ASSERT_FALSE(storedAfterAKill(node)) << "it is not on disk yet";
    const bson::Document reply = node.run(parse(command));
    EXPECT_FALSE(reply.view().has("writeConcernError")) << command << bson::toRelaxedJson(reply);
    EXPECT_TRUE(storedAfterAKill(node)) << command << bson::toRelaxedJson(reply);
  }
}

TEST_F(WriteConcernTest, TheFailureOfThatWaitIsToldToo) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "a": 1}]})"));
  breakTheJournal();
  for (const char* command : kChangesNothing) EXPECT_TRUE(run(command).view().has("writeConcernError")) << command;
  const auto read = run(R"({"aggregate": "c", "pipeline": [], "cursor": {}, "writeConcern": {"j": true}})");
  EXPECT_FALSE(read.view().has("writeConcernError")) << "a read awaits nothing";
  const auto refused = run(R"({"insert": "c", "documents": "none", "writeConcern": {"j": true}})");
  EXPECT_FALSE(refused.view().has("writeConcernError")) << "nothing was looked at";
}

TEST_F(WriteConcernTest, TheWaitForItEndsAfterItsTimeout) {
  parkTheFlusher();
  const auto insert = server.begin(parse(
      R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"j": true, "wtimeout": 50}, "maxTimeMS": 900})"));
  server.node.advance(40ms);
  EXPECT_FALSE(insert->done);
  server.node.advance(20ms);
  ASSERT_TRUE(insert->done);
  EXPECT_TRUE(holds(insert->takeReply(), parse(R"({"ok": 1, "n": 1, "writeConcernError":
      {"code": 64, "codeName": "WriteConcernFailed", "errInfo": {"wtimeout": true}}})")));
}

TEST_F(WriteConcernTest, OnesThatThisNodeCannotSatisfyAreRefused) {
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 2}})"), 2);
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": "elsewhere"}})"), 2);
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 0})"));
}

}  // namespace troupe::server
