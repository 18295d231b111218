// Cursors that end, are interrupted or use up their time while a command works on them.
#include "actors/commands/cursor_batches.hpp"

#include "test/unit/actors/commands/command_fixture.hpp"
#include "test/unit/actors/commands/hooked_stream.hpp"

namespace troupe::commands {
namespace {

class CursorBatchesTest : public CommandTest {
 protected:
  CursorBatchesTest() { fill("c", 10); }

  /// Opens the only cursor of the test, which has given two of ten documents.
  int64_t open(std::string_view more = "") {
    const bson::Document reply = run(R"({"find": "c", "batchSize": 2)" + std::string(more) + "}");
    EXPECT_TRUE(reply["ok"].truthy()) << bson::toRelaxedJson(reply);
    return reply.view().at("cursor.id").toInt64();
  }
  static bson::Document getMore(int64_t id, int64_t batchSize = 2) {
    return bson::doc("getMore", id, "collection", "c", "batchSize", batchSize);
  }
  static int64_t codeOf(const bson::Document& reply) { return reply["ok"].truthy() ? 0 : reply["code"].toInt64(-1); }
  /// The code of a getMore whose cursor is ended so while its batch is filled; 0: it succeeds.
  int64_t codeWhenEnded(const std::function<void(int64_t id)>& end) {
    const int64_t id = open();
    hookOpenCursor(server, {.act = [id, end] { end(id); }});
    const int64_t code = codeOf(server.run(getMore(id)));
    EXPECT_EQ(server.cursors.statistics().open, 0);
    return code;
  }
  int64_t openCursors() const { return server.cursors.statistics().open; }
  /// Runs a command whose operation is killed before it does anything.
  std::shared_ptr<Exchange> runKilled(bson::View command) {
    auto exchange = std::make_shared<Exchange>(wire::buildRequest(++server.lastRequest, "test", command, {}, 0),
                                               *server.server, *server.client, server.time->now());
    exchange->operation.kill(ErrorCode::kInterrupted);
    server.node.start(dispatched(exchange));
    server.node.run();
    return exchange;
  }

 private:
  static Task<void> dispatched(std::shared_ptr<Exchange> exchange) {
    co_await dispatch(exchange->request);
    exchange->done = true;
  }
};

TEST_F(CursorBatchesTest, EachCommandCountsWhatItHasExamined) {
  const int64_t before = server.server->counters.documentsExamined;
  const int64_t id = open();
  for (int batch = 0; batch < 3; ++batch) ASSERT_EQ(codeOf(server.run(getMore(id))), 0);
  EXPECT_EQ(server.server->counters.documentsExamined - before, 8);
}

/// With the id 0 and `ok` its client would take it for exhausted, and miss the rest.
TEST_F(CursorBatchesTest, ACursorThatIsKilledWhileItIsReadIsNotExhausted) {
  EXPECT_EQ(codeWhenEnded([this](int64_t id) { server.cursors.kill(id); }), 237);
  EXPECT_EQ(codeWhenEnded([this](int64_t id) { server.cursors.forget(id); }), 237);
}

TEST_F(CursorBatchesTest, InUseOrIdleACursorTellsTheSameOfItsCollectionsEnd) {
  const auto all = [](const ClientCursor&) { return true; };
  EXPECT_EQ(codeWhenEnded([&](int64_t) { server.cursors.killIf(all); }), 175);
  const int64_t idle = open();
  server.cursors.killIf(all);
  EXPECT_EQ(codeOf(server.run(getMore(idle))), 175);
  EXPECT_EQ(codeWhenEnded([&](int64_t) { server.cursors.killIf(all, CursorRegistry::Afterwards::kNotFound); }), 237);
}

TEST_F(CursorBatchesTest, TheReasonOfItsOperationGoesFirst) {
  const auto end = [this](int64_t id) {
    server.client->withOperation(
        [](storage::OperationContext& operation) { operation.kill(ErrorCode::kInterruptedDueToReplStateChange); });
    server.cursors.kill(id);
  };
  EXPECT_EQ(codeWhenEnded(end), static_cast<int64_t>(ErrorCode::kInterruptedDueToReplStateChange));
}

TEST_F(CursorBatchesTest, ABatchThatHasTheLastResultIsAnsweredAlsoOfAKilledCursor) {
  const int64_t id = open();
  hookOpenCursor(server, {.act = [this, id] { server.cursors.kill(id); }});
  const bson::Document reply = server.run(getMore(id, 100));
  EXPECT_TRUE(holds(reply, R"({"ok": 1, "cursor": {"id": 0}})"_json));
  EXPECT_EQ(reply.view().at("cursor.nextBatch").asArray().count(), 8u);
}

TEST_F(CursorBatchesTest, AFindThatIsKilledLeavesNoCursor) {
  const int64_t before = server.cursors.statistics().totalOpened;
  const auto killed = runKilled(R"({"find": "c", "batchSize": 2})"_json);
  ASSERT_TRUE(killed->done);
  EXPECT_EQ(codeOf(killed->takeReply()), static_cast<int64_t>(ErrorCode::kInterrupted));
  EXPECT_EQ(server.cursors.statistics().totalOpened, before + 1) << "a killer of cursors had to find it";
  EXPECT_EQ(openCursors(), 0) << "its client has no id to go on with, or to kill it by";
}

/// maxTimeMS is the time of the cursor's work, as if it were one command.
TEST_F(CursorBatchesTest, TheTimeOfACursorIsUsedUpByItsGetMores) {
  const int64_t id = open(R"(, "maxTimeMS": 100)");
  hookOpenCursor(server, {.act = [this] { server.time->advance(15ms); }});
  EXPECT_EQ(codeOf(server.run(getMore(id))), 0) << "a yield and two results: 45 ms";
  server.node.advance(10s);
  EXPECT_EQ(codeOf(server.run(getMore(id))), 0) << "what the client takes does not count";
  EXPECT_EQ(codeOf(server.run(getMore(id))), 50);
  EXPECT_EQ(openCursors(), 0);
}

TEST_F(CursorBatchesTest, AStreamsPauseEndsWithItsOperation) {
  const int64_t id = open();
  hookOpenCursor(server, {.pause = 1h});
  const auto waiting = server.begin(getMore(id));
  ASSERT_FALSE(waiting->done);
  waiting->operation.kill(ErrorCode::kInterrupted);
  server.node.run();
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(codeOf(waiting->takeReply()), static_cast<int64_t>(ErrorCode::kInterrupted));
}

TEST_F(CursorBatchesTest, AStreamsPauseEndsWhenTheTimeIsOver) {
  const int64_t id = open(R"(, "maxTimeMS": 100)");
  hookOpenCursor(server, {.pause = 1h});
  const auto waiting = server.begin(getMore(id));
  server.node.advance(99ms);
  ASSERT_FALSE(waiting->done);
  server.node.advance(1ms);
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(codeOf(waiting->takeReply()), 50);
}

TEST_F(CursorBatchesTest, AStreamGoesOnAfterItsPause) {
  const int64_t id = open();
  hookOpenCursor(server, {.pause = 50ms});
  const auto waiting = server.begin(getMore(id));
  server.node.advance(49ms);
  ASSERT_FALSE(waiting->done);
  server.node.advance(1ms);
  ASSERT_TRUE(waiting->done);
  EXPECT_EQ(waiting->takeReply().view().at("cursor.nextBatch").asArray().count(), 2u);
}

TEST_F(CursorBatchesTest, ARefusedGetMoreLeavesTheCursorAsItWas) {
  const int64_t id = open();
  EXPECT_EQ(codeOf(server.run(bson::doc("getMore", id, "collection", "c", "maxTimeMS", 5))), 2);
  EXPECT_EQ(codeOf(server.run(getMore(id))), 0);
}

}  // namespace
}  // namespace troupe::commands
