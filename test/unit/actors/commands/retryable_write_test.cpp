// Commands with transaction numbers: what is sent twice is done once and answered alike.
#include "actors/server/session_catalog.hpp"
#include "storage/sessions/session_record.hpp"
#include "test/unit/actors/commands/retryable_write_fixture.hpp"

namespace troupe::commands {
using namespace server;

TEST_F(RetryableWriteTest, AnInsertIsDoneOnce) {  // SES-017
  expectOnce(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})", 1, "0, 1");
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 2u);
  EXPECT_EQ(send(R"({"insert": "c", "documents": [{"_id": 3}]})", 2)["n"].toInt64(), 1);
}

TEST_F(RetryableWriteTest, WhatAFirstAttemptHadNotReachedIsDoneByTheNext) {
  EXPECT_EQ(send(R"({"insert": "c", "documents": [{"_id": 1}]})", 1)["n"].toInt64(), 1);
  const bson::Document more = send(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})", 1);
  EXPECT_EQ(more["n"].toInt64(), 2);
  EXPECT_EQ(retried(more), "0");
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 2u);
}

/// Its reply was lost, and the collection has been dropped since.
TEST_F(RetryableWriteTest, ARetryMakesNoCollection) {
  int64_t number = 0;
  const auto expectDoneOnce = [&](auto&& commandOn, const char* db) {
    ASSERT_TRUE(succeeds(R"({"create": "c"})"));
    const bson::Document listed = run(R"({"listCollections": 1})");
    const auto uuid = bson::doc("collectionUUID", listed.view().at("cursor.firstBatch.0.info.uuid"));
    const std::string command = commandOn(bson::toCanonicalJson(uuid).substr(1));
    const bson::Document first = send(command, ++number, db);
    EXPECT_TRUE(first["ok"].truthy()) << bson::toRelaxedJson(first);
    ASSERT_TRUE(succeeds(R"({"drop": "c"})"));
    const bson::Document second = send(command, number, db);
    EXPECT_EQ(retried(second), "0, 1");
    EXPECT_EQ(shown(second), shown(first));
  };
  constexpr const char* kTwo = R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}], )";
  constexpr const char* kThree = R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}], )";
  std::string ofCollection;
  expectDoneOnce(
      [](const std::string& uuid) {
        return R"({"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}, {"insert": 0, "document": {}}],
                   "nsInfo": [{"ns": "test.c", )" +
               uuid + "]}";
      },
      "admin");
  expectDoneOnce([&](const std::string& uuid) { return kTwo + (ofCollection = uuid); }, "test");
  EXPECT_EQ(codeOf(kThree + ofCollection, number), kUuidMismatch) << "the third was not executed";
  EXPECT_TRUE(batch(R"({"listCollections": 1})").empty());
}

TEST_F(RetryableWriteTest, UpdatesAndDeletesAreDoneOnce) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}, {"_id": 2, "n": 0}]})"));
  expectOnce(R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}},
                                            {"q": {"_id": 2}, "u": {"$inc": {"n": 1}}}]})",
             1, "0, 1");
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"n": 1}})").size(), 2u);
  expectOnce(R"({"update": "c", "updates": [{"q": {"_id": 9}, "u": {"$inc": {"n": 1}}, "upsert": true}]})", 2);
  EXPECT_EQ(batch(R"({"find": "c", "filter": {"_id": 9, "n": 1}})").size(), 1u);
  expectOnce(R"({"delete": "c", "deletes": [{"q": {}, "limit": 1}]})", 3);
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 2u);
  const bson::Document status = run(R"({"serverStatus": 1})", "admin");
  EXPECT_EQ(status.view().at("transactions.retriedCommandsCount").toInt64(), 3);
  EXPECT_EQ(status.view().at("transactions.retriedStatementsCount").toInt64(), 4);
}

TEST_F(RetryableWriteTest, ARetryAwaitsItsWriteConcernItself) {
  ASSERT_TRUE(succeeds(R"({"replSetReconfig": {"_id": "rs", "version": 9, "members": [
      {"_id": 0, "host": "n1:1"}, {"_id": 1, "host": "unreachable:1", "votes": 0, "priority": 0}]}, "force": true})",
                       "admin"));
  constexpr const char* kInsert =
      R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 2, "wtimeout": 500}})";
  const bson::Document first = send(kInsert, 1), second = send(kInsert, 1);
  EXPECT_EQ(first.view().at("writeConcernError.code").toInt64(), 64) << bson::toRelaxedJson(first);
  EXPECT_EQ(retried(second), "0");
  EXPECT_EQ(shown(second), shown(first)) << "another member has to have the write of the first attempt";
}

/// What a command has found it answers for, also when it is told to end: by a step-down, which may undo just that.
TEST_F(RetryableWriteTest, ACommandThatWasToldToEndSaysThatItCouldNotAwaitWhatItFound) {
  constexpr const char* kToEnd = R"({"failBeforeCommitExceptionCode": 1, "closeConnection": false})";
  ASSERT_TRUE(send(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})", 1)["ok"].truthy());
  armForNextWrite(kToEnd);
  const bson::Document retry = send(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}, {"_id": 2}]})", 1);
  EXPECT_EQ(retried(retry), "0");
  EXPECT_TRUE(holds(retry, parse(R"({"ok": 1, "n": 1, "writeConcernError": {"code": 1}})")));
  armForNextWrite(kToEnd);
  const bson::Document update = send(
      R"({"update": "c", "updates": [{"q": {"_id": 1}, "u": {"$set": {"n": 0}}}, {"q": {}, "u": {"$inc": {"n": 1}}}]})",
      2);
  EXPECT_TRUE(holds(update, parse(R"({"ok": 1, "n": 1, "nModified": 0, "writeConcernError": {"code": 1}})")));
}

/// CLK-015: an older write is under way meanwhile. A read of a secondary after the time they are told finds the
/// document.
TEST_F(RetryableWriteTest, ARetryAndAReadTellATimeThatHasWhatTheySaw) {
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 1}})";
  ASSERT_TRUE(send(R"({"insert": "c", "documents": [{"_id": 0}]})", 1)["ok"].truthy());
  storage::SlotReserver& slots = server.server->operations.replicated->slots;
  auto older = slots.reserve(termOf(server), 1);
  const auto timeOf = [](const bson::Document& reply) { return reply["operationTime"].asTimestamp(); };
  const bson::Timestamp written = timeOf(send(kInsert, 2));
  ASSERT_GT(written, older.last().timestamp);
  EXPECT_EQ(timeOf(send(kInsert, 2)), written);
  EXPECT_EQ(timeOf(run(R"({"find": "c"})")), written);
  EXPECT_LT(timeOf(run(R"({"find": "c", "readConcern": {"level": "majority"}})")), written);
  const auto causal = server.begin(bson::doc("find", "c", "readConcern", bson::doc("afterClusterTime", written)));
  older.release();
  server.node.advance(10ms);
  ASSERT_TRUE(causal->done);
  EXPECT_EQ(slots.newestWritten(), written) << "no note was needed to get there";
}

TEST_F(RetryableWriteTest, ABulkWriteIsDoneOnce) {
  constexpr const char* kBulk = R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.c"}], "ops": [
      {"insert": 0, "document": {"_id": 1, "n": 0}}, {"insert": 0, "document": {"_id": 2, "n": 0}},
      {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"n": 1}}},
      {"delete": 0, "filter": {"_id": 2}}]})";
  const bson::Document first = send(kBulk, 1, "admin"), second = send(kBulk, 1, "admin");
  EXPECT_EQ(retried(second), "0, 1, 2, 3") << bson::toRelaxedJson(second);
  EXPECT_EQ(shown(second), shown(first));
  EXPECT_EQ(batch(R"({"find": "c"})"), std::vector<std::string>({R"({ "_id" : 1, "n" : 1 })"}));
}

TEST_F(RetryableWriteTest, IsKnownAfterARestart) {  // SES-018
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 1, "j": true}})";
  constexpr const char* kChange =
      R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "writeConcern": {"w": 1, "j": true}})";
  ASSERT_TRUE(send(kInsert, 1)["ok"].truthy());
  server.node.advance(1s);
  ASSERT_TRUE(succeeds(R"({"fsync": 1})", "admin"));  // else the start would replay the log over data of any time
  const bson::Document changed = send(kChange, 2);
  CommandNode after({.disk = server.engine->disk(), .name = "n1:1", .replicaSet = "rs"});
  untilPrimary(after);
  const bson::Document again = after.run(parse(numbered(kChange, 2).c_str()));
  EXPECT_EQ(shown(again), shown(changed));
  EXPECT_EQ(retried(again), "0");
  EXPECT_EQ(after.run(parse(numbered(kInsert, 1).c_str()))["code"].toInt64(), kTooOld);
}

/// Of another collection, which nobody holds: it waits for the session alone.
TEST_F(RetryableWriteTest, ACommandWaitsForTheOneThatHasItsSession) {  // SES-010
  ASSERT_TRUE(succeeds(R"({"create": "c"})"));
  ASSERT_TRUE(succeeds(R"({"create": "free"})"));
  LockHolder holder(server.locks, "test.c", storage::LockMode::kX);
  const std::string insert = numbered(R"({"insert": "c", "documents": [{"_id": 1}]})", 1);
  const auto others = {server.connect(), server.connect(), server.connect()};
  const auto first = server.begin(parse(insert.c_str()));
  const auto retry = server.begin(parse(insert.c_str()), "test", *others.begin());
  const auto late =
      server.begin(parse(numbered(R"({"insert": "free", "documents": [{"_id": 1}], "maxTimeMS": 500})", 2).c_str()),
                   "test", *(others.begin() + 1));
  const auto next = server.begin(parse(numbered(R"({"insert": "free", "documents": [{"_id": 2}]})", 3).c_str()), "test",
                                 *(others.begin() + 2));
  for (int steps = 0; !late->done && steps < 100; ++steps) server.node.advance(10ms);
  ASSERT_TRUE(late->done) << "its time is over";
  EXPECT_EQ(late->takeReply()["code"].toInt64(), 50);
  EXPECT_FALSE(first->done || retry->done || next->done);
  holder.release();
  for (int steps = 0; !next->done && steps < 100; ++steps) server.node.advance(10ms);
  ASSERT_TRUE(first->done && retry->done && next->done);
  EXPECT_EQ(retried(first->takeReply()), "none");
  EXPECT_EQ(retried(retry->takeReply()), "0");
  EXPECT_TRUE(next->takeReply()["ok"].truthy());
  EXPECT_EQ(batch(R"({"find": "free"})").size(), 1u);
}

/// SES-013: the drop waits for the command, which is told to end.
TEST_F(RetryableWriteTest, AnEditEndsTheCommandThatHasTheSession) {
  ASSERT_TRUE(send(R"({"insert": "c", "documents": [{"_id": 1}]})", 1)["ok"].truthy());
  LockHolder holder(server.locks, "test.c", storage::LockMode::kX);
  const auto other = server.connect();
  const auto waiting =
      server.begin(parse(numbered(R"({"insert": "c", "documents": [{"_id": 2}]})", 2).c_str()), "test", other);
  ASSERT_TRUE(succeeds(R"({"delete": "transactions", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  for (int steps = 0; !waiting->done && steps < 100; ++steps) server.node.advance(10ms);
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply()["code"].toInt64(), 11601);
  holder.release();
}

TEST_F(RetryableWriteTest, NumbersGoUpOnly) {
  ASSERT_TRUE(send(R"({"insert": "c", "documents": [{"_id": 1}]})", 5)["ok"].truthy());
  EXPECT_EQ(codeOf(R"({"insert": "c", "documents": [{"_id": 2}]})", 4), kTooOld);
  EXPECT_TRUE(send(R"({"insert": "c", "documents": [{"_id": 2}]})", 6)["ok"].truthy());
  EXPECT_EQ(codeOf(R"({"delete": "c", "deletes": [{"q": {"_id": 2}, "limit": 1}]})", 6), kAnotherStatement);
}

TEST_F(RetryableWriteTest, WhatCannotBeRetriedIsRefused) {  // SES-014
  EXPECT_EQ(codeOf(R"({"update": "c", "updates": [{"q": {}, "u": {"$set": {"a": 1}}, "multi": true}]})", 1),
            kInvalidOptions);
  EXPECT_EQ(codeOf(R"({"delete": "c", "deletes": [{"q": {}, "limit": 0}]})", 1), kInvalidOptions);
  EXPECT_EQ(codeOf(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 0}})", 1), kInvalidOptions);
  EXPECT_EQ(send(R"({"delete": "transactions", "deletes": [{"q": {}, "limit": 1}]})", 1, "config")
                .view()
                .at("writeErrors.0.code")
                .toInt64(),
            40528);
  EXPECT_EQ(
      codeOf(R"({"bulkWrite": 1, "nsInfo": [{"ns": "local.c"}], "ops": [{"insert": 0, "document": {}}]})", 1, "admin"),
      0)
      << "its row says";
  EXPECT_TRUE(batch(R"({"find": "c"})", "local").empty());
  EXPECT_EQ(codeOf(R"({"find": "c"})", 1), kNotRetryable);
  EXPECT_EQ(codeOf(R"({"create": "d"})", 1), kNotRetryable);
  EXPECT_EQ(codeOf(R"({"insert": "c", "documents": [{}]})", 1, "local"), kIllegalOperation);
  EXPECT_EQ(codeOf(R"({"insert": "c", "documents": [{}], "autocommit": false, "startTransaction": true})", 1),
            kNotSupported);
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{}], "txnNumber": {"$numberLong": "1"}})"), kInvalidOptions)
      << "a number needs a session";
  CommandNode alone;
  EXPECT_EQ(alone.run(parse(numbered(R"({"insert": "c", "documents": [{}]})", 1).c_str()))["code"].toInt64(),
            kIllegalOperation);
}

TEST_F(RetryableWriteTest, StatementIdsFitTheStatements) {
  const auto refusal = [&](std::string_view command, const char* ids) {
    std::string text(command.substr(0, command.rfind('}')));
    return codeOf(text + ", " + ids + "}", 1);
  };
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{}, {}, {}]})";
  constexpr const char* kChange = R"({"findAndModify": "c", "query": {}, "update": {"$inc": {"n": 1}}})";
  for (const char* ids :
       {R"("stmtIds": [1, 2])", R"("stmtIds": [1])", R"("stmtIds": [1], "stmtId": null)", R"("stmtIds": [])"})
    EXPECT_EQ(refusal(kInsert, ids), kInvalidLength) << ids;
  for (const char* ids : {R"("stmtIds": [1, 2, 2])", R"("stmtIds": [-1, 2, 3])", R"("stmtId": 2147483647)"})
    EXPECT_EQ(refusal(kInsert, ids), kInvalidOptions) << ids;
  for (const char* command : {kInsert, kChange}) {
    for (const char* ids : {R"("stmtId": -1)", R"("stmtId": 1, "stmtIds": [1, 2, 3])",
                            R"("stmtIds": [1, 2, 3], "stmtId": 1)", R"("stmtIds": [], "stmtId": 1)"})
      EXPECT_EQ(refusal(command, ids), kInvalidOptions) << ids;
  }
  EXPECT_EQ(refusal(kChange, R"("stmtIds": [1])"), kUnknownField) << "it has one statement";
  EXPECT_TRUE(batch(R"({"find": "c"})").empty());
}

TEST_F(RetryableWriteTest, ASessionIsOfItsUser) {
  constexpr const char* kForeign =
      R"("lsid": {"id": {"$binary": {"base64": "y8oFy8jlSZqQT3Dl9CUG7Q==", "subType": "04"}},
                  "uid": {"$binary": {"base64": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "subType": "00"}}})";
  const std::string command = numbered(R"({"insert": "c", "documents": [{}]})", 1, kForeign);
  EXPECT_EQ(code(command.c_str()), kUnauthorized);
  ASSERT_TRUE(send(R"({"insert": "c", "documents": [{"_id": 1}]})", 1)["ok"].truthy());
  const auto records = batch(R"({"find": "transactions"})", "config");
  ASSERT_EQ(records.size(), 1u);
  EXPECT_NE(records[0].find("47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), std::string::npos)
      << "the digest of no user: " << records[0];
}

TEST_F(RetryableWriteTest, AnEditOfTheRecordsIsTakenForTrue) {  // SES-013
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"a": 1}]})";
  expectOnce(kInsert, 1);
  ASSERT_TRUE(succeeds(R"({"delete": "transactions", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  EXPECT_EQ(retried(send(kInsert, 1)), "none") << "nobody knows of the session";
  ASSERT_TRUE(succeeds(R"({"drop": "transactions"})", "config"));
  EXPECT_EQ(retried(send(kInsert, 1)), "none");
  EXPECT_EQ(retried(send(kInsert, 1)), "0");
}

TEST_F(RetryableWriteTest, TheFirstAttemptOfAnotherTermIsFoundAgain) {
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"a": 1}]})";
  ASSERT_TRUE(send(kInsert, 1)["ok"].truthy());
  ASSERT_TRUE(succeeds(R"({"replSetStepDown": 1, "force": true})", "admin"));
  const bson::Document refused = send(kInsert, 1);
  EXPECT_EQ(refused["code"].toInt64(), 10107);
  EXPECT_EQ(labels(refused), "RetryableWriteError");
  untilPrimary(server);
  EXPECT_EQ(retried(send(kInsert, 1)), "0");
}

TEST_F(RetryableWriteTest, DriversAreToldWhatTheyMaySendAgain) {
  const auto armed = [&](const char* data) {
    const std::string command =
        std::string(R"({"configureFailPoint": "failCommand", "mode": {"times": 1}, "data": )") + data + "}";
    ASSERT_TRUE(succeeds(command.c_str(), "admin"));
  };
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"a": 1}]})";
  armed(R"({"failCommands": ["insert"], "errorCode": 189})");
  EXPECT_EQ(labels(send(kInsert, 1)), "RetryableWriteError");
  armed(R"({"failCommands": ["insert"], "errorCode": 189})");
  EXPECT_EQ(labels(run(kInsert)), "none") << "it was not sent to be retried";
  armed(R"({"failCommands": ["insert"], "errorCode": 11000})");
  EXPECT_EQ(labels(send(kInsert, 2)), "none") << "that would fail again";
  armed(R"({"failCommands": ["insert"], "errorCode": 189, "errorLabels": ["Other"]})");
  EXPECT_EQ(labels(send(kInsert, 3)), "Other");
  armed(R"({"failCommands": ["insert"], "writeConcernError": {"code": 91, "errmsg": "over"}})");
  EXPECT_EQ(labels(send(kInsert, 4)), "RetryableWriteError");
  armed(R"({"failCommands": ["insert"], "writeConcernError": {"code": 64, "errmsg": "late"}})");
  EXPECT_EQ(labels(send(kInsert, 5)), "none");
  armed(
      R"({"failCommands": ["insert"], "writeConcernError": {"code": 64, "errmsg": "late"}, "errorLabels": ["Other"]})");
  EXPECT_EQ(labels(send(kInsert, 6)), "Other");
}

/// Nor does a wait for a time: a step-down that is tried would wait for it, and all others behind the step-down.
TEST_F(RetryableWriteTest, AFailPointThatBlocksAWriteHoldsNothingThatOthersNeed) {
  ASSERT_TRUE(succeeds(R"({"configureFailPoint": "failCommand", "mode": {"times": 1},
                           "data": {"failCommands": ["insert"], "blockConnection": true, "blockTimeMS": 1000}})",
                       "admin"));
  const size_t inUse = server.locks.inUse();
  const auto blocked =
      server.begin(parse(numbered(R"({"insert": "c", "documents": [{"a": 1}]})", 1).c_str()), "test", server.connect());
  server.node.advance(std::chrono::milliseconds(300));
  ASSERT_FALSE(blocked->done);
  EXPECT_EQ(server.locks.inUse(), inUse);
  server.node.advance(std::chrono::seconds(1));
  EXPECT_TRUE(blocked->done);
}

/// As the drivers' specifications use it.
TEST_F(RetryableWriteTest, AFailPointFailsAWriteBeforeItsCommitOrHidesItsAnswer) {
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}], "ordered": false})";
  armForNextWrite(R"({"failBeforeCommitExceptionCode": 1, "closeConnection": false})");
  EXPECT_EQ(send(kInsert, 1)["n"].toInt64(), 0);
  EXPECT_TRUE(batch(R"({"find": "c"})").empty()) << "nothing else of the command was done either";
  armForNextWrite("{}");
  const auto other = server.connect();
  const auto hidden = server.begin(parse(numbered(kInsert, 1).c_str()), "test", other);
  for (int steps = 0; !hidden->done && steps < 100; ++steps) server.node.advance(10ms);
  EXPECT_TRUE(hidden->request.dropReply && other->closing);
  EXPECT_EQ(retried(send(kInsert, 1)), "0, 1");
  armForNextWrite("{}");
  EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 3}]})")) << "only numbered writes are concerned";
}

/// A driver's snapshot session reads on at the time of its first read.
TEST_F(RetryableWriteTest, ASnapshotReadTellsItsTime) {
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}, {"_id": 2}]})"));
  server.node.advance(1s);
  constexpr const char* kFind = R"({"find": "c", "batchSize": 1, "readConcern": {"level": "snapshot"}})";
  const bson::Document first = run(kFind);
  const bson::Element time = first.view().at("cursor.atClusterTime");
  ASSERT_TRUE(time.is(bson::Type::kTimestamp)) << bson::toRelaxedJson(first);
  const bson::Document more =
      server.run(bson::doc("getMore", first.view().at("cursor.id").toInt64(), "collection", "c"));
  EXPECT_EQ(more.view().at("cursor.atClusterTime").asTimestamp(), time.asTimestamp());
  const bson::Document byId = run(
      R"({"find": "c", "filter": {"_id": 1}, "limit": 1, "singleBatch": true, "readConcern": {"level": "snapshot"}})");
  EXPECT_TRUE(byId.view().at("cursor.atClusterTime").is(bson::Type::kTimestamp));
  EXPECT_TRUE(run(R"({"distinct": "c", "key": "_id", "readConcern": {"level": "snapshot"}})")["atClusterTime"].is(
      bson::Type::kTimestamp));
  EXPECT_FALSE(run(R"({"find": "c"})").view().has("cursor.atClusterTime"));
  const bson::Document then =
      bson::doc("find", "c", "readConcern", bson::doc("level", "snapshot", "atClusterTime", time));
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 3}]})"));
  EXPECT_EQ(server.run(then).view().at("cursor.firstBatch").asArray().count(), 2u);
}

}  // namespace troupe::commands
