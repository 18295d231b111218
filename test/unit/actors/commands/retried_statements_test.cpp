// Retries whose answers cannot be read any more, and those that name another collection.
#include "actors/commands/retried_statements.hpp"

#include "actors/server/namespace_resolution.hpp"
#include "storage/sessions/retryable_writes.hpp"
#include "test/unit/actors/commands/retryable_write_fixture.hpp"

namespace troupe::commands {
using namespace server;

/// A command under number 1 that has its session, and knows what records and log say of it.
class LostAnswerTest : public RetryableWriteTest {
 protected:
  LostAnswerTest() {
    EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})"));
    EXPECT_TRUE(send(R"({"findAndModify": "c", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}})", 1)["ok"].truthy());
  }
  void TearDown() override {
    statements_.reset();
    exchange_.reset();
    RetryableWriteTest::TearDown();
  }

  void begin() {
    statements_.reset();
    exchange_ = std::make_unique<Exchange>(wire::buildRequest(1, "test", bson::doc("findAndModify", "c"), {}, 0),
                                           *server.server, *server.client, server.time->now());
    const bson::Document found = run(R"({"find": "transactions"})", "config");
    writes_.emplace(bson::Document(found.view().at("cursor.firstBatch.0._id").asDocument()), tables_);
    storage::OperationContext& operation = exchange_->operation;
    EXPECT_TRUE(writes_->load(operation, 1).isOK());
    while (!writes_->isLoaded()) EXPECT_TRUE(writes_->loadMore(operation, *server.server->oplog).isOK());
    operation.recoveryUnit().abandonSnapshot();
    operation.session.txnNumber = 1;
    operation.setWriteTerm(termOf(server));
    operation.retryable = &*writes_;
    statements_.emplace(exchange_->request);
  }
  AuthorizedNamespace ns() const {
    return *NamespaceResolution::resolve(exchange_->request, storage::Namespace("test", "c"), auth::ActionSet());
  }
  /// What the command answers while the node is the primary, when it has stepped down, and in another term.
  void expectCodes(const std::function<Status()>& answer) {
    storage::WriteFence& fence = server.server->operations.replicated->fence;
    const int64_t term = termOf(server);
    EXPECT_EQ(answer().code(), ErrorCode::kIncompleteTransactionHistory);
    fence.close([] {});
    EXPECT_EQ(answer().code(), ErrorCode::kNotWritablePrimary);
    fence.open(term + 1);
    EXPECT_EQ(answer().code(), ErrorCode::kInterruptedDueToReplStateChange);
    fence.close([] {});
    fence.open(term);
  }

  std::unique_ptr<Exchange> exchange_;
  const storage::SessionTables tables_{*server.catalog};
  std::optional<storage::RetryableWrites> writes_;
  std::optional<RetriedStatements> statements_;
};

/// Drivers send the command again, to the primary that knows what has become of the write.
TEST_F(LostAnswerTest, OfADocumentThatWasKept) {
  const bson::Document update = R"({"u": {"$inc": {"n": 1}}})"_json;
  Modification what;
  what.update = update["u"];
  begin();
  EXPECT_TRUE(statements_->outcomeWithDocument(ns(), what).isOK());
  ASSERT_TRUE(succeeds(R"({"delete": "image_collection", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  begin();
  expectCodes([&] { return statements_->outcomeWithDocument(ns(), what).status(); });
}

TEST_F(LostAnswerTest, OfAnEntryThatIsGone) {
  begin();
  EXPECT_TRUE(statements_->outcomeOf(0, ns(), /*removes=*/false).isOK());
  writes_->note(0, {termOf(server), {1, 1}});
  expectCodes([&] { return statements_->outcomeOf(0, ns(), /*removes=*/false).status(); });
}

/// The answer of an insert shows no document.
TEST_F(LostAnswerTest, AnInsertIsAnsweredWithoutItsEntry) {
  begin();
  writes_->note(0, {termOf(server), {1, 1}});
  storage::WriteFence& fence = server.server->operations.replicated->fence;
  const auto inserted = statements_->contains(0, ns());
  ASSERT_TRUE(inserted.isOK()) << inserted.status().toString();
  EXPECT_TRUE(*inserted);
  const int64_t term = termOf(server);
  fence.close([] {});
  EXPECT_EQ(statements_->contains(0, ns()).status(), ErrorCode::kNotWritablePrimary);
  fence.open(term);
}

TEST_F(LostAnswerTest, OfAHistoryThatEndsTooEarly) {
  ASSERT_TRUE(succeeds(R"({"update": "transactions", "updates": [
      {"q": {}, "u": {"$set": {"lastWriteOpTime.ts": {"$timestamp": {"t": 1, "i": 1}}}}}]})",
                       "config"));
  begin();
  expectCodes([&] { return statements_->contains(0, ns()).status(); });
}

/// A first attempt in one collection, and then a command of the same number that names another one.
class OtherCollectionTest : public RetryableWriteTest {
 protected:
  OtherCollectionTest() {
    EXPECT_TRUE(succeeds(R"({"insert": "secret", "documents": [{"_id": 1, "n": 0}, {"_id": 2, "n": 0}]})"));
    EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 1, "n": 0}]})"));
  }
  static std::string in(std::string command, std::string_view collection) {
    for (size_t at; (at = command.find('%')) != std::string::npos;) command.replace(at, 1, collection);
    return command;
  }
  void expectRefusal(const std::string& command, std::string_view collection, std::string_view db = "test") {
    const bson::Document reply = send(in(command, collection), number_, db);
    EXPECT_EQ(reply["code"].toInt64(), kAnotherStatement) << command << bson::toRelaxedJson(reply);
    EXPECT_EQ(bson::toRelaxedJson(reply).find("test.secret"), std::string::npos) << "nor is the client told of it";
  }
  void expectThatOnlyItsCollectionAnswers(const std::string& command) {
    const bson::Document first = send(in(command, "secret"), ++number_);
    EXPECT_TRUE(first["ok"].truthy()) << bson::toRelaxedJson(first);
    expectRefusal(command, "c");
    expectRefusal(command, "secret", "other");
    const bson::Document again = send(in(command, "secret"), number_);
    EXPECT_EQ(retried(again), "0");
    EXPECT_EQ(shown(again), shown(first));
  }

  int64_t number_ = 0;
};

/// Whether their documents are kept aside or in the log.
TEST_F(OtherCollectionTest, AFindAndModifyShowsNoDocumentsOfIt) {
  for (const char* aside : {"true", "false"}) {
    ASSERT_TRUE(succeeds(
        std::string(R"({"setParameter": 1, "storeFindAndModifyImagesInSideCollection": )") + aside + "}", "admin"));
    const std::string increment = R"({"findAndModify": "%", "query": {"_id": 1}, "update": {"$inc": {"n": 1}})";
    expectThatOnlyItsCollectionAnswers(increment + "}");
    expectThatOnlyItsCollectionAnswers(increment + R"(, "new": true})");
    expectThatOnlyItsCollectionAnswers(
        R"({"findAndModify": "%", "query": {"_id": 7}, "update": {"$inc": {"n": 1}}, "new": true, "upsert": true})");
    expectThatOnlyItsCollectionAnswers(R"({"findAndModify": "%", "query": {"_id": 7}, "remove": true})");
  }
  EXPECT_EQ(batch(R"({"find": "c"})"), std::vector<std::string>({R"({ "_id" : 1, "n" : 0 })"}));
}

TEST_F(OtherCollectionTest, WritesAreNotTakenForDone) {
  expectThatOnlyItsCollectionAnswers(R"({"insert": "%", "documents": [{"_id": 8}]})");
  expectThatOnlyItsCollectionAnswers(R"({"update": "%", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}}]})");
  expectThatOnlyItsCollectionAnswers(
      R"({"update": "%", "updates": [{"q": {"_id": 9}, "u": {"$inc": {"n": 1}}, "upsert": true}]})");
  expectThatOnlyItsCollectionAnswers(R"({"delete": "%", "deletes": [{"q": {"_id": 2}, "limit": 1}]})");
  EXPECT_EQ(batch(R"({"find": "c"})"), std::vector<std::string>({R"({ "_id" : 1, "n" : 0 })"}));
}

/// Each operation of a bulk is a statement of its own namespace.
TEST_F(OtherCollectionTest, BulksAreNotTakenForDone) {
  const std::string bulk =
      R"({"bulkWrite": 1, "ordered": false, "nsInfo": [{"ns": "test.%"}, {"ns": "test.c"}], "ops": [
      {"insert": 0, "document": {"_id": 20}}, {"update": 0, "filter": {"_id": 1}, "updateMods": {"$inc": {"n": 1}}},
      {"delete": 0, "filter": {"_id": 2}}, {"insert": 1, "document": {"_id": 21}}]})";
  const bson::Document first = send(in(bulk, "secret"), 1, "admin"), other = send(in(bulk, "c"), 1, "admin");
  for (const char* row : {"0", "1", "2"})
    EXPECT_EQ(other.view().at("cursor.firstBatch." + std::string(row) + ".code").toInt64(), kAnotherStatement)
        << bson::toRelaxedJson(other);
  EXPECT_EQ(retried(other), "3") << "that one was of the same collection";
  const bson::Document again = send(in(bulk, "secret"), 1, "admin");
  EXPECT_EQ(retried(again), "0, 1, 2, 3");
  EXPECT_EQ(shown(again), shown(first));
  EXPECT_EQ(batch(R"({"find": "c"})").size(), 2u);
}

/// The name counts that the collection had when it was written.
TEST_F(OtherCollectionTest, ARetryGivesTheNameOfItsFirstAttempt) {
  const std::string change = R"({"findAndModify": "%", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}})";
  const std::string insert = R"({"insert": "%", "documents": [{"_id": 8}]})";
  for (const std::string& command : {change, insert}) {
    const bson::Document first = send(in(command, "secret"), ++number_);
    ASSERT_TRUE(succeeds(R"({"renameCollection": "test.secret", "to": "test.moved"})", "admin"));
    EXPECT_EQ(shown(send(in(command, "secret"), number_)), shown(first));
    expectRefusal(command, "moved");
    ASSERT_TRUE(succeeds(R"({"renameCollection": "test.moved", "to": "test.secret"})", "admin"));
  }
  const bson::Document first = send(in(change, "secret"), ++number_);
  ASSERT_TRUE(succeeds(R"({"drop": "secret"})"));
  EXPECT_EQ(shown(send(in(change, "secret"), number_)), shown(first));
}

}  // namespace troupe::commands
