// What clients reach through views, pipelines, explanations, UUIDs and cursors needs the privileges of what they reach.
#include "actors/server/namespace_resolution.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::commands {
using namespace server;

using auth::Action;

class NamespaceResolutionTest : public CommandTest {
 protected:
  NamespaceResolutionTest() : CommandTest({.authentication = true}) {
    root_ = with({{{.kind = auth::ResourcePattern::Kind::kAny}, auth::ActionSet().set()}});
    EXPECT_EQ(codeAs(root_, R"({"insert": "c", "documents": [{"_id": 1, "v": "open", "pin": "4711"}]})", "shop"), 0);
    EXPECT_EQ(codeAs(root_, R"({"insert": "c", "documents": [{"_id": 1, "v": "secret"}]})", "vault"), 0);
  }

  /// A client whose user has these privileges.
  std::shared_ptr<Client> with(std::vector<auth::Privilege> privileges) {
    AuthenticatedUser user{.name = "u" + std::to_string(++users_), .database = "admin", .internal = true};
    for (const auto& privilege : privileges) user.privileges.add(privilege.resource, privilege.actions);
    auto client = server.connect(false);
    client->users.push_back(std::move(user));
    return client;
  }
  static auth::Privilege on(std::string_view db, std::string_view collection, std::initializer_list<Action> actions) {
    return {{.database = std::string(db), .collection = std::string(collection)}, auth::actions(actions)};
  }
  std::shared_ptr<Client> withRole(std::string_view role, std::string_view db) {
    auto client = with({});
    EXPECT_TRUE(client->users.front().privileges.addRole(role, db).isOK());
    return client;
  }
  int64_t codeAs(const std::shared_ptr<Client>& client, std::string_view json, std::string_view db = "shop") {
    const bson::Document reply = server.run(parse(json), db, client);
    if (!reply["ok"].truthy()) return reply["code"].toInt64(-1);
    const auto first = reply.view().at("writeErrors.0.code");
    return first.ok() ? first.toInt64() : 0;
  }
  std::string textAs(const std::shared_ptr<Client>& client, std::string_view json, std::string_view db = "shop") {
    return bson::toRelaxedJson(server.run(parse(json), db, client));
  }

  std::shared_ptr<Client> root_;
  int users_ = 0;
};

TEST_F(NamespaceResolutionTest, AViewIsMadeOnlyOverWhatItsMakerMayFind) {
  const auto writer = withRole("readWrite", "shop");
  EXPECT_EQ(codeAs(writer, R"({"create": "v", "viewOn": "c", "pipeline": []})"), 0);
  EXPECT_EQ(codeAs(writer, R"({"create": "v1", "viewOn": "system.users", "pipeline": []})"), 13);
  EXPECT_EQ(codeAs(withRole("readWrite", "admin"), R"({"create": "v", "viewOn": "system.users"})", "admin"), 13);
  const auto joined = R"([{"$lookup": {"from": {"db": "vault", "coll": "c"}, "as": "x", "pipeline": []}}])";
  EXPECT_EQ(codeAs(writer, std::string(R"({"create": "v2", "viewOn": "c", "pipeline": )") + joined + "}"), 13);
  EXPECT_EQ(codeAs(writer, R"({"create": "v3", "viewOn": "c", "pipeline": [{"$facet": {"a": [{"$unionWith":
              {"coll": "c", "pipeline": [{"$lookup": {"from": "system.users", "as": "x", "pipeline": []}}]}}]}}]})"),
            13);
  EXPECT_EQ(codeAs(with({on("shop", "", {Action::kCreateCollection})}), R"({"create": "v4", "viewOn": "c"})"), 13);
}

TEST_F(NamespaceResolutionTest, AViewIsNotTurnedToWhatTheClientMayNotFind) {
  ASSERT_EQ(codeAs(root_, R"({"create": "v", "viewOn": "c", "pipeline": [{"$project": {"v": 1}}]})"), 0);
  const auto owner = withRole("dbOwner", "shop");
  EXPECT_EQ(codeAs(owner, R"({"collMod": "v", "viewOn": "system.users", "pipeline": []})"), 13);
  EXPECT_EQ(codeAs(owner, R"({"collMod": "v", "viewOn": "c", "pipeline": [{"$lookup":
              {"from": {"db": "vault", "coll": "c"}, "as": "x", "pipeline": []}}]})"),
            13);
  EXPECT_EQ(codeAs(owner, R"({"collMod": "v", "viewOn": "c", "pipeline": [{"$out": "d"}]})"), 167);
  EXPECT_EQ(codeAs(owner, R"({"collMod": "v", "viewOn": "c", "pipeline": [{"$match": {}}]})"), 0);
  EXPECT_EQ(codeAs(withRole("dbAdmin", "shop"), R"({"collMod": "v", "pipeline": []})"), 13) << "may not find";
}

TEST_F(NamespaceResolutionTest, AViewIsReadByThoseWhoMayFindTheViewAlone) {
  ASSERT_EQ(codeAs(root_, R"({"create": "v", "viewOn": "c", "pipeline": [{"$lookup": {"from": {"db": "vault",
              "coll": "c"}, "localField": "_id", "foreignField": "_id", "as": "x"}}, {"$unset": "pin"}]})"),
            0);
  ASSERT_EQ(codeAs(root_, R"({"create": "w", "viewOn": "v", "pipeline": []})"), 0);
  for (const std::string name : {"v", "w"}) {
    const auto reader = with({on("shop", name, {Action::kFind})});
    EXPECT_NE(textAs(reader, R"({"find": ")" + name + R"("})").find("secret"), std::string::npos);
    EXPECT_EQ(codeAs(reader, R"({"count": ")" + name + R"("})"), 0);
    EXPECT_EQ(codeAs(reader, R"({"distinct": ")" + name + R"(", "key": "v"})"), 0);
    EXPECT_EQ(codeAs(reader, R"({"find": "c"})"), 13);
    const auto aggregate = [&](const std::string& stage) {
      return R"({"aggregate": ")" + name + R"(", "cursor": {}, "pipeline": [)" + stage + "]}";
    };
    EXPECT_EQ(codeAs(reader, aggregate(R"({"$match": {}})")), 0);
    EXPECT_EQ(codeAs(reader, aggregate(R"({"$lookup": {"from": ")" + name + R"(", "as": "y", "pipeline": []}})")), 0);
    EXPECT_EQ(codeAs(reader, aggregate(R"({"$lookup": {"from": "c", "as": "y", "pipeline": []}})")), 13)
        << "the view joins it, the client may not";
    EXPECT_EQ(codeAs(reader, aggregate(R"({"$unionWith": {"coll": "c"}})")), 13);
    EXPECT_EQ(codeAs(reader, aggregate(R"({"$out": "copy"})")), 13);
    EXPECT_EQ(codeAs(reader, aggregate(R"({"$collStats": {"count": {}}})")), 13);
    EXPECT_EQ(codeAs(root_, aggregate(R"({"$collStats": {"count": {}}})")), 166) << "nobody sees what is below";
  }
}

TEST_F(NamespaceResolutionTest, AUuidNeedsTheRightsOnTheNameThatItStandsFor) {
  const bson::Uuid uuid = server.catalog->find({"shop", "c"})->uuid();
  const auto nameless = with({on("shop", "", {Action::kUseUuid})});
  const auto finder = with({on("shop", "c", {Action::kFind, Action::kListIndexes})});
  const auto both = with({on("shop", "", {Action::kUseUuid}), on("shop", "c", {Action::kFind, Action::kListIndexes})});
  const auto codeOf = [&](const std::shared_ptr<Client>& client, const bson::Document& command) {
    return server.run(command, "shop", client)["code"].toInt64();
  };
  for (const bson::Document& command : {bson::doc("find", uuid), bson::doc("count", uuid),
                                        bson::doc("distinct", uuid, "key", "v"), bson::doc("listIndexes", uuid)}) {
    EXPECT_EQ(codeOf(nameless, command), 13) << bson::toRelaxedJson(command);
    EXPECT_EQ(codeOf(finder, command), 13) << bson::toRelaxedJson(command);
    EXPECT_EQ(codeOf(both, command), 0) << bson::toRelaxedJson(command);
  }
  EXPECT_EQ(codeOf(nameless, bson::doc("find", uuid, "limit", "x")), 13) << "rights come before arguments";
  EXPECT_EQ(codeOf(both, bson::doc("find", uuid, "limit", "x")), 14);
}

TEST_F(NamespaceResolutionTest, AUuidWhoseCollectionIsRenamedOnTheWayNeedsTheRightsOnItsNewName) {
  const bson::Uuid uuid = server.catalog->find({"shop", "c"})->uuid();
  const auto client = with({on("shop", "", {Action::kUseUuid}), on("shop", "c", {Action::kFind})});
  const auto findDuring = [&](const auto& meanwhile) {
    EXPECT_EQ(codeAs(root_, R"({"configureFailPoint": "failCommand", "mode": {"times": 1}, "data":
                {"failCommands": ["find"], "blockConnection": true, "blockTimeMS": 500}})",
                     "admin"),
              0);
    const auto find = server.begin(bson::doc("find", uuid), "shop", client);
    EXPECT_FALSE(find->done) << "its rights have been checked";
    meanwhile();
    server.node.advance(1s);
    EXPECT_TRUE(find->done);
    return find->done ? find->takeReply()["code"].toInt64() : -1;
  };
  EXPECT_EQ(findDuring([] {}), 0);
  EXPECT_EQ(findDuring([&] {
              EXPECT_EQ(codeAs(root_, R"({"renameCollection": "shop.c", "to": "shop.hidden"})", "admin"), 0);
            }),
            13);
}

TEST_F(NamespaceResolutionTest, AnExplanationNeedsWhatTheCommandNeeds) {
  const auto reader = withRole("read", "shop");
  const auto explain = [](const std::string& command) { return R"({"explain": )" + command + "}"; };
  EXPECT_EQ(codeAs(reader, explain(R"({"find": "c"})")), 0);
  EXPECT_EQ(codeAs(reader, explain(R"({"find": "system.users"})")), 13);
  EXPECT_EQ(codeAs(reader, explain(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}}]})")), 13);
  EXPECT_EQ(codeAs(reader, explain(R"({"delete": "c", "deletes": [{"q": {}, "limit": 1}]})")), 13);
  EXPECT_EQ(codeAs(reader, explain(R"({"findAndModify": "c", "remove": true})")), 13);
  const std::string join = R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$lookup":
      {"from": {"db": "vault", "coll": "c"}, "as": "x", "pipeline": []}}])";
  EXPECT_EQ(codeAs(reader, explain(join + "}")), 13);
  EXPECT_EQ(codeAs(reader, join + R"(, "explain": true})"), 13);
  EXPECT_EQ(codeAs(root_, explain(join + "}")), 0);
}

TEST_F(NamespaceResolutionTest, ASourceNeedsItsOwnPrivilegeWhereverItStands) {
  const auto finder = with({on("shop", "c", {Action::kFind})});
  const auto statistics = R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$collStats": {"count": {}}}]})";
  const auto below = R"({"aggregate": "c", "cursor": {}, "pipeline":
      [{"$unionWith": {"coll": "c", "pipeline": [{"$indexStats": {}}]}}]})";
  EXPECT_EQ(codeAs(finder, statistics), 13);
  EXPECT_EQ(codeAs(finder, below), 13);
  EXPECT_EQ(codeAs(with({on("shop", "c", {Action::kCollStats})}), statistics), 0) << "no document is read";
  EXPECT_EQ(codeAs(with({on("shop", "c", {Action::kFind, Action::kIndexStats})}), below), 0);
}

TEST_F(NamespaceResolutionTest, AnOutputNeedsWhatItDoesToItsTarget) {
  const auto merge = [](const std::string& how) {
    return R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$merge": {"into": "t")" + how + "}}]}";
  };
  const auto allowed = [&](std::initializer_list<Action> actions) {
    return with({on("shop", "c", {Action::kFind}), on("shop", "t", actions)});
  };
  ASSERT_EQ(codeAs(root_, R"({"create": "t"})"), 0);
  EXPECT_EQ(codeAs(allowed({Action::kInsert}), merge("")), 13);
  EXPECT_EQ(codeAs(allowed({Action::kUpdate}), merge("")), 13);
  EXPECT_EQ(codeAs(allowed({Action::kInsert, Action::kUpdate}), merge("")), 0);
  EXPECT_EQ(codeAs(allowed({Action::kUpdate}), merge(R"(, "whenNotMatched": "discard")")), 0);
  EXPECT_EQ(codeAs(allowed({Action::kInsert}), merge(R"(, "whenMatched": "fail")")), 11000);
  const auto out = R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$out": "t"}]})";
  EXPECT_EQ(codeAs(allowed({Action::kInsert}), out), 13);
  EXPECT_EQ(codeAs(allowed({Action::kInsert, Action::kRemove}), out), 0);
  const auto bypass = R"({"aggregate": "c", "cursor": {}, "pipeline": [{"$out": "t"}],
                          "bypassDocumentValidation": true})";
  EXPECT_EQ(codeAs(allowed({Action::kInsert, Action::kRemove}), bypass), 13);
}

TEST_F(NamespaceResolutionTest, WritesNeedWhatTheirArgumentsAskFor) {
  const auto inserter = with({on("shop", "c", {Action::kInsert})});
  const auto updater = with({on("shop", "c", {Action::kUpdate})});
  const auto upsert = R"({"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$set": {"a": 1}}, "upsert": true}]})";
  EXPECT_EQ(codeAs(updater, upsert), 13);
  EXPECT_EQ(codeAs(with({on("shop", "c", {Action::kUpdate, Action::kInsert})}), upsert), 0);
  EXPECT_EQ(codeAs(inserter, R"({"insert": "c", "documents": [{}], "bypassDocumentValidation": true})"), 13);
  EXPECT_EQ(codeAs(updater, R"({"findAndModify": "c", "update": {"$set": {"a": 1}}})"), 13) << "it shows a document";
  const auto remove = R"({"findAndModify": "c", "query": {"_id": 9}, "remove": true})";
  EXPECT_EQ(codeAs(with({on("shop", "c", {Action::kFind, Action::kUpdate})}), remove), 13);
  EXPECT_EQ(codeAs(with({on("shop", "c", {Action::kFind, Action::kRemove})}), remove), 0);
}

TEST_F(NamespaceResolutionTest, ANameInAnArgumentIsNoWayIntoAnotherDatabase) {
  const auto admin = withRole("dbAdmin", "shop");
  EXPECT_EQ(codeAs(admin, R"({"dataSize": "vault.c"})"), 13);
  EXPECT_EQ(codeAs(withRole("read", "vault"), R"({"dataSize": "vault.c"})"), 0);
  EXPECT_EQ(codeAs(admin, R"({"renameCollection": "vault.c", "to": "shop.d"})", "admin"), 13);
  EXPECT_EQ(codeAs(admin, R"({"renameCollection": "shop.c", "to": "shop.system.js"})", "admin"), 13);
  ASSERT_EQ(codeAs(root_, R"({"insert": "d", "documents": [{}]})"), 0);
  const auto renamer = withRole("readWrite", "shop");
  EXPECT_EQ(codeAs(renamer, R"({"renameCollection": "shop.c", "to": "shop.e"})", "admin"), 0);
  const auto careful = with({on("shop", "", {Action::kRenameCollectionSameDb})});
  EXPECT_EQ(codeAs(careful, R"({"renameCollection": "shop.e", "to": "shop.d", "dropTarget": true})", "admin"), 13);
  EXPECT_EQ(codeAs(careful, R"({"renameCollection": "shop.e", "to": "shop.f"})", "admin"), 0);
  const auto reader = with({on("shop", "", {Action::kRenameCollectionSameDb}), on("shop", "g", {Action::kFind})});
  EXPECT_EQ(codeAs(reader, R"({"renameCollection": "shop.f", "to": "shop.g"})", "admin"), 13) << "to be read there";
}

TEST_F(NamespaceResolutionTest, EachBatchOfACursorNeedsThePrivilegesAgain) {
  ASSERT_EQ(codeAs(root_, R"({"insert": "many", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]})"), 0);
  for (const std::string open : {R"({"find": "many", "batchSize": 1})",
                                 R"({"aggregate": "c", "cursor": {"batchSize": 1}, "pipeline":
                                     [{"$unionWith": {"coll": "many"}}]})"}) {
    ASSERT_EQ(codeAs(root_, R"({"createUser": "ann", "pwd": "x", "roles": [{"role": "read", "db": "shop"}]})", "admin"),
              0);
    auto ann = server.connect();
    ann->users.push_back(std::move(**server.users->load("ann", "admin")));
    const auto cursor = server.run(parse(open), "shop", ann).view().at("cursor.id").toInt64();
    const std::string collection = open.find("aggregate") == std::string::npos ? "many" : "c";
    const auto more = bson::doc("getMore", cursor, "collection", collection, "batchSize", 1);
    EXPECT_TRUE(server.run(more, "shop", ann)["ok"].truthy());
    ASSERT_EQ(codeAs(root_, R"({"updateUser": "ann", "roles": []})", "admin"), 0);
    EXPECT_EQ(server.run(more, "shop", ann)["code"].toInt64(), 13);
    ASSERT_EQ(codeAs(root_, R"({"updateUser": "ann", "roles": [{"role": "read", "db": "shop"}]})", "admin"), 0);
    EXPECT_TRUE(server.run(more, "shop", ann)["ok"].truthy()) << "the cursor has stayed";
    ASSERT_EQ(codeAs(root_, R"({"dropUser": "ann"})", "admin"), 0);
  }
}

/// A reader whose commands can be held up behind the check of their rights.
class WaitingReaderTest : public NamespaceResolutionTest {
 protected:
  WaitingReaderTest() {
    EXPECT_EQ(codeAs(root_, R"({"insert": "many", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}, {"_id": 4}]})"), 0);
    EXPECT_EQ(codeAs(root_, R"({"createUser": "ann", "pwd": "x", "roles": [{"role": "read", "db": "shop"}]})", "admin"),
              0);
    ann_->users.push_back(std::move(**server.users->load("ann", "admin")));
  }
  /// The reply of a command during which the rights are revoked.
  bson::Document whileRightsGo(bson::View command) {
    const auto hold = bson::doc("configureFailPoint", "failCommand", "mode", bson::doc("times", 1), "data",
                                bson::doc("failCommands", std::vector<std::string>{std::string(command.first().name())},
                                          "blockConnection", true, "blockTimeMS", 500));
    EXPECT_TRUE(server.run(hold, "admin", root_)["ok"].truthy());
    const auto waiting = server.begin(command, "shop", ann_);
    EXPECT_FALSE(waiting->done) << "its rights have been checked";
    EXPECT_EQ(codeAs(root_, R"({"updateUser": "ann", "roles": []})", "admin"), 0);
    server.node.advance(1s);
    EXPECT_TRUE(waiting->done);
    return waiting->done ? waiting->takeReply() : bson::Document();
  }
  bson::Document more(const bson::Document& opened) {
    return bson::doc("getMore", opened.view().at("cursor.id").toInt64(), "collection", "many", "batchSize", 1);
  }

  const bson::Document find_ = parse(R"({"find": "many", "batchSize": 1})");
  std::shared_ptr<Client> ann_ = server.connect();
};

TEST_F(WaitingReaderTest, ACursorDoesNotOutliveRightsThatGoWhileItsCommandWaits) {
  const auto opened = whileRightsGo(find_);
  ASSERT_NE(opened.view().at("cursor.id").toInt64(), 0) << bson::toRelaxedJson(opened);
  EXPECT_EQ(server.run(more(opened), "shop", ann_)["code"].toInt64(), 13);
}

TEST_F(WaitingReaderTest, ABatchThatWaitedHasNotCheckedTheRightsOfLater) {
  const auto opened = server.run(find_, "shop", ann_);
  ASSERT_EQ(codeAs(root_, R"({"createUser": "bob", "pwd": "x", "roles": []})", "admin"), 0);
  const auto batch = whileRightsGo(more(opened));
  EXPECT_TRUE(batch["ok"].truthy()) << "its rights were checked again when it came: " << bson::toRelaxedJson(batch);
  EXPECT_EQ(server.run(more(opened), "shop", ann_)["code"].toInt64(), 13);
}

TEST_F(NamespaceResolutionTest, EachBatchNeedsTheRightsOnTheClusterAndTheDatabaseAgain) {
  const std::string role = R"({"createRole": "looker", "roles": [], "privileges": [
      {"resource": {"cluster": true}, "actions": ["inprog", "listSessions", "viewActors"]},
      {"resource": {"db": "shop", "collection": ""}, "actions": ["listCollections"]}]})";
  ASSERT_EQ(codeAs(root_, role, "admin"), 0);
  ASSERT_EQ(codeAs(root_, R"({"insert": "d", "documents": [{}]})"), 0);
  for (const char id : {'a', 'b', 'c'})
    ASSERT_TRUE(
        server
            .run(bson::doc("ping", 1, "lsid", bson::doc("id", bson::Binary{bson::kBinaryUuid, std::string(16, id)})),
                 "admin", root_)["ok"]
            .truthy());
  ASSERT_EQ(codeAs(root_, R"({"refreshLogicalSessionCacheNow": 1})", "admin"), 0);
  const std::pair<const char*, std::string> opens[] = {
      {"config", R"({"aggregate": "system.sessions", "pipeline": [{"$listSessions": {"allUsers": true}}],)"},
      {"admin", R"({"aggregate": 1, "pipeline": [{"$listLocalSessions": {"allUsers": true}}],)"},
      {"admin", R"({"aggregate": 1, "pipeline": [{"$currentOp": {"allUsers": true, "idleConnections": true}}],)"},
      {"admin", R"({"aggregate": 1, "pipeline": [{"$listCatalog": {}}],)"},
      {"shop", R"({"listCollections": 1,)"}};
  for (const auto& [db, open] : opens) {
    ASSERT_EQ(codeAs(root_, R"({"createUser": "ann", "pwd": "x", "roles": ["looker"]})", "admin"), 0);
    auto ann = server.connect();
    ann->users.push_back(std::move(**server.users->load("ann", "admin")));
    const auto reply = server.run(parse(open + R"("cursor": {"batchSize": 1}})"), db, ann);
    const auto cursor = reply.view().at("cursor.id").toInt64();
    ASSERT_NE(cursor, 0) << open << bson::toRelaxedJson(reply);
    const std::string ns(reply.view().at("cursor.ns").toStringOr());
    const auto more = bson::doc("getMore", cursor, "collection", ns.substr(ns.find('.') + 1), "batchSize", 1);
    ASSERT_EQ(codeAs(root_, R"({"updateUser": "ann", "roles": []})", "admin"), 0);
    EXPECT_EQ(server.run(more, db, ann)["code"].toInt64(), 13) << open;
    ASSERT_EQ(codeAs(root_, R"({"updateUser": "ann", "roles": ["looker"]})", "admin"), 0);
    EXPECT_TRUE(server.run(more, db, ann)["ok"].truthy()) << open;
    ASSERT_EQ(codeAs(root_, R"({"dropUser": "ann"})", "admin"), 0);
  }
}

TEST_F(NamespaceResolutionTest, OwnSessionsNeedNoRightOnTheCluster) {
  const std::string role = R"({"createRole": "looker", "roles": [], "privileges": [
      {"resource": {"cluster": true}, "actions": ["listSessions"]}]})";
  ASSERT_EQ(codeAs(root_, role, "admin"), 0);
  ASSERT_EQ(codeAs(root_, R"({"createUser": "ann", "pwd": "x", "roles": ["looker"]})", "admin"), 0);
  auto ann = server.connect();
  ann->users.push_back(std::move(**server.users->load("ann", "admin")));
  ann->usersChanged();
  for (const char id : {'a', 'b'})
    ASSERT_TRUE(
        server
            .run(bson::doc("ping", 1, "lsid", bson::doc("id", bson::Binary{bson::kBinaryUuid, std::string(16, id)})),
                 "admin", ann)["ok"]
            .truthy());
  const auto reply = server.run(
      parse(R"({"aggregate": 1, "pipeline": [{"$listLocalSessions": {}}], "cursor": {"batchSize": 1}})"), "admin", ann);
  const auto cursor = reply.view().at("cursor.id").toInt64();
  ASSERT_NE(cursor, 0) << bson::toRelaxedJson(reply);
  ASSERT_EQ(codeAs(root_, R"({"updateUser": "ann", "roles": []})", "admin"), 0);
  EXPECT_TRUE(
      server.run(bson::doc("getMore", cursor, "collection", "$cmd.aggregate", "batchSize", 1), "admin", ann)["ok"]
          .truthy());
}

TEST_F(NamespaceResolutionTest, ErrorsKeepBackValuesThatTheClientMayNotFind) {
  ASSERT_EQ(codeAs(root_, R"({"createIndexes": "c", "indexes": [{"key": {"u": 1}, "name": "u", "unique": true}]})"), 0);
  ASSERT_EQ(codeAs(root_, R"({"insert": "c", "documents": [{"_id": 2, "u": "4711"}]})"), 0);
  const auto moved = R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$rename": {"pin": "u"}}}]})";
  const auto updater = with({on("shop", "c", {Action::kUpdate})});
  EXPECT_EQ(codeAs(updater, moved), 11000);
  EXPECT_EQ(textAs(updater, moved).find("4711"), std::string::npos) << textAs(updater, moved);
  EXPECT_NE(textAs(root_, moved).find("4711"), std::string::npos) << "those who may find it are told";
  const auto converted = R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": [{"$set": {"n": {"$toInt": "$v"}}}]}]})";
  EXPECT_NE(textAs(root_, converted).find("open"), std::string::npos);
  EXPECT_EQ(textAs(updater, converted).find("open"), std::string::npos);
  const auto indexer = with({on("shop", "", {Action::kCreateIndex})});
  ASSERT_EQ(
      codeAs(root_,
             R"({"insert": "c", "documents": [{"_id": 3, "u": 3, "v": "twice"}, {"_id": 4, "u": 4, "v": "twice"}]})"),
      0);
  const auto unique = R"({"createIndexes": "c", "indexes": [{"key": {"v": 1}, "name": "v", "unique": true}]})";
  EXPECT_NE(textAs(root_, unique).find("twice"), std::string::npos);
  EXPECT_EQ(textAs(indexer, unique).find("twice"), std::string::npos);
}

TEST_F(NamespaceResolutionTest, ErrorsOfAViewKeepBackWhatTheViewHides) {
  ASSERT_EQ(codeAs(root_, R"({"create": "v", "viewOn": "c", "pipeline":
              [{"$set": {"n": {"$toInt": "$v"}}}, {"$unset": "v"}]})"),
            0);
  const auto reader = with({on("shop", "v", {Action::kFind}), on("shop", "plain", {Action::kFind})});
  ASSERT_EQ(codeAs(root_, R"({"insert": "plain", "documents": [{"_id": 1}]})"), 0);
  for (const auto read : {R"({"find": "v"})", R"({"aggregate": "plain", "cursor": {}, "pipeline":
                            [{"$lookup": {"from": "v", "as": "x", "pipeline": []}}]})"}) {
    EXPECT_EQ(codeAs(reader, read), 241);
    EXPECT_EQ(textAs(reader, read).find("open"), std::string::npos) << textAs(reader, read);
    EXPECT_NE(textAs(root_, read).find("open"), std::string::npos);
  }
  EXPECT_NE(textAs(reader, R"({"find": "v", "filter": {"$nope": 1}})").find("$nope"), std::string::npos)
      << "the client's own mistakes are told";
}

TEST_F(NamespaceResolutionTest, NamesAreListedForThoseWhoMayUseThem) {
  const auto reader = with({on("shop", "c", {Action::kFind})});
  ASSERT_EQ(codeAs(root_, R"({"create": "hidden"})"), 0);
  EXPECT_EQ(codeAs(reader, R"({"listCollections": 1})"), 13);
  EXPECT_EQ(codeAs(reader, R"({"listCollections": 1, "nameOnly": true})"), 13);
  const auto names = textAs(reader, R"({"listCollections": 1, "nameOnly": true, "authorizedCollections": true})");
  EXPECT_NE(names.find(R"("c")"), std::string::npos) << names;
  EXPECT_EQ(names.find("hidden"), std::string::npos);
  EXPECT_EQ(textAs(reader, R"({"listDatabases": 1})", "admin").find("vault"), std::string::npos);
  EXPECT_EQ(codeAs(reader, R"({"listDatabases": 1, "authorizedDatabases": false})", "admin"), 13);
}

}  // namespace troupe::commands
