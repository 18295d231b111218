// Retries whose answers cannot be read any more.
#include "actors/commands/retried_statements.hpp"

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
  EXPECT_TRUE(statements_->outcomeWithDocument(what).isOK());
  ASSERT_TRUE(succeeds(R"({"delete": "image_collection", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  begin();
  expectCodes([&] { return statements_->outcomeWithDocument(what).status(); });
}

TEST_F(LostAnswerTest, OfAnEntryThatIsGone) {
  begin();
  EXPECT_TRUE(statements_->outcomeOf(0, /*removes=*/false).isOK());
  writes_->note(0, {termOf(server), {1, 1}});
  expectCodes([&] { return statements_->outcomeOf(0, /*removes=*/false).status(); });
}

TEST_F(LostAnswerTest, OfAHistoryThatEndsTooEarly) {
  ASSERT_TRUE(succeeds(R"({"update": "transactions", "updates": [
      {"q": {}, "u": {"$set": {"lastWriteOpTime.ts": {"$timestamp": {"t": 1, "i": 1}}}}}]})",
                       "config"));
  begin();
  expectCodes([&] { return statements_->contains(0).status(); });
}

}  // namespace troupe::commands
