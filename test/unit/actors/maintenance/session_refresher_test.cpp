// The jobs of sessions on whole nodes: what a refresh writes, deletes and forgets, and what a reap removes.
#include "actors/maintenance/session_refresher.hpp"

#include "actors/maintenance/session_reaper.hpp"
#include "actors/server/session_catalog.hpp"
#include "supervisors/assembly/linked_members.hpp"
#include "test/unit/actors/commands/primary_node.hpp"

namespace troupe::maintenance {

using namespace std::chrono_literals;
using bson::operator""_json;
using commands::CommandNode;
using commands::holds;
using server::SessionKey;

class SessionRefresherTest : public commands::CommandTest {
 protected:
  SessionRefresherTest() = default;
  explicit SessionRefresherTest(CommandNode::Options options) : CommandTest(std::move(options)) {}

  static bson::Document lsid(char byte) {
    return bson::doc("id", bson::Binary{bson::kBinaryUuid, std::string(16, byte)});
  }
  static SessionKey key(char byte) { return {std::string(16, byte), {}}; }
  void use(char byte) { ASSERT_TRUE(server.run(bson::doc("ping", 1, "lsid", lsid(byte)))["ok"].truthy()); }
  void end(char byte) {
    bson::Builder b;
    b.openArray("endSessions").push(lsid(byte)).close();
    ASSERT_TRUE(server.run(b.finish(), "admin")["ok"].truthy());
  }
  void refresh() {
    const auto reply = run(R"({"refreshLogicalSessionCacheNow": 1})", "admin");
    ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  }
  std::vector<bson::Document> stored() {
    const auto reply = run(R"({"find": "system.sessions", "sort": {"_id": 1}})", "config");
    std::vector<bson::Document> documents;
    for (const bson::Element& e : reply.view().at("cursor.firstBatch").asArray())
      documents.emplace_back(e.asDocument());
    return documents;
  }
  /// Ids of the sessions in the collection, as letters.
  std::string letters() {
    std::string text;
    for (const auto& document : stored()) text += document.view().at("_id.id").asBinary().bytes.front();
    return text;
  }
  /// Opens a cursor in the session.
  void open(char byte) {
    const auto reply = server.run(bson::doc("find", "c", "batchSize", 1, "noCursorTimeout", true, "lsid", lsid(byte)));
    ASSERT_NE(reply.view().at("cursor.id").toInt64(), 0);
  }
  int64_t cursors() { return server.cursors.statistics().open; }
  bson::Document figures() {
    return bson::Document(run(R"({"serverStatus": 1})", "admin").view().at("logicalSessionRecordCache").asDocument());
  }
  /// As another member does, or the index of the collection.
  void removeStored(char byte) {
    SessionsCollection collection(*server.server, supervisors::linkedMembers(server.node));
    std::vector<SessionKey> keys{key(byte)};
    Status removed(ErrorCode::kMaxTimeMSExpired, "it did not end");
    const auto work = [](SessionsCollection* from, std::vector<SessionKey> which, Status* outcome) -> Task<void> {
      *outcome = co_await from->remove(std::move(which));
    };
    server.node.start(work(&collection, std::move(keys), &removed));
    for (int steps = 0; !removed.isOK() && steps < 100; ++steps) server.node.advance(10ms);
    ASSERT_TRUE(removed.isOK()) << removed.toString();
  }
};

TEST_F(SessionRefresherTest, UsedSessionsAreWrittenWithTheTimeOfTheServer) {
  use('a');
  use('b');
  server.node.advance(10s);
  const int64_t now = server.wallMillis();
  refresh();
  EXPECT_EQ(letters(), "ab");
  const auto documents = stored();
  EXPECT_NEAR(static_cast<double>(documents[0]["lastUse"].asDate().millis), static_cast<double>(now), 1000);
  EXPECT_EQ(documents[0].view().at("_id.uid").asBinary().bytes, SessionKey::nobody());
  EXPECT_FALSE(documents[0]["user"].ok()) << "nobody has logged in";
  EXPECT_TRUE(holds(figures(), R"({"sessionsCollectionJobCount": 1, "lastSessionsCollectionJobEntriesRefreshed": 2,
                                   "activeSessionsCount": 2, "sessionsCollectionJobFailures": 0})"_json));
  refresh();
  EXPECT_EQ(figures()["lastSessionsCollectionJobEntriesRefreshed"].toInt64(), 0) << "nobody has used them since";
}

TEST_F(SessionRefresherTest, TheIndexTimesThemOut) {
  use('a');
  refresh();
  const auto reply = run(R"({"listIndexes": "system.sessions"})", "config");
  bool found = false;
  for (const bson::Element& e : reply.view().at("cursor.firstBatch").asArray())
    found |= static_cast<bool>(
        holds(e.asDocument(), R"({"name": "lsidTTLIndex", "key": {"lastUse": 1}, "expireAfterSeconds": 1800})"_json));
  EXPECT_TRUE(found) << bson::toRelaxedJson(reply);
  server.parameters.sessionTimeoutMinutes = 1;  // as after a restart with another setting
  use('a');
  refresh();
  const auto changed = run(R"({"listIndexes": "system.sessions"})", "config");
  EXPECT_NE(bson::toRelaxedJson(changed).find("\"expireAfterSeconds\" : 60"), std::string::npos)
      << bson::toRelaxedJson(changed);
}

TEST_F(SessionRefresherTest, EndedSessionsAreDeleted) {
  use('a');
  use('b');
  refresh();
  end('a');
  end('c');  // of which this node has never heard
  refresh();
  EXPECT_EQ(letters(), "b");
  EXPECT_EQ(figures()["lastSessionsCollectionJobEntriesEnded"].toInt64(), 2);
}

TEST_F(SessionRefresherTest, WhatIsGoneFromTheCollectionIsForgottenWithItsCursors) {
  fill("c", 5);
  open('a');
  open('b');
  refresh();
  removeStored('a');
  removeStored('b');
  use('b');  // since then
  refresh();
  EXPECT_FALSE(server.sessions.contains(key('a')));
  EXPECT_TRUE(server.sessions.contains(key('b')));
  EXPECT_EQ(letters(), "b");
  EXPECT_EQ(cursors(), 1);
  EXPECT_EQ(figures()["lastSessionsCollectionJobCursorsClosed"].toInt64(), 1);
}

TEST_F(SessionRefresherTest, SessionsOfRunningOperationsStay) {
  ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                           "data": {"failCommands": ["find"], "failInternalCommands": true, "blockConnection": true, "blockTimeMS": 600000}})",
                       "admin"));
  const auto slow = server.begin(bson::doc("find", "c", "lsid", lsid('a')), "test", server.connect());
  ASSERT_FALSE(slow->done);
  refresh();
  removeStored('a');
  refresh();
  EXPECT_TRUE(server.sessions.contains(key('a')));
  EXPECT_EQ(letters(), "a") << "it counts as used";
  slow->operation.kill(ErrorCode::kInterrupted);
  server.node.advance(1s);
  EXPECT_TRUE(slow->done);
}

TEST_F(SessionRefresherTest, AFailedRefreshKeepsItsWork) {
  use('a');
  end('b');
  ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn",
                           "data": {"failCommands": ["update"], "failInternalCommands": true, "errorCode": 91}})",
                       "admin"));
  EXPECT_EQ(code(R"({"refreshLogicalSessionCacheNow": 1})", "admin"), 91);
  EXPECT_EQ(figures()["sessionsCollectionJobFailures"].toInt64(), 1);
  EXPECT_EQ(letters(), "");
  ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": "off"})", "admin"));
  refresh();
  EXPECT_EQ(letters(), "a");
  EXPECT_EQ(figures()["lastSessionsCollectionJobEntriesEnded"].toInt64(), 1);
}

TEST_F(SessionRefresherTest, ItComesByItself) {
  fill("c", 5);
  open('a');
  server.node.advance(6min);
  EXPECT_EQ(letters(), "a");
  server.node.advance(40min);  // the index, and then the refresh
  EXPECT_EQ(letters(), "");
  EXPECT_EQ(server.sessions.size(), 0u);
  EXPECT_EQ(cursors(), 0);
}

TEST_F(SessionRefresherTest, ANodeWithoutSessionsNeedsNoCollection) {
  server.node.advance(6min);
  EXPECT_FALSE(server.server->catalog.exists(server::kSessions));
}

TEST_F(SessionRefresherTest, ManySessionsGoInBatches) {
  for (int i = 0; i < 600; ++i) {
    std::string id(16, 'x');
    std::memcpy(id.data(), &i, sizeof(i));
    server.sessions.touch({id, {}}, {}, server.time->now());
  }
  refresh();
  EXPECT_EQ(run(R"({"count": "system.sessions"})", "config")["n"].toInt64(), 600);
  EXPECT_EQ(figures()["lastSessionsCollectionJobEntriesRefreshed"].toInt64(), 600);
}

/// More than the first piece of the table has room for, all of them ended and deleted.
TEST_F(SessionRefresherTest, AnEndedSessionIsDeletedWhereverItLiesInTheTable) {
  for (int i = 0; i < 5000; ++i) {
    std::string id(16, 'x');
    std::memcpy(id.data(), &i, sizeof(i));
    server.sessions.touch({id, {}}, {}, server.time->now());
    server.sessions.end({id, {}}, server.time->now());
  }
  refresh();
  ASSERT_EQ(server.sessions.ended(), 0u);
  use('a');
  refresh();
  ASSERT_EQ(letters(), "a");
  end('a');
  server.node.advance(6min);
  EXPECT_EQ(letters(), "");
}

/// A session of many, with a cursor, that was forgotten before it was written.
TEST_F(SessionRefresherTest, AForgottenSessionKeepsItsCursorsForTheTimeOut) {
  fill("c", 5);
  open('a');
  server.parameters.maxSessions = 1;
  use('b');
  ASSERT_FALSE(server.sessions.contains(key('a')));
  refresh();
  EXPECT_EQ(cursors(), 1);
  server.node.advance(20min);
  EXPECT_EQ(cursors(), 1);
  server.node.advance(20min);
  EXPECT_EQ(cursors(), 0) << "nobody has used it";
}

TEST_F(SessionRefresherTest, ClientsDoNotWriteTheCollection) {
  use('a');
  refresh();
  const auto reply = run(R"({"delete": "system.sessions", "deletes": [{"q": {}, "limit": 0}]})", "config");
  EXPECT_NE(bson::toRelaxedJson(reply).find("cannot write to 'config.system.sessions'"), std::string::npos);
  EXPECT_EQ(letters(), "a");
}

class SessionNamesTest : public SessionRefresherTest {
 protected:
  SessionNamesTest() : SessionRefresherTest({.authentication = true}) {}
  std::shared_ptr<server::Client> with(std::string_view name, std::string_view role) {
    server::AuthenticatedUser user{.name = std::string(name), .database = "admin", .internal = true};
    EXPECT_TRUE(user.privileges.addRole(role, "admin").isOK());
    auto client = server.connect(false);
    client->users.push_back(std::move(user));
    client->usersChanged();
    return client;
  }
};

TEST_F(SessionNamesTest, TheOwnersNameIsStoredAndOthersAreNotTakenForIt) {
  const auto ann = with("ann", "readAnyDatabase"), root = with("root", "root");
  ASSERT_TRUE(server.run(bson::doc("ping", 1, "lsid", lsid('a')), "admin", ann)["ok"].truthy());
  const auto refused = server.run(
      bson::doc(
          "ping", 1, "lsid",
          bson::doc("id", bson::Binary{bson::kBinaryUuid, std::string(16, 'a')}, "uid",
                    bson::Binary{bson::kBinaryGeneric, SessionKey::ownerOf({.database = "admin", .name = "ann"})})),
      "admin", root);
  EXPECT_EQ(refused["code"].toInt64(), 13) << "an unnumbered command, too";
  ASSERT_TRUE(server.run(R"({"refreshLogicalSessionCacheNow": 1})"_json, "admin", root)["ok"].truthy());
  const auto listed = server.run(
      R"({"aggregate": "system.sessions", "pipeline": [{"$listSessions": {"allUsers": true}}], "cursor": {}})"_json,
      "config", root);
  const auto rows = listed.view().at("cursor.firstBatch").asArray();
  ASSERT_EQ(rows.count(), 1) << bson::toRelaxedJson(listed);
  EXPECT_EQ(rows.first().asDocument()["user"].toStringOr(), "ann@admin");
}

class SessionReaperTest : public SessionRefresherTest {
 protected:
  SessionReaperTest() : SessionRefresherTest({.name = "n1:1", .replicaSet = "rs"}) { commands::becomePrimary(server); }
  void write(char byte) {
    const bson::Document one = bson::doc("_id", std::string(1, byte));
    ASSERT_TRUE(server.run(bson::doc("insert", "c", "documents", bson::array(one)))["ok"].truthy());
    const auto reply = server.run(numbered("findAndModify", byte, 1));
    ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  }
  static bson::Document numbered(const char* command, char byte, int64_t number) {
    bson::Builder b;
    b.append(command, "c").append("query", bson::doc("_id", std::string(1, byte)));
    b.append("update", bson::doc("$inc", bson::doc("n", 1))).append("new", true);
    b.append("lsid", lsid(byte)).append("txnNumber", number);
    return b.finish();
  }
  /// The next commands of that name last so long.
  void block(const char* command, int times, int64_t millis = 30'000) {
    const bson::Document data = bson::doc("failCommands", std::vector<std::string>{command}, "failInternalCommands",
                                          true, "blockConnection", true, "blockTimeMS", millis);
    const auto reply = server.run(
        bson::doc("configureFailPoint", "failCommand", "mode", bson::doc("times", times), "data", data), "admin");
    ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  }
  /// Time passes, then a reap begins that waits for a blocked command.
  std::shared_ptr<commands::Exchange> beginReap(Duration passes) {
    server.node.advance(passes);
    const auto reaping = server.begin(R"({"reapLogicalSessionCacheNow": 1})"_json, "admin", server.connect());
    server.node.advance(1s);
    EXPECT_FALSE(reaping->done);
    return reaping;
  }
  void reap() {
    const auto reply = run(R"({"reapLogicalSessionCacheNow": 1})", "admin");
    ASSERT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  }
  int64_t count(const char* collection) { return server.run(bson::doc("count", collection), "config")["n"].toInt64(); }
  size_t catalog() { return server.server->sessionCatalog->size(); }
};

TEST_F(SessionReaperTest, WhatWasKeptForSessionsThatAreGoneIsRemoved) {
  write('a');
  write('b');
  ASSERT_EQ(count("transactions"), 2);
  ASSERT_EQ(count("image_collection"), 2);
  reap();
  EXPECT_EQ(count("transactions"), 2) << "they were written just now";
  server.node.advance(20min);
  use('b');
  server.node.advance(20min);
  use('b');
  reap();
  EXPECT_EQ(count("transactions"), 1) << "b is in use";
  EXPECT_EQ(count("image_collection"), 1);
  EXPECT_EQ(catalog(), 1u);
  EXPECT_GT(figures()["transactionReaperJobCount"].toInt64(), 0);
  end('b');
  server.node.advance(1s);
  reap();
  EXPECT_EQ(count("transactions"), 0);
  EXPECT_EQ(count("image_collection"), 0);
  EXPECT_EQ(catalog(), 0u);
}

TEST_F(SessionReaperTest, ASessionThatIsInTheCollectionKeepsItsRecord) {
  write('a');
  server.parameters.ttlMonitorEnabled = false;  // it is kept in use by another member, as far as this one knows
  refresh();
  server.parameters.maxSessions = 1;
  use('b');
  ASSERT_FALSE(server.sessions.contains(key('a'))) << "only the collection knows it";
  server.node.advance(40min);
  reap();
  EXPECT_EQ(count("transactions"), 1);
  removeStored('a');
  reap();
  EXPECT_EQ(count("transactions"), 0);
}

/// Its client comes back while the reap waits for the deletion of its image.
TEST_F(SessionReaperTest, ASessionThatIsUsedMeanwhileKeepsItsRecordAndItsNewImage) {
  write('a');
  end('a');
  server.node.advance(29min);
  block("delete", 1);
  const auto reaping = beginReap(2min);
  const auto again = [&](const char* command) { return server.run(numbered(command, 'a', 2)); };
  const auto written = again("findAndModify");
  ASSERT_TRUE(written["ok"].truthy()) << bson::toRelaxedJson(written);
  server.node.advance(1min);
  ASSERT_TRUE(reaping->done);
  EXPECT_EQ(count("transactions"), 1);
  EXPECT_EQ(count("image_collection"), 1);
  EXPECT_EQ(bson::toRelaxedJson(again("findAndModify")["value"]), bson::toRelaxedJson(written["value"])) << "a retry";
}

/// It has the session, and has written nothing yet, when the turn comes to the old record.
TEST_F(SessionReaperTest, ACommandThatHasItsSessionMeanwhileGoesOn) {
  const auto insert = [](int64_t number) {
    const bson::Document one = bson::doc("_id", number);
    return bson::doc("insert", "c", "documents", bson::array(one), "lsid", lsid('a'), "txnNumber", number);
  };
  ASSERT_TRUE(server.run(insert(1))["ok"].truthy());
  end('a');
  server.node.advance(29min);
  block("delete", 1);
  const auto reaping = beginReap(2min);
  block("insert", 1, 120'000);
  const auto running = server.begin(insert(2), "test", server.connect());
  server.node.advance(1min);
  ASSERT_TRUE(reaping->done);
  ASSERT_FALSE(running->done) << bson::toRelaxedJson(running->takeReply());
  server.node.advance(2min);
  ASSERT_TRUE(running->done);
  EXPECT_TRUE(running->takeReply()["ok"].truthy());
  EXPECT_EQ(count("transactions"), 1);
}

TEST_F(SessionReaperTest, DocumentsOfOthersDoNotEndIt) {
  write('a');
  std::vector<bson::Document> others{bson::doc("_id", 1), bson::doc("_id", "one")};
  for (int i = 0; i < 300; ++i)
    others.push_back(bson::doc("_id", bson::doc("a", i), "lastWriteDate", bson::Date{1}, "lastWriteOpTime",
                               bson::doc("ts", bson::Timestamp{1, 1})));
  ASSERT_TRUE(server.run(bson::doc("insert", "transactions", "documents", others), "config")["ok"].truthy());
  end('a');
  server.node.advance(40min);
  reap();
  EXPECT_EQ(count("transactions"), static_cast<int64_t>(others.size()));
}

TEST_F(SessionReaperTest, AQuestionIsAnsweredByAReapThatBeganAfterIt) {
  write('a');
  end('a');
  server.node.advance(29min);
  block("delete", 1);
  const auto first = beginReap(2min);
  const int64_t before = figures()["transactionReaperJobCount"].toInt64();
  const auto second = server.begin(R"({"reapLogicalSessionCacheNow": 1})"_json, "admin", server.connect());
  server.node.advance(1min);
  ASSERT_TRUE(first->done && second->done);
  EXPECT_EQ(figures()["transactionReaperJobCount"].toInt64(), before + 2);
}

TEST_F(SessionReaperTest, NeitherJobRunsByItselfWhereTheyAreTurnedOff) {  // SES-009
  server.parameters.disableLogicalSessionCacheRefresh = true;             // as at a start: both actors are begun again
  for (const char* path : {kSessionRefresherPath, kSessionReaperPath})
    server.node.kill(server.node.address(path), Status(ErrorCode::kInterrupted, "for the test"));
  use('a');
  server.node.advance(1h);
  const auto jobs = [this] {
    const bson::Document shown = figures();
    return std::pair(shown["sessionsCollectionJobCount"].toInt64(-1), shown["transactionReaperJobCount"].toInt64(-1));
  };
  EXPECT_EQ(jobs(), std::pair(int64_t{0}, int64_t{0}));
  refresh();
  EXPECT_EQ(jobs(), std::pair(int64_t{1}, int64_t{0})) << "on demand it does";
  reap();
  EXPECT_EQ(jobs(), std::pair(int64_t{2}, int64_t{1})) << "which begins with a refresh";
}

TEST_F(SessionReaperTest, NothingIsReapedAfterAFailedRefresh) {
  write('a');
  refresh();
  end('a');
  ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn",
                           "data": {"failCommands": ["createIndexes"], "failInternalCommands": true, "errorCode": 91}})",
                       "admin"));
  server.node.advance(40min);
  EXPECT_GT(figures()["sessionsCollectionJobFailures"].toInt64(), 0);
  EXPECT_GT(figures()["transactionReaperJobCount"].toInt64(), 0);
  EXPECT_EQ(count("transactions"), 1);
  ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": "off"})", "admin"));
  server.node.advance(10min);
  EXPECT_EQ(count("transactions"), 0);
}

TEST(SessionReaping, TakesTheRecordsOfMissingFamilies) {
  const SessionKey a(std::string(16, 'a'), {}), b(std::string(16, 'b'), {});
  const std::vector<SessionRecordRow> records{{a.toDocument(), a}, {bson::doc("child", 1), a}, {b.toDocument(), b}};
  const auto found = reapable(records, {a});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].id, a.toDocument());
  EXPECT_EQ(found[1].id, bson::doc("child", 1));
  EXPECT_TRUE(reapable(records, {}).empty());
}

}  // namespace troupe::maintenance
