// profile, and what the profiler records in system.profile.
#include "actors/server/profiler.hpp"
#include "messaging/bson/validate.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/transaction/write_unit_of_work.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

class ProfileTest : public CommandTest {
 protected:
  ProfileTest() = default;
  explicit ProfileTest(CommandNode::Options options) : CommandTest(std::move(options)) {}

  /// The records of a database that match, oldest first.
  std::vector<bson::Document> records(const std::string& filter = "{}", std::string_view db = "test") {
    const auto reply = run(R"({"find": "system.profile", "batchSize": 1000, "filter": )" + filter + "}", db);
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    std::vector<bson::Document> found;
    if (!reply["ok"].truthy()) return found;
    for (const auto& e : reply.view().at("cursor.firstBatch").asArray()) found.emplace_back(e.asDocument());
    return found;
  }
  /// How many are in the collection; asked of no command.
  int64_t count(std::string_view db = "test") {
    server.node.advance(10ms);
    const auto collection = server.catalog->find({db, kProfileCollection});
    return collection ? collection->records().count() : -1;
  }
  /// The next command of that name takes 200 ms.
  void slowDown(const std::string& command) {
    ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": {"failCommands": [")" +
                             command + R"("], "blockConnection": true, "blockTimeMS": 200}})",
                         "admin"));
  }
};

TEST_F(ProfileTest, ShowsAndSetsItsSettings) {
  EXPECT_TRUE(answers(R"({"profile": -1})", R"({"was": 0, "slowms": 100, "sampleRate": 1})"));
  EXPECT_TRUE(answers(R"({"profile": -1, "slowms": 5})", R"({"slowms": 100})"));
  EXPECT_TRUE(answers(R"({"profile": 1, "slowms": 20, "sampleRate": 0.5})", R"({"was": 0, "slowms": 100})"));
  EXPECT_TRUE(answers(R"({"profile": 2})", R"({"was": 1, "slowms": 20, "sampleRate": 0.5})"));
  EXPECT_TRUE(answers(R"({"profile": -1})", R"({"was": 2, "slowms": 20})"));
  EXPECT_TRUE(answers(R"({"profile": -1})", R"({"was": 0, "slowms": 20, "sampleRate": 0.5})", "other"))
      << "the level is the database's, the rest is the node's";
}

TEST_F(ProfileTest, KeepsAFilterUntilItIsUnset) {
  EXPECT_FALSE(run(R"({"profile": 1, "filter": {"op": "query"}})")["filter"].ok());
  EXPECT_TRUE(answers(R"({"profile": 0})", R"({"was": 1, "filter": {"op": "query"}})"));
  EXPECT_TRUE(answers(R"({"profile": 0, "filter": "unset"})", R"({"was": 0, "filter": {"op": "query"}})"));
  const auto last = run(R"({"profile": -1})");
  EXPECT_FALSE(last["filter"].ok() || last["note"].ok());
}

TEST_F(ProfileTest, AGetMoreHasTheCommentOfItsCursor) {
  fill("c", 3);
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  const auto cursor = run(R"({"find": "c", "batchSize": 1, "comment": "mine"})").view().at("cursor.id").toInt64();
  const bson::Document more = bson::doc("getMore", cursor, "collection", "c");
  ASSERT_TRUE(server.run(more)["ok"].truthy());
  EXPECT_EQ(records(R"({"op": "getmore", "command.comment": "mine"})").size(), 1u);
  EXPECT_TRUE(batch(R"({"listIndexes": "system.profile"})").empty()) << "records have no _id";
}

TEST_F(ProfileTest, RefusesWhatIsNoSetting) {
  EXPECT_EQ(code(R"({"profile": "on"})"), 14);
  for (const auto* wrong : {R"({"profile": 3})", R"({"profile": -2})", R"({"profile": 1, "sampleRate": 1.5})",
                            R"({"profile": 1, "sampleRate": -0.1})", R"({"profile": 1, "filter": "set"})",
                            R"({"profile": 1, "filter": {"$nonsense": 1}})", R"({"profile": 1, "slowms": -2})"})
    EXPECT_EQ(code(wrong), 2) << wrong;
  EXPECT_TRUE(answers(R"({"profile": -1})", R"({"was": 0, "slowms": 100})")) << "a refused command changes nothing";
}

TEST_F(ProfileTest, TakesFiltersOfUpTo64KiB) {
  const auto filter = [&](size_t bytes) {
    const auto command = bson::doc("profile", 1, "filter", bson::doc("op", std::string(bytes, 'x')));
    return server.run(command)["code"].toInt64(0);
  };
  EXPECT_EQ(filter(60 * 1024), 0);
  EXPECT_EQ(filter(64 * 1024), 2);
}

TEST_F(ProfileTest, AtLevelTwoEveryOperationIsRecorded) {
  ASSERT_TRUE(server.run(R"({"hello": 1, "client": {"application": {"name": "shop"}}})"_json, "admin")["ok"].truthy());
  fill("c", 5);
  EXPECT_EQ(count(), -1) << "it is made on demand";
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  ASSERT_TRUE(succeeds(R"({"find": "c", "filter": {"x": {"$gte": 3}}, "sort": {"x": 1}})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 6}, {"_id": 7}]})"));
  ASSERT_TRUE(succeeds(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"x": 9}}}]})"));
  ASSERT_TRUE(succeeds(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})"));
  ASSERT_EQ(code(R"({"count": "c", "query": {"$nonsense": 1}})"), 2);
  const auto found = records(R"({"ns": "test.c"})");
  ASSERT_EQ(found.size(), 5u);
  EXPECT_TRUE(holds(found[0], R"({"op": "query", "command": {"find": "c"}, "planSummary": "COLLSCAN", "keysExamined": 0,
      "docsExamined": 5, "hasSortStage": true, "cursorExhausted": true, "nreturned": 3, "numYield": 0,
      "protocol": "op_msg", "client": "127.0.0.1", "appName": "shop", "allUsers": [], "user": "", "millis": 0})"_json));
  EXPECT_TRUE(found[0].view().at("locks.Global.acquireCount.r").isNumber()) << bson::toRelaxedJson(found[0]);
  EXPECT_GT(found[0]["responseLength"].toInt64(), 100);
  EXPECT_NEAR(static_cast<double>(found[0]["ts"].asDate().millis), static_cast<double>(server.wallMillis()), 1000);
  EXPECT_TRUE(holds(found[1], R"({"op": "insert", "ninserted": 2})"_json));
  EXPECT_TRUE(holds(found[2], R"({"op": "update", "nModified": 1})"_json));
  EXPECT_TRUE(holds(found[3], R"({"op": "remove", "ndeleted": 1})"_json));
  EXPECT_TRUE(holds(found[4], R"({"op": "command", "errCode": 2, "errName": "BadValue"})"_json));
  EXPECT_TRUE(found[4]["errMsg"].toStringOr().find("$nonsense") != std::string::npos);
}

TEST_F(ProfileTest, AGetMoreIsRecordedWithWhatOpenedItsCursor) {
  fill("c", 5);
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  const int64_t id = run(R"({"find": "c", "batchSize": 2, "comment": "mine"})").view().at("cursor.id").toInt64();
  ASSERT_TRUE(server.run(bson::doc("getMore", id, "collection", "c"))["ok"].truthy());
  const auto found = records(R"({"ns": "test.c"})");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(holds(found[0], bson::doc("op", "query", "cursorid", id, "nreturned", 2)));
  EXPECT_FALSE(found[0]["cursorExhausted"].ok());
  EXPECT_TRUE(holds(found[1], bson::doc("op", "getmore", "cursorid", id, "cursorExhausted", true, "nreturned", 3)));
  EXPECT_TRUE(holds(found[1], R"({"originatingCommand": {"find": "c", "comment": "mine"}})"_json));
}

TEST_F(ProfileTest, AtLevelOneSlowOperationsAreRecorded) {
  ASSERT_TRUE(succeeds(R"({"profile": 1, "slowms": 150})"));
  ASSERT_TRUE(succeeds(R"({"find": "c", "comment": "fast"})"));
  slowDown("find");
  ASSERT_TRUE(succeeds(R"({"find": "c", "comment": "slow"})"));
  const auto found = records();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(holds(found[0], R"({"command": {"comment": "slow"}, "millis": 200})"_json));
  ASSERT_TRUE(succeeds(R"({"profile": 1, "sampleRate": 0})"));
  slowDown("find");
  ASSERT_TRUE(succeeds(R"({"find": "c"})"));
  EXPECT_EQ(count(), 1) << "none is taken as a sample";
}

TEST_F(ProfileTest, AFilterDecidesInPlaceOfThresholdAndSampleRate) {
  ASSERT_TRUE(succeeds(R"({"profile": 1, "slowms": 0, "sampleRate": 0, "filter": {"op": "insert", "ninserted": 2}})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}], "comment": "unwanted"})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 2}, {"_id": 3}], "comment": "wanted"})"));
  const auto found = records();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(holds(found[0], R"({"command": {"comment": "wanted"}})"_json));
  const std::string log = bson::toRelaxedJson(run(R"({"getLog": "global"})", "admin"));
  EXPECT_NE(log.find("\\\"wanted\\\""), std::string::npos) << "the log's lines follow it, too";
  EXPECT_EQ(log.find("\\\"unwanted\\\""), std::string::npos);
}

TEST_F(ProfileTest, AFilterThatFailsAdmitsNothing) {
  ASSERT_TRUE(succeeds(R"({"profile": 1, "filter": {"$expr": {"$divide": [1, "$docsExamined"]}}})"));
  EXPECT_TRUE(succeeds(R"({"find": "c"})"));
  EXPECT_EQ(count(), -1);
}

// Each operation of the database passes the filter, and nobody can kill that. Without a limit the first takes 2^64
// bytes and the second 10^12 steps.
TEST_F(ProfileTest, AFilterThatTakesTooMuchMatchesNothing) {
  std::string slow = R"("$$value")";
  for (int depth = 0; depth < 4; ++depth)
    slow = R"({"$reduce": {"input": {"$range": [0, 1000]}, "initialValue": "$op", "in": )" + slow + "}}";
  const std::string large = R"({"$reduce": {"input": {"$range": [0, 64]}, "initialValue": "$op",
                                            "in": {"$concat": ["$$value", "$$value"]}}})";
  for (const std::string& expression : {large, slow}) {
    ASSERT_TRUE(succeeds(R"({"profile": 1, "filter": {"$expr": )" + expression + "}}")) << expression;
    EXPECT_TRUE(succeeds(R"({"count": "c"})"));
    EXPECT_TRUE(succeeds(R"({"profile": 0, "filter": "unset"})"));
    EXPECT_TRUE(records(R"({"command.count": "c"})").empty());
  }
}

TEST_F(ProfileTest, ItsOwnWritesAreNotRecorded) {
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  ASSERT_TRUE(succeeds(R"({"find": "c"})"));
  const int64_t before = count();
  server.node.advance(60s);
  EXPECT_EQ(count(), before);
}

TEST_F(ProfileTest, OneDatabasesProfileSaysNothingOfAnother) {
  ASSERT_TRUE(succeeds(R"({"profile": 2})", "other"));
  ASSERT_TRUE(succeeds(R"({"find": "c"})", "test"));
  ASSERT_TRUE(succeeds(R"({"find": "c"})", "other"));
  EXPECT_EQ(count("test"), -1);
  EXPECT_EQ(records(R"({"ns": "other.c"})", "other").size(), 1u);
}

TEST_F(ProfileTest, IsACappedCollectionThatClientsCannotWriteTo) {
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  ASSERT_TRUE(succeeds(R"({"find": "c"})"));
  EXPECT_GE(count(), 1);
  EXPECT_TRUE(answers(R"({"listCollections": 1, "filter": {"name": "system.profile"}})",
                      R"({"cursor": {"firstBatch": [{"options": {"capped": true, "size": 1048576}}]}})"));
  EXPECT_EQ(code(R"({"insert": "system.profile", "documents": [{"_id": 1}]})"), 73);
  EXPECT_TRUE(answers(R"({"delete": "system.profile", "deletes": [{"q": {}, "limit": 0}]})",
                      R"({"n": 0, "writeErrors": [{"index": 0, "code": 73}]})"));
}

TEST_F(ProfileTest, IsDroppedOnlyWhileProfilingIsOffAndStaysSo) {
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  ASSERT_TRUE(succeeds(R"({"find": "c"})"));
  EXPECT_EQ(code(R"({"drop": "system.profile"})"), 20);
  ASSERT_TRUE(succeeds(R"({"profile": 0})"));
  EXPECT_TRUE(succeeds(R"({"drop": "system.profile"})"));
  EXPECT_EQ(count(), -1);
  EXPECT_EQ(code(R"({"create": "system.profile"})"), 72) << "it has to be capped";
  EXPECT_TRUE(succeeds(R"({"create": "system.profile", "capped": true, "size": 4194304})"));
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  ASSERT_TRUE(succeeds(R"({"find": "c"})"));
  EXPECT_GE(count(), 1);
  EXPECT_EQ(server.catalog->find({"test", kProfileCollection})->options().cappedSize, 4194304);
}

TEST_F(ProfileTest, EndsWithItsDatabase) {
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})"));
  ASSERT_TRUE(succeeds(R"({"dropDatabase": 1})"));
  server.node.advance(1s);
  EXPECT_TRUE(answers(R"({"profile": -1})", R"({"was": 0})"));
  EXPECT_EQ(count(), -1) << "the record of the drop does not make it again";
}

// A member carries the drop out as the log says, with no command of its own.
TEST_F(ProfileTest, EndsWithADatabaseThatAnotherMemberHasDropped) {
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})"));
  ASSERT_GE(count(), 1);
  {
    storage::OperationContext applier({.sessions = server.storageSessions}, storage::OperationOrigin::kApplier);
    applier.setWriteMode(storage::WriteMode::kApplied);
    storage::WriteUnitOfWork work(applier.recoveryUnit());
    ASSERT_TRUE(storage::dropDatabase(*server.catalog, applier.recoveryUnit(), "test").isOK());
    EXPECT_TRUE(server.server->profiler.isOn("test")) << "the drop may still be undone";
    ASSERT_TRUE(work.commit().isOK());
  }
  EXPECT_FALSE(server.server->profiler.isOn("test"));
  ASSERT_TRUE(succeeds(R"({"find": "c"})"));
  server.node.advance(1s);
  EXPECT_EQ(count(), -1) << "nothing makes the database again";
}

TEST_F(ProfileTest, AKeeperThatIsAwayHoldsNobodyUpAndWritesLater) {
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  const auto control = [&](const std::string& action) {
    return answers(R"({"controlActor": "/node/services/profile-keeper", "action": ")" + action + R"("})",
                   R"({"ok": 1})", "admin");
  };
  ASSERT_TRUE(control("park"));
  const auto recorded = count();  // of what came before
  ASSERT_LE(recorded, 1);
  const TimePoint before = server.time->now();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(succeeds(R"({"find": "c"})"));
  EXPECT_LE(server.time->now() - before, 200ms);
  EXPECT_EQ(count(), recorded);
  EXPECT_LE(records().size(), 1u) << "a reader does not wait for ever";
  ASSERT_TRUE(control("resume"));
  server.node.advance(5s);
  EXPECT_GE(count(), 10);
}

TEST_F(ProfileTest, SecretsAndLongFieldsAreNotShown) {
  ASSERT_TRUE(succeeds(R"({"profile": 2})", "admin"));
  ASSERT_TRUE(succeeds(R"({"createUser": "u", "pwd": "topsecret", "roles": []})", "admin"));
  const auto found = records(R"({"command.createUser": "u"})", "admin");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].view().at("command.pwd").toStringOr(), "xxx");
  EXPECT_EQ(bson::toRelaxedJson(found[0]).find("topsecret"), std::string::npos);
  const std::string large(1 << 20, 'x');
  ASSERT_TRUE(server.run(bson::doc("find", "c", "filter", bson::doc("a", large)), "admin")["ok"].truthy());
  const auto bounded = records(R"({"command.find": "c"})", "admin");
  ASSERT_EQ(bounded.size(), 1u);
  EXPECT_LT(bounded[0].bytes().size(), 4096u);
}

TEST_F(ProfileTest, ACommandThatNestsAsDeeplyAsItMayIsRecordedWithoutIt) {
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  bson::Document deep = bson::doc("a", 1);
  const int most = bson::ValidateOptions{}.maxDepth;
  for (int i = 0; i < most - 2; ++i) deep = bson::doc("a", deep);
  (void)server.run(bson::doc("find", "c", "comment", deep));
  const auto found = records(R"({"ns": "test.c"})");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(holds(found[0], R"({"command": {"$truncated": true}})"_json)) << bson::toRelaxedJson(found[0]);
}

/// With access control.
class ProfileOfUsersTest : public ProfileTest {
 protected:
  ProfileOfUsersTest() : ProfileTest({.authentication = true}) {}
};

TEST_F(ProfileOfUsersTest, StrangersAreNotRecordedAndUsersByName) {
  ASSERT_EQ(code(R"({"createUser": "root", "pwd": "secret", "roles": ["root"]})", "admin"), 0);
  const auto root = server.connect();
  root->users.push_back(std::move(**server.users->load("root", "admin")));
  root->usersChanged();
  ASSERT_TRUE(server.run(R"({"profile": 2})"_json, "test", root)["ok"].truthy());
  EXPECT_EQ(code(R"({"find": "c"})"), 13);
  EXPECT_EQ(count(), 1) << "the command that turned it on";
  ASSERT_TRUE(server.run(R"({"find": "c"})"_json, "test", root)["ok"].truthy());
  const auto reply = server.run(R"({"find": "system.profile", "filter": {"op": "query"}})"_json, "test", root);
  const auto found = reply.view().at("cursor.firstBatch.0");
  ASSERT_TRUE(found.isObjectLike()) << bson::toRelaxedJson(reply);
  EXPECT_TRUE(holds(found.asDocument(),
                    R"({"user": "root@admin", "allUsers": [{"user": "root", "db": "admin"}], "ns": "test.c"})"_json));
}

/// A member of a replica set that is not its primary: profiles are each node's own.
class ProfileOfMemberTest : public ProfileTest {
 protected:
  ProfileOfMemberTest() : ProfileTest({.name = "n1:1", .replicaSet = "rs"}) {}
};

TEST_F(ProfileOfMemberTest, IsWrittenWhereNoOtherWritesAreTaken) {
  ASSERT_TRUE(succeeds(R"({"profile": 2})"));
  EXPECT_NE(code(R"({"insert": "c", "documents": [{"_id": 1}]})"), 0);
  EXPECT_GE(count(), 1);
}

}  // namespace troupe::commands
