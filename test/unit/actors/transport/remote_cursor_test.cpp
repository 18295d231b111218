// Cursors of one node that run on another, over a link, on virtual time.
#include "actors/transport/cursor_sender.hpp"
#include "actors/transport/remote_command.hpp"
#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/commands/hooked_stream.hpp"
#include "test/unit/actors/transport/remote_command_fixture.hpp"

namespace troupe::transport {
namespace {

class RemoteCursorTest : public RemoteCommandTest {
 protected:
  RemoteCursorTest() { fill(2000, 1000); }
  using Opened = StatusWith<std::unique_ptr<RemoteCursor>>;
  using Batch = StatusWith<std::vector<bson::View>>;
  static constexpr CursorOptions kSmall{.credit = 64 * 1024, .batchBytes = 16 * 1024};

  std::unique_ptr<RemoteCursor> open(bson::Document command, CursorOptions options = kSmall) {
    auto opened = begin(RemoteCursor::open(a->node, "b:2", "test", std::move(command), options));
    EXPECT_TRUE(*opened && (**opened).isOK()) << (*opened ? (**opened).status().toString() : "no answer");
    return *opened && (**opened).isOK() ? std::move(***opened) : nullptr;
  }
  /// The `_id`s of all that is left, or the failure.
  StatusWith<std::vector<int64_t>> rest(RemoteCursor& cursor) {
    std::vector<int64_t> ids;
    for (;;) {
      const auto batch = begin(cursor.next());
      if (!*batch) return Status(ErrorCode::kInternalError, "no batch came");
      if (!(**batch).isOK()) return (**batch).status();
      if ((***batch).empty()) return ids;
      for (const bson::View document : ***batch) ids.push_back(document["_id"].toInt64());
    }
  }
  static bson::Document all() { return R"({"find": "c", "sort": {"_id": 1}})"_json; }
  static Task<Answer> stolen(Node& node, Address sender, Payload wanted) {
    co_return co_await node.ask(sender, std::move(wanted));
  }
  std::vector<std::string> senders() {
    std::vector<std::string> paths;
    for (const auto& row : server.node.registry().rows({.type = "RemoteCursor"})) paths.push_back(row.path);
    return paths;
  }
};

TEST_F(RemoteCursorTest, GivesEveryDocumentOnceAndInOrder) {
  for (const size_t credit : {16 * 1024, 64 * 1024, 4 * 1024 * 1024}) {
    auto options = kSmall;
    options.credit = credit;
    auto cursor = open(all(), options);
    ASSERT_TRUE(cursor);
    const auto ids = rest(*cursor);
    ASSERT_TRUE(ids.isOK()) << ids.status().toString();
    ASSERT_EQ(ids->size(), 2000u);
    for (int64_t i = 0; i < 2000; ++i) ASSERT_EQ((*ids)[static_cast<size_t>(i)], i);
    EXPECT_EQ(cursors(), 0);
    EXPECT_TRUE(senders().empty());
    EXPECT_EQ(remoteClients(), 0);
  }
}

TEST_F(RemoteCursorTest, ReadsAggregationsAndWhatFitsInOneBatch) {
  auto grouped = open(R"({"aggregate": "c", "pipeline": [{"$match": {"_id": {"$lt": 1500}}}], "cursor": {}})"_json);
  EXPECT_EQ(rest(*grouped)->size(), 1500u);
  auto one = open(R"({"find": "c", "filter": {"_id": 7}})"_json);
  EXPECT_EQ(*rest(*one), std::vector<int64_t>{7});
  auto none = open(R"({"find": "nothing"})"_json);
  EXPECT_TRUE(rest(*none)->empty());
  EXPECT_EQ(cursors(), 0);
}

TEST_F(RemoteCursorTest, ASlowReaderPausesTheSenderWithinItsCredit) {
  auto cursor = open(all());
  const int64_t before = server.server->counters.documentsReturned;
  advance(60s);
  const int64_t made = server.server->counters.documentsReturned;
  EXPECT_EQ(made, before) << "nothing is made that was not granted";
  EXPECT_LE(made * 1000, 101 * 1000 + 64 * 1024);
  EXPECT_EQ(rest(*cursor)->size(), 2000u) << "and the sender goes on when it is read";
}

TEST_F(RemoteCursorTest, ADocumentBeyondTheCreditComesAlone) {
  server.run(bson::doc("insert", "large", "documents",
                       std::vector{bson::doc("_id", 1, "pad", std::string(500'000, 'x')), bson::doc("_id", 2)}));
  auto cursor = open(R"({"find": "large", "batchSize": 0, "sort": {"_id": 1}})"_json);
  EXPECT_EQ(*rest(*cursor), (std::vector<int64_t>{1, 2}));
}

TEST_F(RemoteCursorTest, ClosingItEndsTheCursorThere) {
  auto cursor = open(all());
  EXPECT_EQ(cursors(), 1);
  EXPECT_EQ(senders().size(), 1u);
  cursor.reset();
  settle();
  EXPECT_EQ(cursors(), 0);
  EXPECT_TRUE(senders().empty());
  EXPECT_EQ(remoteClients(), 0);
}

TEST_F(RemoteCursorTest, TheEndOfTheLinkEndsBothSides) {
  auto cursor = open(all());
  pipes.at(0)->cut();
  settle();
  EXPECT_EQ(cursors(), 0);
  EXPECT_TRUE(senders().empty());
  EXPECT_EQ(rest(*cursor).status().code(), ErrorCode::kHostUnreachable);
  EXPECT_TRUE(rest(*cursor)->empty()) << "after a failure it has ended";
}

TEST_F(RemoteCursorTest, TheEndOfTheCursorThereIsAFailureHere) {
  auto cursor = open(all(), {.credit = 16 * 1024, .batchBytes = 16 * 1024});
  server.cursors.killIf([](const server::ClientCursor&) { return true; },
                        server::CursorRegistry::Afterwards::kNotFound);
  EXPECT_EQ(rest(*cursor).status().code(), ErrorCode::kCursorNotFound);
  settle();
  EXPECT_TRUE(senders().empty());
  auto other = open(all());
  server.node.kill(server.node.address(senders().at(0)), {ErrorCode::kInternalError, "it crashed"});
  settle();
  EXPECT_EQ(cursors(), 0);
  EXPECT_FALSE(rest(*other).isOK());
}

/// Without a failure the reader would take what it has for all there is.
TEST_F(RemoteCursorTest, OneThatIsKilledWhileABatchIsMadeIsAFailureHere) {
  auto cursor = open(all(), {.credit = 16 * 1024, .batchBytes = 16 * 1024});
  const auto end = [this] { server.cursors.killIf([](const server::ClientCursor&) { return true; }); };
  commands::hookOpenCursor(server, {.act = end});
  EXPECT_EQ(rest(*cursor).status().code(), ErrorCode::kQueryPlanKilled);
  EXPECT_EQ(cursors(), 0);
}

/// A write is killed between its first batch, with which the cursor is there, and the answer: it awaits the journal.
TEST_F(RemoteCursorTest, OneThatIsKilledAsItOpensIsAFailureHere) {
  const Status parked = server.node.wait(supervisors::controlActor(
      server.node, supervisors::kJournalFlusherPath, supervisors::ControlAction::kPark, "nothing is flushed"));
  ASSERT_TRUE(parked.isOK()) << parked.toString();
  const auto opened = begin(RemoteCursor::open(
      a->node, "b:2", "admin", R"({"bulkWrite": 1, "nsInfo": [{"ns": "test.d"}], "cursor": {"batchSize": 1},
                                   "ops": [{"insert": 0, "document": {"_id": 1}}, {"insert": 0, "document": {"_id": 2}}],
                                   "writeConcern": {"j": true}})"_json,
      kSmall));
  ASSERT_FALSE(*opened);
  ASSERT_EQ(cursors(), 1);
  server.node.requestStop(server.node.address(kCommandsPath));
  settle();
  ASSERT_TRUE(*opened);
  EXPECT_EQ((**opened).status().code(), ErrorCode::kInterruptedAtShutdown);
  EXPECT_EQ(cursors(), 0);
}

/// The commands of a node whose cursors are gone as soon as they are open.
class ClosesCursors final : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<schema::RunCommand>([](Received<schema::RunCommand>, Context context) {
      RemoteReply reply;
      reply.document = R"({"cursor": {"id": 7, "ns": "test.c", "firstBatch": [{"_id": 1}]}, "ok": 1})"_json;
      context.reply(replyPayload<schema::CursorOpened>(std::move(reply), [](auto) {}));
    })};
  }
};

TEST_F(RemoteCursorTest, OneThatHasMoreButNobodyToGiveItDoesNotOpen) {
  Member& other = add("c:3", settings());
  other.node.spawn<ClosesCursors>(kCommandsPath);
  tell(*a, local(link::ConnectPeer{"c:3"}));
  const auto opened = begin(RemoteCursor::open(a->node, "c:3", "test", all(), kSmall));
  ASSERT_TRUE(*opened);
  EXPECT_EQ((**opened).status().code(), ErrorCode::kCursorKilled);
}

TEST_F(RemoteCursorTest, WhatNobodyReadsForLongEnds) {
  auto cursor = open(all());
  advance(std::chrono::milliseconds(server.parameters.cursorTimeoutMillis) + 20s);
  EXPECT_EQ(cursors(), 0);
  EXPECT_TRUE(senders().empty());
  EXPECT_EQ(rest(*cursor).status().code(), ErrorCode::kCursorNotFound) << "its reader knows to begin anew";
}

TEST_F(RemoteCursorTest, GivesNothingToAnybodyElse) {
  auto cursor = open(all());
  ASSERT_EQ(senders().size(), 1u);
  const Address sender = server.node.address(senders().front());
  const auto wanted = build<schema::NextBatch>([](schema::NextBatch::Builder out) { out.setBytes(1 << 20); });
  const Answer answer = server.node.wait(stolen(server.node, sender, wanted));
  EXPECT_EQ(answer.status().code(), ErrorCode::kUnauthorized);
  EXPECT_EQ(rest(*cursor)->size(), 2000u);
}

/// A tailing cursor of a over a capped collection of b that has one document.
class RemoteTailTest : public RemoteCursorTest {
 protected:
  RemoteTailTest() {
    server.run(R"({"create": "log", "capped": true, "size": 100000})"_json);
    insert(1);
    cursor = open(R"({"find": "log", "tailable": true, "awaitData": true})"_json);
  }
  void TearDown() override {
    cursor.reset();
    RemoteCursorTest::TearDown();
  }
  void insert(int id) {
    server.run(bson::doc("insert", "log", "documents", std::vector{bson::doc("_id", id)}));
    settle();
  }
  using Next = Outcome<Batch>;
  Next next() { return begin(cursor->next()); }
  static std::vector<int64_t> ids(const Next& batch) {
    std::vector<int64_t> found;
    for (const bson::View document : ***batch) found.push_back(document["_id"].toInt64());
    return found;
  }
  int64_t batchesMade() {
    const auto details = server.node.wait(inspect(server.node, senders().at(0)));
    return details["batches"].toInt64();
  }
  static Task<bson::Document> inspect(Node& node, std::string path) {
    const auto details = co_await node.inspect(path, 1s);
    co_return details ? details->state : bson::Document();
  }
  std::unique_ptr<RemoteCursor> cursor;
};

// REP-015
TEST_F(RemoteTailTest, WaitsForNewsAndWakesWhenTheyAreWritten) {
  EXPECT_EQ(ids(next()), std::vector<int64_t>{1});
  const Next waiting = next();
  advance(500ms);
  EXPECT_FALSE(*waiting) << "nothing was written";
  insert(2);
  ASSERT_TRUE(*waiting) << "at once, not when its wait is over";
  EXPECT_EQ(ids(waiting), std::vector<int64_t>{2});
}

TEST_F(RemoteTailTest, ComesBackEmptyAfterASecondAndGoesOn) {
  EXPECT_EQ(ids(next()), std::vector<int64_t>{1});
  const Next idle = next();
  advance(999ms);
  EXPECT_FALSE(*idle);
  advance(1ms);
  ASSERT_TRUE(*idle && (**idle).isOK());
  EXPECT_TRUE(ids(idle).empty());
  const Next waiting = next();
  insert(2);
  ASSERT_TRUE(*waiting);
  EXPECT_EQ(ids(waiting), std::vector<int64_t>{2});
}

TEST_F(RemoteTailTest, AnEmptyFirstBatchIsOne) {  // REP-013
  cursor = open(R"({"find": "log", "filter": {"_id": {"$gt": 1}}, "tailable": true, "awaitData": true})"_json);
  const Next first = next();
  ASSERT_TRUE(*first && (**first).isOK());
  EXPECT_TRUE(ids(first).empty());
}

TEST_F(RemoteTailTest, NeitherSpinsNorEndsWhileItsReaderWaits) {
  EXPECT_EQ(ids(next()), std::vector<int64_t>{1});
  const int64_t before = batchesMade();
  const auto idle = std::chrono::milliseconds(server.parameters.cursorTimeoutMillis) + 60s;
  for (auto passed = 0ms; passed < idle; passed += 1000ms) {
    const Next waiting = next();
    advance(1s);
    ASSERT_TRUE(*waiting && (**waiting).isOK());
  }
  EXPECT_LE(batchesMade() - before, idle / 1s + 10);
  EXPECT_EQ(senders().size(), 1u);
  const Next waiting = next();
  insert(2);
  ASSERT_TRUE(*waiting);
  EXPECT_EQ(ids(waiting), std::vector<int64_t>{2});
}

TEST_F(RemoteTailTest, EndsWithAFailureAtOnceWhenItsCursorIsKilled) {
  EXPECT_EQ(ids(next()), std::vector<int64_t>{1});
  const Next waiting = next();
  server.cursors.killIf([](const server::ClientCursor&) { return true; },
                        server::CursorRegistry::Afterwards::kNotFound);
  settle();
  ASSERT_TRUE(*waiting);
  EXPECT_EQ((**waiting).status().code(), ErrorCode::kCursorKilled);
}

TEST_F(RemoteTailTest, EndsWithTheOperationThatReadsIt) {
  storage::OperationContext operation({.sessions = server.storageSessions});
  auto options = kSmall;
  options.command.operation = &operation;
  cursor.reset();
  settle();
  const auto tail = open(R"({"find": "log", "tailable": true, "awaitData": true})"_json, options);
  EXPECT_EQ(ids(begin(tail->next())), std::vector<int64_t>{1});
  const Next waiting = begin(tail->next());
  ASSERT_FALSE(*waiting);
  EXPECT_EQ(cursors(), 1);
  operation.kill(ErrorCode::kInterrupted);
  settle();
  ASSERT_TRUE(*waiting);
  EXPECT_EQ((**waiting).status().code(), ErrorCode::kInterrupted);
  EXPECT_EQ(cursors(), 0) << "it is closed there, too";
}

TEST_F(RemoteTailTest, OverACollectionWithoutDocumentsIsClosedAtOnce) {
  server.run(R"({"create": "empty", "capped": true, "size": 100000})"_json);
  cursor = open(R"({"find": "empty", "tailable": true, "awaitData": true})"_json);
  EXPECT_TRUE(ids(next()).empty());
  EXPECT_EQ((**next()).status().code(), ErrorCode::kCursorNotFound) << "and its reader does not ask for ever";
}

}  // namespace
}  // namespace troupe::transport
