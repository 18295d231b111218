#include "actors/server/write_concern.hpp"

#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {

class WriteConcernTest : public CommandTest {
 protected:
  void breakTheJournal() {
    server.engine->setDiskFault([](storage::DeterministicEngine::DiskOperation operation) {
      return operation == storage::DeterministicEngine::DiskOperation::kFlushLog
                 ? Status(ErrorCode::kInternalError, "the disk is gone")
                 : Status::OK();
    });
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

TEST_F(WriteConcernTest, ACommandThatWroteNothingWaitsForNothing) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})"));
  breakTheJournal();
  const auto reply = run(R"({"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$set": {"a": 1}}}],
                             "writeConcern": {"j": true}})");
  EXPECT_FALSE(reply.view().has("writeConcernError")) << "nothing matched";
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
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": "elsewhere"}})"), 79);
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 0})"));
}

}  // namespace troupe::commands
