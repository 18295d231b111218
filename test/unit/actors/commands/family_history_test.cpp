// Statements of a retryable write that are sent again through another session of the family (SES-017).
#include "test/unit/actors/commands/child_session_fixture.hpp"

#include <limits>

namespace troupe::commands {
using namespace server;

class FamilyHistoryTest : public ChildSessionTest {
 protected:
  static constexpr const char* kInsert = R"({"insert": "c", "documents": [{"a": 1}]})";
  static constexpr const char* kSecond = R"({"insert": "c", "documents": [{"a": 2}], "stmtId": 1})";
  static constexpr const char* kChange = R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}})";
  static constexpr int64_t kIncomplete = 217;

  SessionCatalog& catalog() const { return *server.server->sessionCatalog; }
  void forgetFamily() { ASSERT_TRUE(catalog().forget(catalog().families().at(0).key)); }
  void beginTerm() {
    ASSERT_TRUE(succeeds(R"({"replSetStepDown": 1, "force": true})", "admin"));
    untilPrimary(server);
  }
  size_t documents() { return static_cast<size_t>(run(R"({"count": "c"})")["n"].toInt64()); }
  void expectNew(std::string_view command, const bson::Document& session, int64_t number) {
    const bson::Document reply = send(command, session, number);
    EXPECT_TRUE(reply["ok"].truthy() && !reply["retriedStmtIds"].ok()) << bson::toRelaxedJson(reply);
  }
  void expectRetried(std::string_view command, const bson::Document& session, int64_t number) {
    const bson::Document reply = send(command, session, number);
    EXPECT_TRUE(reply["ok"].truthy() && reply["retriedStmtIds"].ok()) << bson::toRelaxedJson(reply);
  }
  /// Of number 4: a statement that ran in one child, and one that ran in the parent, through every other session.
  void expectAllKnown(char another) {
    expectRetried(kInsert, lsid(), 4);
    expectRetried(kInsert, lsid(another, 4), 0);
    expectRetried(kSecond, lsid(another, 4), 0);
    expectRetried(kSecond, lsid('c', 4), 0);
    EXPECT_EQ(documents(), 2u);
  }
};

TEST_F(FamilyHistoryTest, AStatementIsExecutedInOneOfThem) {
  expectNew(kInsert, lsid('c', 4), 0);
  expectNew(kSecond, lsid(), 4);
  expectAllKnown('d');
  expectNew(kInsert, lsid('e'), 4);  // one without a number has no part in it
  expectNew(kInsert, lsid('c', 5), 0);
  expectNew(kSecond, lsid('c', 5), 1);
  EXPECT_EQ(documents(), 5u);
}

TEST_F(FamilyHistoryTest, IsReadAgainInAnotherTermAndWhenTheFamilyWasForgotten) {
  expectNew(kInsert, lsid('c', 4), 0);
  expectNew(kSecond, lsid(), 4);
  forgetFamily();
  expectAllKnown('d');
  beginTerm();
  expectAllKnown('e');
  forgetFamily();
  expectRetried(kSecond, lsid('f', 4), 0);
  forgetFamily();
  expectRetried(kInsert, lsid('g', 4), 0);
}

TEST_F(FamilyHistoryTest, WhatAChildDidUnderAnEarlierNumberOfItsOwnCounts) {
  expectNew(kInsert, lsid('c', 4), 0);
  expectNew(kSecond, lsid('c', 4), 1);
  expectRetried(kInsert, lsid('c', 4), 1);
  forgetFamily();
  expectRetried(kInsert, lsid('d', 4), 0);
  forgetFamily();
  expectRetried(kInsert, lsid('c', 4), 2);
  beginTerm();
  expectRetried(kInsert, lsid(), 4);
  EXPECT_EQ(documents(), 2u);
}

TEST_F(FamilyHistoryTest, ChildrenOfTheGreatestNumberAreFound) {
  constexpr auto kGreatest = std::numeric_limits<int64_t>::max();
  expectNew(kInsert, lsid('c', kGreatest), 0);
  beginTerm();
  expectRetried(kInsert, lsid(), kGreatest);
  EXPECT_EQ(documents(), 1u);
}

/// The parent's present number is older, so it has done nothing under that of the child.
TEST_F(FamilyHistoryTest, OtherNumbersOfTheParentAreNotMeant) {
  expectNew(kInsert, lsid(), 3);
  expectNew(kInsert, lsid('c', 4), 0);
  forgetFamily();
  expectNew(kSecond, lsid('d', 4), 0);
  expectNew(kInsert, lsid(), 5);
  expectNew(kInsert, lsid('d', 6), 0);
  EXPECT_EQ(codeOf(kSecond, lsid('d', 4), 0), kTooOld);
  expectNew(kSecond, lsid(), 6);  // what the late one has read is not of this number
  EXPECT_EQ(documents(), 6u);
}

TEST_F(FamilyHistoryTest, AnOlderNumberOfTheParentIsRefusedForTheRecordsOfItsChildren) {
  expectNew(kInsert, lsid(), 3);
  expectNew(kInsert, lsid('c', 4), 0);
  beginTerm();
  EXPECT_EQ(codeOf(kSecond, lsid(), 3), kTooOld);
  expectRetried(kInsert, lsid(), 4);
}

TEST_F(FamilyHistoryTest, AnEditIsTakenForTrue) {  // SES-013
  expectNew(kInsert, lsid('c', 4), 0);
  expectRetried(kInsert, lsid(), 4);
  ASSERT_TRUE(succeeds(R"({"delete": "transactions", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  expectNew(kInsert, lsid(), 4);
  expectRetried(kInsert, lsid('d', 4), 0);
  EXPECT_EQ(documents(), 2u);
}

TEST_F(FamilyHistoryTest, ChildrenThatAreNotRememberedCountAlike) {
  constexpr int kChildren = static_cast<int>(sessions::SessionLife::kMostChildren) + 10;
  for (int i = 0; i < kChildren; ++i)
    expectNew(R"({"insert": "c", "documents": [{"a": 1}], "stmtId": )" + std::to_string(i) + "}",
              lsid(static_cast<char>(i), 4), 0);
  ASSERT_EQ(catalog().families().at(0).children, sessions::SessionLife::kMostChildren);
  expectRetried(kInsert, lsid(), 4);
  forgetFamily();
  expectRetried(kInsert, lsid(), 4);
  EXPECT_EQ(documents(), static_cast<size_t>(kChildren));
}

TEST_F(FamilyHistoryTest, OneThatHasDoneVeryMuchIsReadAgain) {
  constexpr auto kMany = static_cast<int>(SessionCatalog::kMostStatements) + 100;
  std::string many = R"({"insert": "c", "documents": [{"a": 1})";
  for (int i = 1; i < kMany; ++i) many += R"(, {"a": 1})";
  many += "]}";
  expectNew(many, lsid('c', 4), 0);
  for (const bson::Document& session : {lsid(), lsid('d', 4)}) {
    const int64_t number = session.view().has("txnUUID") ? 0 : 4;
    const bson::Document reply = send(many, session, number);
    ASSERT_TRUE(reply["retriedStmtIds"].ok()) << bson::toRelaxedJson(reply);
    EXPECT_EQ(reply["retriedStmtIds"].asArray().count(), static_cast<size_t>(kMany));
  }
  EXPECT_EQ(documents(), static_cast<size_t>(kMany));
}

TEST_F(FamilyHistoryTest, ADocumentThatAChildHasKeptAnswersForIt) {  // SES-022
  ASSERT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})"));
  const bson::Document first = send(kChange, lsid('c', 4), 7), again = send(kChange, lsid(), 4);
  EXPECT_EQ(first.view().at("value.n").toInt64(-1), 0);
  EXPECT_EQ(again.view().at("value.n").toInt64(-1), 0) << bson::toRelaxedJson(again);
  EXPECT_TRUE(again["retriedStmtId"].ok());
  EXPECT_EQ(batch(R"({"find": "c"})"), std::vector<std::string>({R"({ "_id" : 1, "n" : 1 })"}));
}

TEST_F(FamilyHistoryTest, WhereTheLogOfAChildIsTruncatedNobodyKnows) {
  expectNew(kInsert, lsid('c', 4), 0);
  expectNew(kSecond, lsid(), 4);
  ASSERT_TRUE(succeeds(R"({"update": "transactions", "updates": [{"q": {"_id.txnUUID": {"$exists": true}},
                           "u": {"$set": {"lastWriteOpTime.ts": {"$timestamp": {"t": 1, "i": 1}}}}}]})",
                       "config"));
  EXPECT_EQ(codeOf(kInsert, lsid(), 4), kIncomplete);
  expectRetried(kSecond, lsid('d', 4), 0);
  EXPECT_EQ(codeOf(kInsert, lsid('d', 4), 0), kIncomplete);
}

class FamilyReadTest : public FamilyHistoryTest {
 protected:
  /// Takes the session, and reads what its family has done: how many turns that takes.
  int turns(storage::OperationContext& operation, const bson::Document& session, int64_t number) {
    auto wanted = storage::SessionId::parse(session);
    auto taken = catalog().checkOut(server.node, operation, *wanted);
    auto out = server.node.wait(std::move(taken));
    EXPECT_TRUE(out.isOK());
    if (!out.isOK()) return 0;
    const storage::OplogStore& log = *server.server->oplog;
    const int64_t own = wanted->isChild() ? 0 : number;
    EXPECT_TRUE(out->bringUpToDate(operation, log, termOf(server), own).isOK());
    EXPECT_TRUE(out->begin(operation, own).isOK());
    for (int turn = 1;; ++turn) {
      const auto isKnown = out->bringFamilyUpToDate(operation, log);
      EXPECT_TRUE(isKnown.isOK());
      reserved = server.server->operations.memory->reserved();
      if (!isKnown.isOK() || *isKnown) return turn;
      EXPECT_FALSE(operation.recoveryUnit().isActive());
    }
  }
  /// Whether that reads anything of the storage.
  bool reads(const bson::Document& session, int64_t number) {
    storage::OperationContext operation(server.server->operations, storage::OperationOrigin::kClient, 0,
                                        server.time->now());
    turns(operation, session, number);
    return operation.hasRecoveryUnit();
  }
  int64_t reserved = 0;  ///< of the node's memory, after the last turn
};

TEST_F(FamilyReadTest, ASessionWithoutChildrenReadsNothing) {
  expectNew(kInsert, lsid(), 3);
  EXPECT_FALSE(reads(lsid(), 3));
  EXPECT_FALSE(reads(lsid(), 4)) << "a new number";
  EXPECT_FALSE(reads(lsid(), 4));
  forgetFamily();
  EXPECT_TRUE(reads(lsid(), 4));
  EXPECT_FALSE(reads(lsid(), 5));
}

TEST_F(FamilyReadTest, ManyChildrenAreReadInSeveralTurnsAndCountForTheNode) {
  constexpr int kChildren = 150, kStatements = 6;
  for (int i = 0; i < kChildren; ++i) {
    const std::string from = std::to_string(i * kStatements);
    std::string ids = from;
    for (int statement = 1; statement < kStatements; ++statement)
      ids += ", " + std::to_string(i * kStatements + statement);
    expectNew(R"({"insert": "c", "documents": [{}, {}, {}, {}, {}, {}], "stmtIds": [)" + ids + "]}",
              lsid(static_cast<char>(i), 4), 0);
  }
  forgetFamily();
  const storage::MemoryGovernor& memory = *server.server->operations.memory;
  const int64_t before = memory.reserved();
  {
    storage::OperationContext operation(server.server->operations, storage::OperationOrigin::kClient, 0,
                                        server.time->now());
    EXPECT_EQ(turns(operation, lsid(), 4), 3);
    EXPECT_GT(reserved, before);
  }
  EXPECT_EQ(memory.reserved(), before);
  EXPECT_EQ(documents(), size_t{kChildren} * kStatements);
}

}  // namespace troupe::commands
