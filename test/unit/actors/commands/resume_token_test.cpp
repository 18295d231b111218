// Scans of a collection that another cursor goes on with.
#include "actors/commands/resume_token.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class ResumeTokenTest : public CommandTest {
 protected:
  ResumeTokenTest() { fillAnew(); }

  void fillAnew() {
    std::vector<bson::Document> all;
    for (int i = 0; i < 10; ++i) all.push_back(bson::doc("_id", i));
    EXPECT_TRUE(server.run(bson::doc("insert", "c", "documents", all))["ok"].truthy());
  }

  bson::Document scan(const bson::Document& more) {
    bson::Builder find;
    find.append("find", "c").append("hint", bson::doc("$natural", 1)).append("$_requestResumeToken", true);
    find.append("projection", bson::doc("_id", 1)).appendAll(more);
    return server.run(find.finish());
  }
  static bson::Document tokenOf(const bson::Document& reply) {
    const bson::Element token = reply.view().at("cursor.postBatchResumeToken");
    return token.isObjectLike() ? bson::Document(token.asDocument()) : bson::Document();
  }
  static std::vector<int64_t> idsOf(const bson::Document& reply) {
    std::vector<int64_t> ids;
    for (const auto name : {"cursor.firstBatch", "cursor.nextBatch"}) {
      const bson::Element batch = reply.view().at(name);
      if (!batch.isObjectLike()) continue;
      for (const bson::Element& each : batch.asArray()) ids.push_back(each.asDocument()["_id"].toInt64());
    }
    return ids;
  }
  using Ids = std::vector<int64_t>;
};

TEST_F(ResumeTokenTest, AnotherCursorGoesOnBehindAnyBatch) {
  const bson::Document first = scan(bson::doc("batchSize", 3));
  EXPECT_EQ(idsOf(first), (Ids{0, 1, 2}));
  EXPECT_EQ(idsOf(scan(bson::doc("$_resumeAfter", tokenOf(first)))), (Ids{3, 4, 5, 6, 7, 8, 9}));
  const bson::Document second =
      server.run(bson::doc("getMore", first.view().at("cursor.id").toInt64(), "collection", "c", "batchSize", 4));
  EXPECT_EQ(idsOf(second), (Ids{3, 4, 5, 6}));
  EXPECT_EQ(idsOf(scan(bson::doc("$_startAt", tokenOf(second)))), (Ids{7, 8, 9}));
  EXPECT_EQ(idsOf(scan(bson::doc("$_resumeAfter", tokenOf(first), "limit", 1))), (Ids{3}));
}

TEST_F(ResumeTokenTest, AnOnlyBatchHasOneToo) {
  const bson::Document single = scan(bson::doc("batchSize", 2, "singleBatch", true));
  EXPECT_EQ(single.view().at("cursor.id").toInt64(), 0);
  EXPECT_EQ(idsOf(single), (Ids{0, 1}));
  const bson::Document limited = scan(bson::doc("$_resumeAfter", tokenOf(single), "limit", 1));
  EXPECT_EQ(idsOf(limited), (Ids{2}));
  EXPECT_EQ(idsOf(scan(bson::doc("$_resumeAfter", tokenOf(limited), "limit", 2))), (Ids{3, 4}));
}

TEST_F(ResumeTokenTest, BehindTheEndIsWhatComesLater) {
  const bson::Document all = scan({});
  EXPECT_EQ(idsOf(scan(bson::doc("$_resumeAfter", tokenOf(all)))), Ids{});
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 10}]})"));
  EXPECT_EQ(idsOf(scan(bson::doc("$_resumeAfter", tokenOf(all)))), (Ids{10}));
}

TEST_F(ResumeTokenTest, TheBeginningHasNoRecord) {
  const bson::Document none = scan(bson::doc("batchSize", 0));
  EXPECT_TRUE(none.view().at("cursor.postBatchResumeToken.$recordId").is(bson::Type::kNull));
  EXPECT_EQ(idsOf(scan(bson::doc("$_resumeAfter", tokenOf(none)))).size(), 10u);
}

/// A result that did not fit into the batch is not behind its token.
TEST_F(ResumeTokenTest, AResultThatIsHeldBackComesAgain) {
  const std::string large(7 << 20, 'x');
  ASSERT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})"));
  for (int i = 0; i < 4; ++i)
    ASSERT_TRUE(
        server.run(bson::doc("insert", "c", "documents", std::vector{bson::doc("_id", i, "t", large)}))["ok"].truthy());
  bson::Document reply =
      server.run(bson::doc("find", "c", "hint", bson::doc("$natural", 1), "$_requestResumeToken", true));
  ASSERT_EQ(idsOf(reply), (Ids{0, 1}));
  EXPECT_EQ(idsOf(scan(bson::doc("$_resumeAfter", tokenOf(reply)))), (Ids{2, 3}));
  reply = server.run(bson::doc("getMore", reply.view().at("cursor.id").toInt64(), "collection", "c", "batchSize", 1));
  EXPECT_EQ(idsOf(reply), (Ids{2}));
  EXPECT_EQ(idsOf(scan(bson::doc("$_resumeAfter", tokenOf(reply)))), (Ids{3}));
}

TEST_F(ResumeTokenTest, WhereTheRecordIsGoneOneGoesOnAndOneSaysSo) {
  const bson::Document token = tokenOf(scan(bson::doc("batchSize", 3)));
  ASSERT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {"_id": {"$in": [2, 3]}}, "limit": 0}]})"));
  EXPECT_EQ(scan(bson::doc("$_resumeAfter", token))["code"].toInt64(), 211);
  EXPECT_EQ(idsOf(scan(bson::doc("$_startAt", token))), (Ids{4, 5, 6, 7, 8, 9}));
  ASSERT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {"_id": {"$gt": 3}}, "limit": 0}]})"));
  EXPECT_EQ(idsOf(scan(bson::doc("$_startAt", token))), Ids{});
}

/// Their records have other numbers: to go on behind one of them would leave documents out.
TEST_F(ResumeTokenTest, DataThatWereMadeAnewAreOthers) {
  const bson::Document token = tokenOf(scan(bson::doc("batchSize", 3)));
  ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
  fillAnew();
  EXPECT_EQ(scan(bson::doc("$_resumeAfter", token))["code"].toInt64(), 211);
  EXPECT_EQ(scan(bson::doc("$_startAt", token))["code"].toInt64(), 211);
}

TEST_F(ResumeTokenTest, AFilterLeavesThePositionAtItsLastResult) {
  const bson::Document reply =
      scan(bson::doc("batchSize", 2, "filter", bson::doc("_id", bson::doc("$mod", std::vector{3, 0}))));
  EXPECT_EQ(idsOf(reply), (Ids{0, 3}));
  EXPECT_EQ(idsOf(scan(bson::doc("$_resumeAfter", tokenOf(reply)))), (Ids{4, 5, 6, 7, 8, 9}));
}

TEST_F(ResumeTokenTest, RefusesWhatHasNoPosition) {
  for (const char* bad : {
           R"({"find": "c", "$_requestResumeToken": true})",
           R"({"find": "c", "$_requestResumeToken": true, "hint": {"_id": 1}})",
           R"({"find": "c", "$_requestResumeToken": true, "hint": {"$natural": 1}, "sort": {"x": 1}})",
           R"({"find": "c", "hint": {"$natural": 1}, "$_resumeAfter": {"$recordId": {"$numberLong": "1"}}})",
           R"({"find": "c", "$_requestResumeToken": true, "hint": {"$natural": 1}, "$_resumeAfter": {}})",
           R"({"find": "c", "$_requestResumeToken": true, "hint": {"$natural": 1}, "$_startAt": {"$recordId": "1"}})",
           R"({"find": "c", "$_requestResumeToken": true, "hint": {"$natural": 1},
               "$_startAt": {"$recordId": {"$numberLong": "1"}}, "$_resumeAfter": {"$recordId": {"$numberLong": "1"}}})",
       })
    EXPECT_EQ(code(bad), 2) << bad;
  ASSERT_TRUE(succeeds(R"({"create": "view", "viewOn": "c", "pipeline": []})"));
  EXPECT_EQ(code(R"({"find": "view", "$_requestResumeToken": true, "hint": {"$natural": 1}})"), 168);
  EXPECT_EQ(code(R"({"find": "view", "$_startAt": {"$recordId": {"$numberLong": "1"}}})"), 2);
}

}  // namespace troupe::commands
