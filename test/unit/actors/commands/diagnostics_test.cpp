// dbHash, top, compact, validateDBMetadata and their like.
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
using namespace server;

using DiagnosticsTest = CommandTest;

TEST_F(DiagnosticsTest, EqualContentsHaveEqualHashes) {
  for (const char* id : {"1", "2"})
    ASSERT_TRUE(succeeds(R"({"insert": "a", "documents": [{"_id": )" + std::string(id) + R"(, "x": 1}]})"));
  for (const char* id : {"2", "1"})
    ASSERT_TRUE(succeeds(R"({"insert": "b", "documents": [{"_id": )" + std::string(id) + R"(, "x": 1}]})"));
  fill("c", 2);
  const auto reply = run(R"({"dbHash": 1})");
  const auto hash = [&](const std::string& name) { return reply.view().at("collections." + name).toStringOr(); };
  EXPECT_EQ(hash("a"), hash("b")) << "in the order of _id, however they came";
  EXPECT_NE(hash("a"), hash("c"));
  EXPECT_EQ(hash("a").size(), 32u);
  const auto some = run(R"({"dbHash": 1, "collections": ["a"]})");
  EXPECT_EQ(some.view().at("collections.a").toStringOr(), hash("a"));
  EXPECT_FALSE(some.view().at("collections.b").ok());
  EXPECT_EQ(code(R"({"dbHash": 1, "collections": [1]})"), 2);
}

TEST_F(DiagnosticsTest, TopCountsWhatIsDoneWithEachCollection) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"find": "c"})"));
  ASSERT_TRUE(succeeds(R"({"find": "missing"})"));
  const auto reply = run(R"({"top": 1})", "admin");
  const auto usage = reply["totals"].asDocument()["test.c"].asDocument();
  EXPECT_EQ(usage.at("insert.count").toInt64(), 1);
  EXPECT_EQ(usage.at("queries.count").toInt64(), 1);
  EXPECT_GE(usage.at("readLock.count").toInt64(), 1);
  EXPECT_FALSE(reply["totals"].asDocument().has("test.missing"));
}

TEST_F(DiagnosticsTest, CollectionsKnowTheLatenciesOfTheirOperations) {
  fill("c", 3);
  ASSERT_TRUE(succeeds(R"({"find": "c"})"));
  ASSERT_TRUE(succeeds(R"({"count": "c"})"));
  EXPECT_TRUE(answers(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$collStats": {"latencyStats": {}}}]})",
                      R"({"cursor": {"firstBatch": [{"ns": "test.c", "latencyStats": {
                          "reads": {"ops": 2}, "writes": {"ops": 1}, "commands": {"ops": 0}}}]}})"));
  const auto reply =
      run(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$collStats": {"latencyStats": {"histograms": true}}}]})");
  const auto reads = reply.view().at("cursor.firstBatch.0.latencyStats.reads").asDocument();
  int64_t counted = 0;
  for (const bson::Element& bucket : reads["histogram"].asArray()) counted += bucket.asDocument()["count"].toInt64();
  EXPECT_EQ(counted, 3) << "those before and the aggregate before this one";
  EXPECT_EQ(reads["ops"].toInt64(), 3);
  EXPECT_GT(reads["latency"].toInt64(), 0);
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  fill("c", 1);
  EXPECT_TRUE(answers(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$collStats": {"latencyStats": {}}}]})",
                      R"({"cursor": {"firstBatch": [{"latencyStats": {"reads": {"ops": 0}}}]}})"));
}

TEST_F(DiagnosticsTest, CollectionsKnowHowOftenTheyWereScanned) {
  fill("c", 3);
  ASSERT_TRUE(succeeds(R"({"create": "k", "capped": true, "size": 4096})"));
  fill("k", 1);
  const auto scans = [&](const std::string& name) {
    const auto reply =
        run(R"({"aggregate": ")" + name + R"(", "cursor": {}, "pipeline": [{"$collStats": {"queryExecStats": {}}}]})");
    const auto shown = reply.view().at("cursor.firstBatch.0.queryExecStats.collectionScans").asDocument();
    EXPECT_TRUE(shown["total"].is(bson::Type::kInt64));
    return std::pair(shown["total"].toInt64(), shown["nonTailable"].toInt64());
  };
  EXPECT_EQ(scans("c"), std::pair(int64_t{0}, int64_t{0}));
  ASSERT_TRUE(succeeds(R"({"find": "c", "filter": {"_id": 1}})"));
  EXPECT_EQ(scans("c"), std::pair(int64_t{0}, int64_t{0})) << "found by its key";
  ASSERT_TRUE(succeeds(R"({"find": "c", "filter": {"no": 1}})"));
  ASSERT_TRUE(succeeds(R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$match": {"no": 1}}]})"));
  EXPECT_EQ(scans("c"), std::pair(int64_t{2}, int64_t{2}));
  ASSERT_TRUE(succeeds(R"({"find": "k", "tailable": true})"));
  EXPECT_EQ(scans("k"), std::pair(int64_t{1}, int64_t{0}));
}

TEST_F(DiagnosticsTest, CompactionIsOfCollectionsThatExist) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"create": "v", "viewOn": "c"})"));
  EXPECT_TRUE(answers(R"({"compact": "c", "freeSpaceTargetMB": 1})", R"({"bytesFreed": 0})"));
  EXPECT_TRUE(answers(R"({"compact": "c", "dryRun": true})", R"({"estimatedBytesFreed": 0})"));
  EXPECT_EQ(code(R"({"compact": "c", "freeSpaceTargetMB": 0})"), 2);
  EXPECT_EQ(code(R"({"compact": "c", "freeSpaceTargetMB": "1"})"), 14);
  EXPECT_EQ(code(R"({"compact": "v"})"), 166);
  EXPECT_EQ(code(R"({"compact": "missing"})"), 26);
}

TEST_F(DiagnosticsTest, MetadataThatTheStableApiDoesNotKnowAreNamed) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1", "sparse": true},
                                                             {"key": {"y": 1}, "name": "y_1"}]})"));
  EXPECT_TRUE(answers(R"({"validateDBMetadata": 1, "db": "test", "apiParameters": {"version": "1", "strict": true}})",
                      R"({"apiVersionErrors": [{"ns": "test.c", "code": 323, "codeName": "APIStrictError",
                          "errmsg": "The index with name x_1 is not allowed in API version 1."}]})"));
  EXPECT_TRUE(
      answers(R"({"validateDBMetadata": 1, "collection": "other", "apiParameters": {"version": "1", "strict": true}})",
              R"({"apiVersionErrors": []})"));
  EXPECT_EQ(code(R"({"validateDBMetadata": 1, "apiParameters": {"version": "1", "strict": null}})"), 14);
  EXPECT_EQ(code(R"({"validateDBMetadata": 1, "db": "", "apiParameters": {"version": "1"}})"), 28539);
  EXPECT_EQ(code(R"({"validateDBMetadata": 1, "db": "a b", "apiParameters": {"version": "1"}})"), 13280);
}

TEST_F(DiagnosticsTest, ValidationOfMetadataCountsNothing) {
  fill("c", 3);
  const auto reply = run(R"({"validate": "c", "metadata": true})");
  EXPECT_TRUE(reply["valid"].truthy());
  EXPECT_FALSE(reply.view().has("nrecords"));
  EXPECT_EQ(code(R"({"validate": "c", "metadata": true, "full": true})"), 72);
}

TEST_F(DiagnosticsTest, ParametersAreShownByWhenTheyCanBeSet) {
  const auto names = [&](const std::string& when) {
    return run(R"({"getParameter": {"allParameters": true, "setAt": ")" + when + R"("}})", "admin");
  };
  EXPECT_TRUE(names("startup").view().has("maxSessions"));
  EXPECT_FALSE(names("runtime").view().has("maxSessions"));
  EXPECT_EQ(code(R"({"getParameter": {"allParameters": true, "setAt": "now"}})", "admin"), 2);
  EXPECT_EQ(code(R"({"getParameter": {"allParameters": "yes"}})", "admin"), 14);
}

class MemberDiagnosticsTest : public CommandTest {
 protected:
  MemberDiagnosticsTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {}
};

TEST_F(MemberDiagnosticsTest, APrimaryIsCompactedWhereThatIsForcedOnly) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})", "local"));
  EXPECT_EQ(code(R"({"compact": "c"})", "local"), 0) << "it is no primary yet";
  becomePrimary(server);
  EXPECT_EQ(code(R"({"compact": "c"})", "local"), 20);
  EXPECT_EQ(code(R"({"compact": "missing"})", "test"), 20);
  EXPECT_EQ(code(R"({"compact": "c", "force": true})", "local"), 0);
}

}  // namespace troupe::commands
