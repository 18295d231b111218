// renameCollection into another database, and with UUIDs.
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class RenameTest : public CommandTest {
 protected:
  std::string uuidOf(const std::string& name) {
    const auto reply = run(R"({"listCollections": 1, "filter": {"name": ")" + name + R"("}})");
    return bson::toRelaxedJson(reply.view().at("cursor.firstBatch.0.info.uuid"));
  }
  static constexpr const char* kOther = R"({"$uuid": "11111111-2222-4333-8444-555555555555"})";
};

TEST_F(RenameTest, IntoAnotherDatabaseMovesDocumentsAndIndexes) {
  fill("c", 700);
  ASSERT_TRUE(succeeds(R"({"createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}]})"));
  EXPECT_TRUE(succeeds(R"({"renameCollection": "test.c", "to": "far.d"})", "admin"));
  EXPECT_TRUE(answers(R"({"collStats": "d"})", R"({"count": 700, "nindexes": 2})", "far"));
  EXPECT_TRUE(answers(R"({"listCollections": 1})", R"({"cursor": {"firstBatch": []}})"));
}

TEST_F(RenameTest, IntoAnotherDatabaseReplacesOnlyWhenAskedTo) {
  fill("c", 3);
  ASSERT_TRUE(succeeds(R"({"insert": "d", "documents": [{"_id": 1}]})", "far"));
  EXPECT_EQ(code(R"({"renameCollection": "test.c", "to": "far.d"})", "admin"), 48);
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 3})"));
  EXPECT_TRUE(succeeds(R"({"renameCollection": "test.c", "to": "far.d", "dropTarget": true})", "admin"));
  EXPECT_TRUE(answers(R"({"count": "d"})", R"({"n": 3})", "far"));
}

TEST_F(RenameTest, ChecksTheUuidOfItsSource) {
  fill("c", 1);
  const std::string wrong =
      R"({"renameCollection": "test.c", "to": "test.d", "collectionUUID": )" + std::string(kOther) + "}";
  EXPECT_TRUE(
      answers(wrong, R"({"code": 361, "db": "test", "expectedCollection": null, "actualCollection": "c"})", "admin"));
  EXPECT_TRUE(
      succeeds(R"({"renameCollection": "test.c", "to": "test.d", "collectionUUID": )" + uuidOf("c") + "}", "admin"));
}

TEST_F(RenameTest, ChecksTheUuidOfTheTargetItDrops) {
  fill("c", 1);
  fill("d", 1);
  const auto rename = [](const std::string& uuid) {
    return R"({"renameCollection": "test.c", "to": "test.d", "dropTarget": )" + uuid + "}";
  };
  EXPECT_EQ(code(rename(kOther), "admin"), 361);
  EXPECT_TRUE(succeeds(rename(uuidOf("d")), "admin"));
  EXPECT_EQ(
      code(R"({"renameCollection": "test.d", "to": "far.d", "dropTarget": )" + std::string(kOther) + "}", "admin"), 72);
}

TEST_F(RenameTest, NamesThatAreTooLongOrHaveADollarAreIllegal) {
  fill("c", 1);
  EXPECT_EQ(code(R"({"renameCollection": "test.c", "to": "te$st.d"})", "admin"), 20);
  EXPECT_EQ(code(R"({"renameCollection": "test.c", "to": "test.)" + std::string(251, 'a') + R"("})", "admin"), 20);
  EXPECT_EQ(code(R"({"renameCollection": "test.c", "to": "nodot"})", "admin"), 73);
}

TEST_F(RenameTest, OtherCommandsCheckTheUuidToo) {
  fill("c", 1);
  for (const std::string command :
       {R"("find": "c")", R"("count": "c")", R"("distinct": "c", "key": "x")", R"("drop": "c")", R"("collMod": "c")",
        R"("aggregate": "c", "pipeline": [], "cursor": {})", R"("insert": "c", "documents": [{}])",
        R"("update": "c", "updates": [{"q": {}, "u": {"a": 1}}])",
        R"("delete": "c", "deletes": [{"q": {}, "limit": 0}])", R"("findAndModify": "c", "remove": true)",
        R"("listIndexes": "c")", R"("dropIndexes": "c", "index": "*")",
        R"("createIndexes": "c", "indexes": [{"key": {"x": 1}, "name": "x_1"}])"}) {
    EXPECT_EQ(code("{" + command + R"(, "collectionUUID": )" + kOther + "}"), 361) << command;
    EXPECT_EQ(code("{" + command + R"(, "collectionUUID": 1})"), 14) << command;
  }
  EXPECT_TRUE(succeeds(R"({"find": "c", "collectionUUID": )" + uuidOf("c") + "}"));
}

}  // namespace troupe::commands
