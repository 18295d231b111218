// renameCollection into another database, and with UUIDs.
#include "storage/catalog/collection.hpp"
#include "storage/catalog/index_builder.hpp"
#include "storage/catalog/write_observer.hpp"
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

TEST_F(RenameTest, IntoAnotherDatabaseTakesNoIndexOverThatIsBeingBuilt) {
  fill("c", 3);
  storage::OperationContext operation({.sessions = server.storageSessions});
  const auto spec = storage::parseIndexSpec(R"({"key": {"x": 1}, "name": "x_1"})"_json);
  storage::IndexBuilder build(*server.catalog, storage::Namespace("test", "c"), {*spec});
  ASSERT_TRUE(build.start(operation.recoveryUnit()).isOK());
  operation.recoveryUnit().releaseSession();
  constexpr const char* kRename = R"({"renameCollection": "test.c", "to": "far.d"})";
  EXPECT_EQ(code(kRename, "admin"), static_cast<int>(ErrorCode::kBackgroundOperationInProgressForNamespace));
  EXPECT_TRUE(answers(R"({"listCollections": 1})", R"({"cursor": {"firstBatch": []}})", "far"));
  ASSERT_TRUE(build.abort(operation.recoveryUnit()).isOK());
  operation.recoveryUnit().releaseSession();
  EXPECT_TRUE(succeeds(kRename, "admin"));
  EXPECT_TRUE(answers(R"({"collStats": "d"})", R"({"count": 3, "nindexes": 1})", "far"));
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

TEST_F(RenameTest, SystemCollectionsAreNeitherRenamedNorReplaced) {
  ASSERT_TRUE(succeeds(R"({"createUser": "u", "pwd": "p", "roles": []})", "admin"));
  fill("c", 1);
  for (const char* to : {"x.u", "admin.u"}) {
    const std::string flags[] = {"", R"(, "dropTarget": true)"};
    for (const std::string& flag : flags) {
      EXPECT_EQ(code(R"({"renameCollection": "admin.system.users", "to": ")" + std::string(to) + R"(")" + flag + "}",
                     "admin"),
                20)
          << to;
    }
  }
  EXPECT_EQ(code(R"({"renameCollection": "test.c", "to": "admin.system.users", "dropTarget": true})", "admin"), 20);
  EXPECT_EQ(code(R"({"drop": "system.users"})", "admin"), 20);
  EXPECT_TRUE(answers(R"({"usersInfo": "u"})", R"({"users": [{"user": "u"}]})", "admin"));
}

TEST_F(RenameTest, NothingMovesBetweenReplicatedAndUnreplicatedDatabases) {
  fill("c", 1);
  ASSERT_TRUE(succeeds(R"({"insert": "own", "documents": [{"_id": 1}]})", "local"));
  EXPECT_EQ(code(R"({"renameCollection": "local.own", "to": "test.d"})", "admin"), 20);
  EXPECT_EQ(code(R"({"renameCollection": "test.c", "to": "local.c"})", "admin"), 20);
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 1})"));
  EXPECT_TRUE(answers(R"({"count": "own"})", R"({"n": 1})", "local"));
}

/// Refuses the drop of collections whose name it is given.
class DropRefusal final : public storage::WriteObserver {
 public:
  bool observes(const storage::CatalogEntry&) const override { return true; }
  Status onDrop(storage::RecoveryUnit&, const storage::Collection& dropped, const OpTime&) override {
    const std::string& ns = dropped.ns().toString();
    for (const std::string& part : names)
      if (ns.find(part) != std::string::npos) return {ErrorCode::kOperationFailed, "refused: " + ns};
    return Status::OK();
  }
  std::vector<std::string> names;
};

struct RefusalHolder {
  DropRefusal refusal;
};

/// A rename into another database whose last step fails.
class FailingRenameTest : public RefusalHolder, public CommandTest {
 protected:
  FailingRenameTest() : CommandTest({.observers = {&refusal}}) {}
  void SetUp() override {
    fill("c", 3);
    ASSERT_TRUE(succeeds(R"({"insert": "d", "documents": [{"_id": 7}]})", "far"));
  }
  static constexpr const char* kRename = R"({"renameCollection": "test.c", "to": "far.d", "dropTarget": true})";
  std::vector<std::string> farNames() {
    std::vector<std::string> names;
    for (const auto& collection : server.catalog->snapshot()->collections("far"))
      names.emplace_back(collection->ns().collection());
    return names;
  }
};

TEST_F(FailingRenameTest, LeavesSourceAndTargetAsTheyWere) {
  refusal.names = {"test.c"};
  EXPECT_EQ(code(kRename, "admin"), 96);
  EXPECT_TRUE(answers(R"({"count": "c"})", R"({"n": 3})"));
  EXPECT_TRUE(answers(R"({"find": "d"})", R"({"cursor": {"firstBatch": [{"_id": 7}]}})", "far"));
  EXPECT_EQ(farNames(), std::vector<std::string>{"d"});
  refusal.names.clear();
  EXPECT_TRUE(succeeds(kRename, "admin"));
  EXPECT_TRUE(answers(R"({"count": "d"})", R"({"n": 3})", "far"));
  EXPECT_TRUE(answers(R"({"listCollections": 1})", R"({"cursor": {"firstBatch": []}})"));
}

TEST_F(FailingRenameTest, SaysSoWhenItsTemporaryCollectionStays) {
  refusal.names = {"test.c", "tmp.copy"};
  EXPECT_EQ(code(kRename, "admin"), 96);
  ASSERT_EQ(farNames().size(), 2u);
  const auto log = run(R"({"getLog": "global"})", "admin");
  EXPECT_NE(bson::toRelaxedJson(log["log"]).find("A temporary collection was not removed"), std::string::npos);
  EXPECT_TRUE(answers(R"({"find": "d"})", R"({"cursor": {"firstBatch": [{"_id": 7}]}})", "far"));
}

}  // namespace troupe::commands
