// $out and $merge of pipelines that read at an earlier time: they read there to their end, and write over the newest
// data (RDC-004, RDC-011).
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {

using Lines = std::vector<std::string>;

namespace {

/// The only member of a set: what it writes is committed when it is durable, which the tests hold back.
class TimedOutputTest : public CommandTest {
 protected:
  TimedOutputTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    becomePrimary(server);
    server.node.advance(1s);
  }

  void holdCommits() { commands::holdCommits(server); }
  void letCommit() { commands::letCommit(server); }
  /// A write that only this member acknowledges, and its time.
  bson::Timestamp writes(std::string_view json) {
    const bson::Document reply = server.run(with(json, bson::doc("writeConcern", bson::doc("w", 1))));
    EXPECT_TRUE(reply["ok"].truthy() && !reply["writeErrors"].ok()) << json << bson::toRelaxedJson(reply);
    return reply["operationTime"].asTimestamp();
  }
  bson::Timestamp inserts(const char* collection, std::string_view document) {
    return writes(R"({"insert": ")" + std::string(collection) + R"(", "documents": [)" + std::string(document) + "]}");
  }
  bson::Timestamp now() { return run(R"({"ping": 1})")["operationTime"].asTimestamp(); }
  static bson::Document pipeline(const std::string& stages, bson::View readConcern, int w = 1) {
    const std::string command = R"({"aggregate": "c", "cursor": {}, "pipeline": [)" + stages + "]}";
    return with(command, bson::doc("readConcern", readConcern, "writeConcern", bson::doc("w", w)));
  }
  static bson::Document asOf(bson::Timestamp time) { return bson::doc("level", "snapshot", "atClusterTime", time); }
  static bson::Document ofMajority() { return bson::doc("level", "majority"); }
  /// With success, and soon: a snapshot may have to be committed first, and nothing else is waited for.
  ::testing::AssertionResult ends(const bson::Document& command) {
    const auto exchange = server.begin(command);
    for (int steps = 0; !exchange->done && steps < 20; ++steps) server.node.advance(100ms);
    if (!exchange->done) {
      exchange->operation.kill(ErrorCode::kInterrupted);
      server.node.advance(1s);
      return ::testing::AssertionFailure() << "it waits";
    }
    return holds(exchange->takeReply(), R"({"ok": 1})"_json);
  }
  Lines all(const char* collection) {
    return batch(R"({"find": ")" + std::string(collection) + R"(", "sort": {"_id": 1}})");
  }
  int64_t count(const char* collection) {
    return run(R"({"aggregate": ")" + std::string(collection) + R"(", "cursor": {}, "pipeline": [{"$count": "n"}]})")
        .view()
        .at("cursor.firstBatch.0.n")
        .toInt64();
  }
};

TEST_F(TimedOutputTest, AnOutOfASnapshotReplacesItsTarget) {
  fill("c", 3);
  const bson::Timestamp time = now();
  writes(R"({"delete": "c", "deletes": [{"q": {"_id": 1}, "limit": 1}]})");
  inserts("c", R"({"_id": 4})");
  EXPECT_TRUE(ends(pipeline(R"({"$out": "t"})", asOf(time)))) << "there was none";
  EXPECT_EQ(count("t"), 3);
  writes(R"({"createIndexes": "t", "indexes": [{"key": {"x": 1}, "name": "x"}]})");
  inserts("t", R"({"_id": 9})");
  EXPECT_TRUE(ends(pipeline(R"({"$out": "t"})", asOf(time))));
  EXPECT_EQ(all("t"), (Lines{R"({ "_id" : 1, "x" : 1 })", R"({ "_id" : 2, "x" : 2 })", R"({ "_id" : 3, "x" : 3 })"}));
  EXPECT_EQ(batch(R"({"find": "t", "hint": "x"})").size(), 3u);
  EXPECT_TRUE(ends(pipeline(R"({"$match": {"_id": 2}}, {"$out": "c"})", asOf(time)))) << "in place of what it reads";
  EXPECT_EQ(all("c"), Lines{R"({ "_id" : 2, "x" : 2 })"});
}

TEST_F(TimedOutputTest, AMergeOfASnapshotFindsWhatItWroteItself) {
  fill("c", 3);
  const bson::Timestamp time = now();
  const char* toOne = R"({"$sort": {"_id": 1}}, {"$project": {"_id": {"$literal": 7}, "x": 1}}, {"$merge": "t"})";
  EXPECT_TRUE(ends(pipeline(toOne, asOf(time)))) << "which makes its target, too";
  EXPECT_EQ(all("t"), Lines{R"({ "_id" : 7, "x" : 3 })"});
}

TEST_F(TimedOutputTest, AMergeOfASnapshotFindsWhatIsLater) {
  fill("c", 3);
  inserts("t", R"({"_id": 1, "n": 0})");
  const bson::Timestamp time = now();
  writes(R"({"update": "t", "updates": [{"q": {"_id": 1}, "u": {"$set": {"n": 5}}}]})");
  inserts("t", R"({"_id": 2, "n": 6})");
  EXPECT_TRUE(ends(pipeline(R"({"$merge": {"into": "t", "whenNotMatched": "discard"}})", asOf(time))));
  EXPECT_EQ(all("t"), (Lines{R"({ "_id" : 1, "n" : 5, "x" : 1 })", R"({ "_id" : 2, "n" : 6, "x" : 2 })"}));
}

/// It writes a batch at a time, and takes its input up again in between.
TEST_F(TimedOutputTest, APipelineOfASnapshotReadsOneTimeThroughout) {
  fill("c", 300);
  const bson::Timestamp time = now();
  writes(R"({"delete": "c", "deletes": [{"q": {"_id": {"$gt": 10}}, "limit": 0}]})");
  EXPECT_TRUE(ends(pipeline(R"({"$merge": "t"})", asOf(time))));
  EXPECT_EQ(count("t"), 300);
  EXPECT_TRUE(ends(pipeline(R"({"$merge": "c"})", asOf(time)))) << "into what it reads";
  EXPECT_EQ(count("c"), 300);
}

TEST_F(TimedOutputTest, AnOutUnderMajorityDoesNotWaitForItsOwnCollection) {
  fill("c", 3);
  ASSERT_TRUE(succeeds(R"({"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "majority"}})", "admin"));
  server.node.advance(1s);
  holdCommits();
  inserts("c", R"({"_id": 4})");
  EXPECT_TRUE(ends(pipeline(R"({"$out": "t"})", ofMajority())));
  EXPECT_TRUE(ends(pipeline(R"({"$out": "u"})", bson::Document()))) << "by default";
  letCommit();
  EXPECT_EQ(count("t"), 3) << "what was committed";
  EXPECT_EQ(count("u"), 3);
}

TEST_F(TimedOutputTest, AMergeUnderMajorityFindsWhatIsNotCommitted) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "t"})"));
  server.node.advance(1s);
  holdCommits();
  inserts("t", R"({"_id": 1, "n": 0})");
  EXPECT_TRUE(ends(pipeline(R"({"$merge": {"into": "t", "whenNotMatched": "discard"}})", ofMajority())));
  EXPECT_EQ(all("t"), Lines{R"({ "_id" : 1, "n" : 0, "x" : 1 })"});
  const char* needed = R"({"$set": {"x": 2}}, {"$merge": {"into": "t", "whenNotMatched": "fail"}})";
  EXPECT_TRUE(ends(pipeline(needed, ofMajority())));
  EXPECT_EQ(all("t"), Lines{R"({ "_id" : 1, "n" : 0, "x" : 2 })"});
  letCommit();
}

/// Its answer stands on a document that may still be undone.
TEST_F(TimedOutputTest, AMergeThatFindsNothingToChangeAwaitsWhatItFound) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "t"})"));
  server.node.advance(1s);
  const bson::Timestamp time = now();
  holdCommits();
  const bson::Timestamp found = inserts("t", R"({"_id": 1, "x": 1})");
  for (const bson::Document& concern : {ofMajority(), asOf(time)}) {
    const bson::Document more =
        bson::doc("readConcern", concern, "writeConcern", bson::doc("w", "majority", "wtimeout", 200));
    const char* merge = R"({"aggregate": "c", "cursor": {},
                            "pipeline": [{"$merge": {"into": "t", "whenNotMatched": "discard"}}]})";
    const bson::Document reply = server.run(with(merge, more));
    EXPECT_TRUE(holds(reply, R"({"ok": 1, "writeConcernError": {"code": 64}})"_json)) << bson::toRelaxedJson(concern);
    EXPECT_GE(reply["operationTime"].asTimestamp(), found) << bson::toRelaxedJson(concern);
  }
  letCommit();
  EXPECT_EQ(count("t"), 1);
}

/// Another client may have written what it found after its own last write.
TEST_F(TimedOutputTest, AMergeThatLeavesADocumentAsItIsReliesOnOthers) {
  fill("c", 2);
  inserts("t", R"({"_id": 1, "x": 1})");
  const auto merge = server.begin(pipeline(R"({"$merge": "t"})", bson::doc("level", "local")));
  server.node.advance(100ms);
  ASSERT_TRUE(merge->done);
  EXPECT_TRUE(merge->operation.hasWritten());
  EXPECT_TRUE(merge->operation.reliesOnOthers());
}

}  // namespace
}  // namespace troupe::commands
