#include "actors/server/default_concerns.hpp"

#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr int64_t kBadValue = 2, kCannotUnset = 20, kUnsatisfiable = 100, kUnknownMode = 79, kIncompatibleConfig = 103;
constexpr int64_t kStandalone = 51300, kNotPrimary = 10107;

constexpr const char* kBoth = R"({"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "majority"},
                                  "defaultWriteConcern": {"w": 1, "wtimeout": 700}})";

}  // namespace

/// The primary of a set of one.
class DefaultConcernsTest : public CommandTest {
 protected:
  DefaultConcernsTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    becomePrimary(server);
    server.node.advance(1s);
  }
  int64_t set(std::string_view fields) {
    return code(R"({"setDefaultRWConcern": 1)" + std::string(fields.empty() ? "" : ", ") + std::string(fields) + "}",
                "admin");
  }
  bson::Document defaults(std::string_view more = "") {
    return run(R"({"getDefaultRWConcern": 1)" + std::string(more) + "}", "admin");
  }
  /// How the profile shows the last command of that name.
  bson::Document profiled(std::string_view command) {
    EXPECT_TRUE(succeeds(R"({"profile": 2})"));
    run(command);
    EXPECT_TRUE(succeeds(R"({"profile": 0})"));
    server.node.advance(1s);
    const std::string name(parse(command).view().first().name());
    const auto found = batch(R"({"find": "system.profile", "filter": {"command.)" + name +
                             R"(": "c"}, "sort": {"$natural": -1}, "limit": 1,
                              "readConcern": {"level": "local"}})");
    EXPECT_EQ(found.size(), 1u) << command;
    return found.empty() ? bson::Document() : parse(found[0]);
  }
};

TEST_F(DefaultConcernsTest, AreTheServersOwnUntilTheyAreSet) {
  EXPECT_TRUE(holds(defaults(), parse(R"({"ok": 1, "defaultReadConcern": {"level": "local"},
      "defaultReadConcernSource": "implicit", "defaultWriteConcern": {"w": "majority", "wtimeout": 0},
      "defaultWriteConcernSource": "implicit"})")));
  EXPECT_FALSE(defaults().view().has("updateOpTime"));
  EXPECT_TRUE(defaults()["localUpdateWallClockTime"].is(bson::Type::kDate));
  EXPECT_TRUE(defaults(R"(, "inMemory": true)")["inMemory"].truthy());
}

TEST_F(DefaultConcernsTest, TellWhatWasSetAndWhen) {
  const bson::Document reply = run(kBoth, "admin");
  EXPECT_TRUE(holds(reply, parse(R"({"ok": 1, "defaultReadConcern": {"level": "majority"},
      "defaultReadConcernSource": "global", "defaultWriteConcern": {"w": 1, "wtimeout": 700},
      "defaultWriteConcernSource": "global"})")))
      << bson::toRelaxedJson(reply);
  EXPECT_EQ(reply["updateOpTime"].asTimestamp(), defaults()["updateOpTime"].asTimestamp());
  EXPECT_TRUE(reply["updateWallClockTime"].is(bson::Type::kDate));
  EXPECT_EQ(set(R"("defaultReadConcern": {"level": "local"})"), 0);
  EXPECT_GT(defaults()["updateOpTime"].asTimestamp(), reply["updateOpTime"].asTimestamp());
  EXPECT_TRUE(holds(defaults(), parse(R"({"defaultWriteConcern": {"w": 1, "wtimeout": 700}})"))) << "it is left alone";
  EXPECT_TRUE(holds(run(R"({"serverStatus": 1})", "admin"),
                    parse(R"({"defaultRWConcern": {"defaultReadConcernSource": "global"}})")));
}

TEST_F(DefaultConcernsTest, OnlyAReadConcernCanBeUnset) {
  ASSERT_TRUE(succeeds(kBoth, "admin"));
  EXPECT_EQ(set(R"("defaultReadConcern": {})"), 0);
  EXPECT_TRUE(holds(defaults(), parse(R"({"defaultReadConcern": {"level": "local"},
      "defaultReadConcernSource": "implicit", "defaultWriteConcernSource": "global"})")));
  EXPECT_EQ(set(R"("defaultWriteConcern": {})"), kCannotUnset);
}

TEST_F(DefaultConcernsTest, WhatFitsNoCommandOrNoMemberIsRefused) {
  EXPECT_EQ(set(""), kBadValue);
  EXPECT_EQ(set(R"("defaultReadConcern": null)"), kBadValue) << "null is nothing";
  EXPECT_EQ(set(R"("defaultWriteConcern": {"w": 0})"), kBadValue);
  EXPECT_EQ(set(R"("defaultReadConcern": {"level": "linearizable"})"), kBadValue);
  EXPECT_EQ(set(R"("defaultReadConcern": 1)"), 14);
  EXPECT_EQ(set(R"("defaultWriteConcern": {"w": 2})"), kUnsatisfiable);
  EXPECT_EQ(set(R"("defaultWriteConcern": {"w": "elsewhere"})"), kUnknownMode);
  EXPECT_EQ(set(R"("defaultWriteConcern": {"w": {"dc": 1}})"), kUnknownMode);
  EXPECT_FALSE(defaults().view().has("updateOpTime")) << "nothing was changed";
}

TEST_F(DefaultConcernsTest, HoldForCommandsThatNameNone) {
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{}]})";
  EXPECT_TRUE(
      holds(profiled(kInsert), parse(R"({"writeConcern": {"w": "majority", "provenance": "implicitDefault"}})")));
  EXPECT_TRUE(holds(profiled(R"({"find": "c"})"),
                    parse(R"({"readConcern": {"level": "local", "provenance": "implicitDefault"}})")));
  ASSERT_TRUE(succeeds(kBoth, "admin"));
  EXPECT_TRUE(
      holds(profiled(kInsert), parse(R"({"writeConcern": {"w": 1, "wtimeout": 700, "provenance": "customDefault"}})")));
  EXPECT_TRUE(holds(profiled(R"({"find": "c"})"),
                    parse(R"({"readConcern": {"level": "majority", "provenance": "customDefault"}})")));
  EXPECT_TRUE(holds(profiled(R"({"aggregate": "c", "pipeline": [], "cursor": {}, "readConcern": {"level": "local"}})"),
                    parse(R"({"readConcern": {"level": "local", "provenance": "clientSupplied"}})")));
  EXPECT_TRUE(holds(profiled(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": "majority"}})"),
                    parse(R"({"writeConcern": {"w": "majority", "wtimeout": 0, "provenance": "clientSupplied"}})")));
}

/// A read of what a majority has begins where the commit point is, whatever else this member has.
TEST_F(DefaultConcernsTest, ADefaultLevelDecidesWhatIsRead) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})"));
  ASSERT_TRUE(succeeds(kBoth, "admin"));
  server.node.advance(1s);
  server.engine->setDiskFault([](storage::DeterministicEngine::DiskOperation operation) {
    return operation == storage::DeterministicEngine::DiskOperation::kFlushLog
               ? Status(ErrorCode::kInternalError, "nothing becomes durable")
               : Status::OK();
  });
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 2}]})"));
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 1u);
  EXPECT_EQ(batch(R"({"find": "c", "readConcern": {"level": "local"}})").size(), 2u);
  EXPECT_EQ(run(R"({"count": "c", "query": {"_id": {"$gt": 0}}})")["n"].toInt64(), 1);
  EXPECT_TRUE(succeeds(R"({"aggregate": 1, "pipeline": [{"$currentOp": {}}], "cursor": {}})", "admin"))
      << "a stage that takes no other level is read as if none was set";
  EXPECT_FALSE(batch(R"({"find": "oplog.rs"})", "local").empty());
  server.engine->setDiskFault({});
}

TEST_F(DefaultConcernsTest, AWriteConcernWithoutWTakesTheDefaultOne) {
  constexpr const char* kPartial = R"({"insert": "c", "documents": [{}], "writeConcern": {"j": true}})";
  EXPECT_TRUE(holds(profiled(kPartial), parse(R"({"writeConcern": {"w": "majority", "j": true}})")));
  ASSERT_EQ(set(R"("defaultWriteConcern": {"w": 1})"), 0);
  EXPECT_TRUE(holds(profiled(kPartial), parse(R"({"writeConcern": {"w": 1, "j": true}})")));
}

TEST_F(DefaultConcernsTest, AreADocumentThatAnybodyMayChange) {
  ASSERT_TRUE(succeeds(kBoth, "admin"));
  EXPECT_EQ(batch(R"({"find": "settings", "filter": {"_id": "ReadWriteConcernDefaults"}})", "config").size(), 1u);
  ASSERT_TRUE(succeeds(R"({"update": "settings", "updates": [{"q": {"_id": "ReadWriteConcernDefaults"},
      "u": {"$set": {"defaultReadConcern": {"level": "available"}}}}]})",
                       "config"));
  EXPECT_TRUE(holds(defaults(), parse(R"({"defaultReadConcern": {"level": "available"}})")));
  ASSERT_TRUE(succeeds(R"({"delete": "settings", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  EXPECT_TRUE(holds(defaults(), parse(R"({"defaultReadConcernSource": "implicit",
                                          "defaultWriteConcernSource": "implicit"})")));
}

TEST_F(DefaultConcernsTest, AConfigDoesNotChangeTheServersOwn) {
  constexpr const char* kWithArbiter = R"({"replSetReconfig": {"_id": "rs", "version": 2, "members": [
      {"_id": 0, "host": "n1:1"}, {"_id": 1, "host": "n2:1", "arbiterOnly": true}]}})";
  EXPECT_EQ(code(kWithArbiter, "admin"), kIncompatibleConfig);
  ASSERT_EQ(set(R"("defaultWriteConcern": {"w": 1})"), 0);
  EXPECT_NE(code(kWithArbiter, "admin"), kIncompatibleConfig) << "now it is known what is wanted";
}

TEST_F(DefaultConcernsTest, AConfigDoesNotTakeAwayWhatTheyNeed) {
  const auto config = [](int version, const char* members, const char* modes, bool force = false) {
    return R"({"replSetReconfig": {"_id": "rs", "version": )" + std::to_string(version) +
           R"(, "members": [{"_id": 0, "host": "n1:1", "tags": {"dc": "east"}})" + members +
           R"(], "settings": {"getLastErrorModes": {)" + modes + R"(}}}, "force": )" + (force ? "true}" : "false}");
  };
  constexpr const char *kSafe = R"("safe": {"dc": 1})", *kNoVoter = R"(, {"_id": 1, "host": "n2:1", "votes": 0,
      "priority": 0})";
  ASSERT_EQ(code(config(2, "", kSafe), "admin"), 0);
  ASSERT_EQ(set(R"("defaultWriteConcern": {"w": "safe"})"), 0);
  const bson::Document refused = run(config(3, "", ""), "admin");
  EXPECT_EQ(refused["code"].toInt64(), kIncompatibleConfig);
  EXPECT_NE(refused["errmsg"].toStringOr().find("setDefaultRWConcern"), std::string_view::npos);
  EXPECT_EQ(code(config(3, "", R"("safe": {"dc": 2})"), "admin"), kIncompatibleConfig) << "nor as good as that";
  EXPECT_EQ(code(config(3, "", R"("safe": {"dc": 1}, "other": {"dc": 1})"), "admin"), 0);
  ASSERT_EQ(code(config(4, kNoVoter, kSafe, true), "admin"), 0);
  server.node.advance(1s);
  ASSERT_EQ(set(R"("defaultWriteConcern": {"w": 2})"), 0);
  const auto present = run(R"({"replSetGetConfig": 1})", "admin").view().at("config.version").toInt64();
  const int next = static_cast<int>(present) + 1;
  EXPECT_EQ(code(config(next, "", kSafe), "admin"), kIncompatibleConfig);
  const auto log = [this] { return bson::toRelaxedJson(run(R"({"getLog": "global"})", "admin")); };
  EXPECT_EQ(log().find("does not suit the default"), std::string::npos);
  EXPECT_EQ(code(config(next, "", kSafe, true), "admin"), 0);
  EXPECT_NE(log().find("does not suit the default"), std::string::npos);
  server.node.advance(1s);
  const auto forced = run(R"({"replSetGetConfig": 1})", "admin").view().at("config.version").toInt64();
  EXPECT_EQ(code(config(static_cast<int>(forced) + 1, "", ""), "admin"), 0) << "it takes nothing away any more";
}

TEST_F(DefaultConcernsTest, OutliveTheProcess) {
  ASSERT_TRUE(succeeds(R"({"setDefaultRWConcern": 1, "defaultReadConcern": {"level": "majority"},
                           "writeConcern": {"w": "majority", "j": true}})",
                       "admin"));
  CommandNode after({.disk = server.engine->disk(), .name = "n1:1", .replicaSet = "rs"});
  EXPECT_TRUE(holds(after.run(R"({"getDefaultRWConcern": 1})"_json, "admin"),
                    parse(R"({"defaultReadConcern": {"level": "majority"}, "defaultReadConcernSource": "global"})")));
}

TEST_F(DefaultConcernsTest, AViewInThePlaceOfTheSettingsSetsNone) {
  ASSERT_TRUE(succeeds(R"({"create": "settings", "viewOn": "c", "pipeline": [],
                           "writeConcern": {"w": "majority", "j": true}})",
                       "config"));
  CommandNode after({.disk = server.engine->disk(), .name = "n1:1", .replicaSet = "rs"});
  untilPrimary(after);
  EXPECT_TRUE(after.run(R"({"insert": "c", "documents": [{}]})"_json)["ok"].truthy());
  EXPECT_TRUE(holds(after.run(R"({"getDefaultRWConcern": 1})"_json, "admin"),
                    parse(R"({"ok": 1, "defaultWriteConcernSource": "implicit"})")));
  EXPECT_TRUE(after.run(R"({"drop": "settings"})"_json, "config")["ok"].truthy()) << "and can be mended";
}

TEST(DefaultConcernsElsewhere, BelongToASetAndAreSetOnItsPrimary) {
  CommandNode alone;
  for (const char* command : {kBoth, R"({"getDefaultRWConcern": 1})"})
    EXPECT_EQ(alone.run(*bson::fromJson(command), "admin")["code"].toInt64(), kStandalone);
  CommandNode member({.name = "n1:1", .replicaSet = "rs"});
  EXPECT_EQ(member.run(*bson::fromJson(kBoth), "admin")["code"].toInt64(), kNotPrimary);
  EXPECT_TRUE(member.run(R"({"getDefaultRWConcern": 1})"_json, "admin")["ok"].truthy());
}

}  // namespace troupe::commands
