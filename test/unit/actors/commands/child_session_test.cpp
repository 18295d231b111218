// Sessions that servers have for their internal transactions: their way through commands, and their end.
#include "test/unit/actors/commands/child_session_fixture.hpp"

namespace troupe::commands {
using namespace server;

TEST_F(ChildSessionTest, AreForServersAmongThemselves) {  // SES-001
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"_id": 1}]})";
  const auto byClient = [&](const bson::Document& session) {
    return server.run(numbered(kInsert, session, 1))["code"].toInt64();
  };
  const bson::Binary uuid{bson::kBinaryUuid, "0123456789abcdef"};
  EXPECT_EQ(byClient(bson::doc("id", uuid, "txnUUID", uuid)), kInvalidOptions);
  EXPECT_EQ(byClient(bson::doc("id", uuid, "txnNumber", int64_t{1}, "txnUUID", uuid)), kInvalidOptions);
  EXPECT_EQ(byClient(bson::doc("id", uuid, "more", 1)), kUnknownField);
  EXPECT_TRUE(records().empty());
  const bson::Document first = send(kInsert, lsid('c', 4), 0), again = send(kInsert, lsid('c', 4), 0);
  EXPECT_TRUE(first["ok"].truthy()) << bson::toRelaxedJson(first);
  EXPECT_EQ(again["n"].toInt64(), 1);
  EXPECT_TRUE(again["retriedStmtIds"].ok()) << bson::toRelaxedJson(again);
  EXPECT_EQ(records(), std::vector<bson::Document>{lsid('c', 4)}) << "with all parts of its id, and its client's uid";
  const bson::Document entry(server.run(R"({"find": "oplog.rs", "filter": {"ns": "test.c", "op": "i"}})"_json, "local")
                                 .view()
                                 .at("cursor.firstBatch.0")
                                 .asDocument());
  EXPECT_EQ(bson::Document(entry["lsid"].asDocument()), lsid('c', 4));
}

/// But for children of a retryable write: family_history_test.cpp.
TEST_F(ChildSessionTest, EachSessionOfAFamilyHasItsOwnHistory) {
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"a": 1}]})";
  for (const bson::Document& session : {lsid(), lsid('c'), lsid('d')})
    EXPECT_FALSE(send(kInsert, session, 1)["retriedStmtIds"].ok());
  for (const bson::Document& session : {lsid(), lsid('c'), lsid('d')})
    EXPECT_TRUE(send(kInsert, session, 1)["retriedStmtIds"].ok());
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 3u);
  EXPECT_EQ(records().size(), 3u);
  ASSERT_TRUE(succeeds(R"({"delete": "transactions", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  EXPECT_FALSE(send(kInsert, lsid('c'), 1)["retriedStmtIds"].ok()) << "an edit of a child's record is taken for true";
}

TEST_F(ChildSessionTest, AHigherNumberOfTheParentEndsThoseOfLowerOnes) {  // SES-012
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"a": 1}]})";
  ASSERT_TRUE(send(kInsert, lsid('c', 4), 0)["ok"].truthy());
  ASSERT_TRUE(send(kInsert, lsid(), 5)["ok"].truthy());
  EXPECT_EQ(codeOf(kInsert, lsid('c', 4), 0), kTooOld);
  SessionCatalog& catalog = *server.server->sessionCatalog;
  ASSERT_EQ(catalog.size(), 1u);
  ASSERT_TRUE(catalog.forget(catalog.families()[0].key));
  EXPECT_EQ(codeOf(kInsert, lsid('c', 4), 1), kTooOld) << "the record of the parent says so";
  EXPECT_TRUE(send(kInsert, lsid('c', 5), 0)["ok"].truthy());
  EXPECT_TRUE(send(kInsert, lsid('c'), 0)["ok"].truthy()) << "one without a number";
}

/// The parent itself has written nothing.
TEST_F(ChildSessionTest, OneThatWasReapedIsNotCarriedOutAgainThoughItsFamilyWasForgotten) {  // SES-012
  set("internalSessionsReapThreshold", 1);
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"a": 1}]})";
  ASSERT_TRUE(send(kInsert, lsid('c', 4), 0)["ok"].truthy());
  ASSERT_TRUE(send(kInsert, lsid('z', 5), 0)["ok"].truthy());
  server.node.run();
  ASSERT_EQ(records(), std::vector<bson::Document>{lsid('z', 5)});
  SessionCatalog& catalog = *server.server->sessionCatalog;
  ASSERT_TRUE(catalog.forget(catalog.families().at(0).key));
  EXPECT_EQ(codeOf(kInsert, lsid('c', 4), 0), kTooOld);
  EXPECT_TRUE(send(kInsert, lsid('z', 5), 0)["retriedStmtIds"].ok());
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 2u);
}

/// A number that wrote nothing leaves no record, so that those of the children alone say what is over.
TEST_F(ChildSessionTest, OneIsNotReapedBeforeALaterNumberHasARecord) {  // SES-012
  set("internalSessionsReapThreshold", 1);
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"a": 1}]})";
  constexpr const char* kNothing = R"({"update": "c", "updates": [{"q": {"a": 7}, "u": {"$set": {"a": 8}}}]})";
  ASSERT_TRUE(send(kInsert, lsid('c', 4), 0)["ok"].truthy());
  ASSERT_TRUE(send(kNothing, lsid(), 5)["ok"].truthy());
  server.node.run();
  EXPECT_EQ(records(), std::vector<bson::Document>{lsid('c', 4)});
  EXPECT_EQ(codeOf(kInsert, lsid('c', 4), 0), kTooOld);
  SessionCatalog& catalog = *server.server->sessionCatalog;
  ASSERT_TRUE(catalog.forget(catalog.families().at(0).key));
  EXPECT_TRUE(send(kInsert, lsid('c', 4), 0)["retriedStmtIds"].ok()) << "a late duplicate is found";
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 1u);
  ASSERT_TRUE(send(kInsert, lsid(), 6)["ok"].truthy());
  server.node.run();
  EXPECT_EQ(records(), std::vector<bson::Document>{lsid()});
  ASSERT_TRUE(catalog.forget(catalog.families().at(0).key));
  EXPECT_EQ(codeOf(kInsert, lsid('c', 4), 0), kTooOld);
}

TEST_F(ChildSessionTest, RecordsOfThoseThatAreOverGoTogether) {  // SES-012
  set("internalSessionsReapThreshold", 2);
  constexpr const char* kUpsert =
      R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "upsert": true})";
  constexpr const char* kAnother =
      R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}, "upsert": true, "stmtId": 1})";
  ASSERT_TRUE(send(kUpsert, lsid('a', 1), 0)["ok"].truthy());
  ASSERT_TRUE(send(kUpsert, lsid(), 2)["ok"].truthy());
  EXPECT_EQ(records(), (std::vector<bson::Document>{lsid(), lsid('a', 1)})) << "one is not enough";
  ASSERT_TRUE(send(kAnother, lsid('b', 2), 0)["ok"].truthy());
  ASSERT_TRUE(send(kUpsert, lsid('c'), 0)["ok"].truthy());
  EXPECT_EQ(images().size(), 3u) << "the first one had no document to keep";
  ASSERT_TRUE(send(kUpsert, lsid(), 3)["ok"].truthy());
  server.node.run();
  EXPECT_EQ(records(), (std::vector<bson::Document>{lsid(), lsid('c')}));
  EXPECT_EQ(images(), (std::vector<bson::Document>{lsid(), lsid('c')}));
  EXPECT_EQ(reaper()["rounds"].toInt64(), 1);
  EXPECT_EQ(reaper()["removed"].toInt64(), 3);
  EXPECT_EQ(reaper()["lastError"].toStringOr(), "");
  const bson::Document together =
      server.run(R"({"find": "oplog.rs", "filter": {"o.applyOps.ns": "config.transactions"}})"_json, "local");
  EXPECT_EQ(together.view().at("cursor.firstBatch").asArray().count(), 1u) << "in one entry";
}

/// Where a round ends in between, what is left has a record, by which the periodic reaping finds it.
TEST_F(ChildSessionTest, ImagesGoBeforeTheRecordsThatLeadToThem) {
  set("internalSessionsReapThreshold", 1);
  constexpr const char* kChange = R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}})";
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1}]})"));
  ASSERT_TRUE(send(kChange, lsid('a', 1), 0)["ok"].truthy());
  ASSERT_TRUE(send(kChange, lsid('b', 2), 0)["ok"].truthy());
  server.node.run();
  const auto removals =
      batch(R"({"find": "oplog.rs", "filter": {"o.applyOps.op": "d"}, "projection": {"_id": 0, "o.applyOps.ns": 1}})",
            "local");
  ASSERT_EQ(removals.size(), 2u);
  EXPECT_NE(removals[0].find("config.image_collection"), std::string::npos) << removals[0];
  EXPECT_NE(removals[1].find("config.transactions"), std::string::npos) << removals[1];
}

/// The next command of the family is under way when they are removed.
TEST_F(ChildSessionTest, TheirRemovalIsNoEditOfTheirFamily) {
  set("internalSessionsReapThreshold", 1);
  ASSERT_TRUE(succeeds(R"({"create": "c"})"));
  ASSERT_TRUE(succeeds(R"({"create": "d"})"));
  ASSERT_TRUE(send(R"({"insert": "e", "documents": [{"a": 1}]})", lsid('a', 1), 0)["ok"].truthy());
  LockHolder first(server.locks, "test.c", storage::LockMode::kX);
  LockHolder second(server.locks, "test.d", storage::LockMode::kX);
  const auto ends = begin(R"({"insert": "c", "documents": [{"a": 1}]})", lsid(), 2);
  const auto goesOn = begin(R"({"insert": "d", "documents": [{"a": 1}], "stmtIds": [7]})", lsid(), 2);
  first.release();
  for (int steps = 0; !ends->done && steps < 100; ++steps) server.node.advance(10ms);
  ASSERT_TRUE(ends->done);
  server.node.advance(100ms);
  EXPECT_EQ(records(), std::vector<bson::Document>{lsid()});
  EXPECT_TRUE(server.server->sessionCatalog->families()[0].inUse);
  second.release();
  for (int steps = 0; !goesOn->done && steps < 100; ++steps) server.node.advance(10ms);
  ASSERT_TRUE(goesOn->done);
  const bson::Document reply = goesOn->takeReply();
  EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
  EXPECT_TRUE(send(R"({"insert": "c", "documents": [{"a": 1}]})", lsid(), 2)["retriedStmtIds"].ok())
      << "statement 0 of number 2 was executed";
}

TEST_F(ChildSessionTest, WhatWasGatheredIsLostWithTheTerm) {  // SES-012
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"a": 1}]})";
  ASSERT_TRUE(send(kInsert, lsid('a', 1), 0)["ok"].truthy());
  ASSERT_TRUE(send(kInsert, lsid(), 2)["ok"].truthy());
  EXPECT_EQ(reaper()["gathered"].toInt64(), 1);
  ASSERT_TRUE(succeeds(R"({"replSetStepDown": 1, "force": true})", "admin"));
  untilPrimary(server);
  set("internalSessionsReapThreshold", 1);
  ASSERT_TRUE(send(R"({"insert": "c", "documents": [{"a": 1}], "stmtId": 1})", lsid('b', 2), 0)["ok"].truthy());
  ASSERT_TRUE(send(kInsert, lsid(), 3)["ok"].truthy());
  server.node.run();
  EXPECT_EQ(records(), (std::vector<bson::Document>{lsid(), lsid('a', 1)})) << "the periodic reaping finds it";
}

/// SES-013: what an operation of the old term has begun ends with the role; the next reads what is true then.
TEST_F(ChildSessionTest, AStepDownEndsTheOperationOfAChild) {
  ASSERT_TRUE(succeeds(R"({"create": "c"})"));
  constexpr const char* kInsert = R"({"insert": "c", "documents": [{"a": 1}]})";
  LockHolder holder(server.locks, "test.c", storage::LockMode::kX);
  const auto first = begin(kInsert, lsid('a', 1), 0);
  constexpr const char* kAnother = R"({"insert": "c", "documents": [{"a": 1}], "stmtId": 1})";
  const auto waiting = begin(kAnother, lsid(), 1);
  holder.release();
  ASSERT_TRUE(succeeds(R"({"replSetStepDown": 1, "force": true})", "admin"));
  for (int steps = 0; !(first->done && waiting->done) && steps < 100; ++steps) server.node.advance(10ms);
  ASSERT_TRUE(first->done && waiting->done);
  untilPrimary(server);
  EXPECT_FALSE(server.server->sessionCatalog->families()[0].inUse);
  EXPECT_TRUE(send(kInsert, lsid('a', 1), 0)["ok"].truthy());
  EXPECT_TRUE(send(kAnother, lsid(), 1)["ok"].truthy());
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 2u) << "each once, whichever attempt did it";
}

}  // namespace troupe::commands
