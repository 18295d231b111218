// Commands and cursors of one node that run on another, over a link, on virtual time.
#include "actors/transport/command_service.hpp"
#include "actors/transport/cursor_sender.hpp"
#include "actors/transport/run_command.hpp"
#include "messaging/bson/json.hpp"
#include "test/unit/actors/commands/command_node.hpp"
#include "test/unit/actors/transport/link_fixture.hpp"

namespace troupe::transport {
namespace {

using namespace std::chrono_literals;
using bson::operator""_json;
using commands::CommandNode;
using link::LinkTest;

class RemoteCommandTest : public LinkTest {
 protected:
  explicit RemoteCommandTest(bool authentication = false, const std::string& key = "secret")
      : server(CommandNode::Options{.authentication = authentication, .name = "b:2", .time = time}) {
    auto wanted = settings(key);
    wanted.anonymous = key.empty() ? link::Anonymous::kAnyone : link::Anonymous::kNobody;
    Node& node = server.node;
    guests["b:2"] = &node;
    node.spawn<link::LinkManager>(link::kLinksPath, std::make_shared<link::Links>(node, wanted));
    a = &add("a:1", wanted);
    link::ConnectPeer peer{"b:2"};
    tell(*a, local(std::move(peer)));
  }
  void TearDown() override {
    server.node.shutdown();
    guests.clear();
    LinkTest::TearDown();
  }

  template <class T>
  using Outcome = std::shared_ptr<std::optional<T>>;
  template <class T>
  Outcome<T> begin(Task<T> task) {
    auto outcome = std::make_shared<std::optional<T>>();
    a->node.start(keep(std::move(task), outcome));
    settle();
    return outcome;
  }
  template <class T>
  static Task<void> keep(Task<T> task, Outcome<T> outcome) {
    outcome->emplace(co_await std::move(task));
  }
  StatusWith<CommandReply> run(const bson::Document& command, ActAs as = {}, const std::string& db = "test") {
    const auto outcome = begin(runCommand(a->node, "b:2", db, command, {std::move(as)}));
    for (int i = 0; i < 100 && !*outcome; ++i) advance(10ms);
    return *outcome ? std::move(**outcome) : StatusWith<CommandReply>(Status(ErrorCode::kInternalError, "no answer"));
  }
  ErrorCode code(const bson::Document& command, ActAs as = {}, const std::string& db = "test") {
    return run(command, std::move(as), db).status().code();
  }
  /// Commands of other nodes that run, and cursors that are open, on the server.
  int64_t remoteClients() {
    int64_t count = 0;
    server.clients.each([&](server::Client& client) { count += client.connectionId < 0; });
    return count;
  }
  int64_t cursors() { return server.cursors.statistics().open; }
  void fill(int count, size_t bytes) {
    for (int from = 0; from < count; from += 500) {
      bson::Builder b;
      b.append("insert", "c").openArray("documents");
      for (int i = from; i < std::min(count, from + 500); ++i)
        b.push(bson::doc("_id", i, "pad", std::string(bytes, 'x')));
      b.close();
      ASSERT_TRUE(server.run(b.finish())["ok"].truthy());
    }
  }
  /// A command that waits on the server for a minute.
  bson::Document blocked() {
    server.run(R"({"configureFailPoint": "failCommand", "mode": "alwaysOn",
                   "data": {"failCommands": ["ping"], "blockConnection": true, "blockTimeMS": 60000,
                            "failInternalCommands": true}})"_json,
               "admin");
    return bson::doc("ping", 1);
  }
  /// An actor of a that holds what a task gives it as long as it lives.
  Echo* holder() { return spawnEcho(*a, "/holder"); }
  void endHolder() {
    a->node.kill(a->node.address("/holder"), {ErrorCode::kInternalError, "it crashed"});
    settle();
  }

  CommandNode server;
  Member* a = nullptr;
};

TEST_F(RemoteCommandTest, IsAnsweredAsAClientsWouldBe) {
  ASSERT_EQ(code(R"({"insert": "c", "documents": [{"_id": 1, "x": 7}]})"_json), ErrorCode::kOK);
  const auto reply = run(R"({"find": "c", "filter": {"_id": 1}})"_json);
  ASSERT_TRUE(reply.isOK()) << reply.status().toString();
  EXPECT_EQ(reply->document().at("cursor.firstBatch.0.x").toInt64(), 7);
  EXPECT_EQ(remoteClients(), 0);
}

TEST_F(RemoteCommandTest, FailuresHaveTheirCodes) {
  EXPECT_EQ(code(R"({"insert": "c", "documents": 7})"_json), ErrorCode::kTypeMismatch);
  EXPECT_EQ(code(R"({"noSuchCommand": 1})"_json), ErrorCode::kCommandNotFound);
  EXPECT_EQ(code(bson::doc("ping", 1), {}, ""), ErrorCode::kInvalidNamespace);
  const auto lost = begin(runCommand(a->node, "z:9", "test", bson::doc("ping", 1)));
  EXPECT_EQ((**lost).status().code(), ErrorCode::kHostUnreachable);
  EXPECT_EQ(remoteClients(), 0);
}

TEST_F(RemoteCommandTest, MalformedOnesAreRefused) {
  const auto outcome = ask(*a, Address("b:2", kCommandsPath), build<schema::RunCommand>());
  EXPECT_EQ(codeOf(outcome), ErrorCode::kProtocolError);
  const auto damaged = ask(*a, Address("b:2", kCommandsPath),
                           build<schema::RunCommand>([](schema::RunCommand::Builder) {},
                                                     std::make_shared<const std::string>("\x20\0\0\0short", 9)));
  EXPECT_EQ(codeOf(damaged), ErrorCode::kInvalidBSON);
}

TEST_F(RemoteCommandTest, ItsDeadlineHoldsThereToo) {
  const auto outcome = begin(runCommand(a->node, "b:2", "test", blocked(), {.timeout = 300ms}));
  EXPECT_EQ(remoteClients(), 1);
  advance(299ms);
  EXPECT_FALSE(*outcome);
  EXPECT_EQ(remoteClients(), 1);
  advance(1ms);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((**outcome).status().code(), ErrorCode::kMaxTimeMSExpired);
  EXPECT_EQ(remoteClients(), 0) << "it ends by its deadline, without being killed";
}

class Waiting : public RemoteCommandTest {
 protected:
  Waiting() {
    server.run(R"({"create": "capped", "capped": true, "size": 4096})"_json);
    server.run(R"({"insert": "capped", "documents": [{"_id": 1}]})"_json);
    const auto opened = run(R"({"find": "capped", "tailable": true, "awaitData": true})"_json);
    id = opened->document().at("cursor.id").toInt64();
  }
  /// A command that waits for news for a minute, unless it is killed.
  bson::Document waiting() const { return bson::doc("getMore", id, "collection", "capped", "maxTimeMS", 60'000); }
  void expectEndsOnBothSides(ErrorCode code, const std::function<void(storage::OperationContext&)>& end) {
    storage::OperationContext operation({.sessions = server.storageSessions});
    operation.setDeadline(a->node.environment().now() + 1s);
    CommandOptions options;
    options.operation = &operation;
    const auto outcome = begin(runCommand(a->node, "b:2", "test", waiting(), options));
    EXPECT_EQ(remoteClients(), 1);
    EXPECT_FALSE(*outcome);
    end(operation);
    settle();
    ASSERT_TRUE(*outcome);
    EXPECT_EQ((**outcome).status().code(), code);
    EXPECT_EQ(remoteClients(), 0);
  }
  using Reply = StatusWith<CommandReply>;
  int64_t id = 0;
};

TEST_F(Waiting, GivingItUpKillsItThere) {
  const auto outcome = std::make_shared<std::optional<Reply>>();
  holder()->start(keep(runCommand(a->node, "b:2", "test", waiting()), outcome));
  settle();
  EXPECT_EQ(remoteClients(), 1);
  endHolder();
  EXPECT_EQ(remoteClients(), 0);
  EXPECT_FALSE(*outcome);
}

TEST_F(Waiting, TheEndOfTheLinkKillsItThere) {
  const auto outcome = begin(runCommand(a->node, "b:2", "test", waiting()));
  EXPECT_EQ(remoteClients(), 1);
  pipes.at(0)->cut();
  settle();
  EXPECT_EQ(remoteClients(), 0);
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((**outcome).status().code(), ErrorCode::kHostUnreachable);
}

TEST_F(Waiting, KillOpEndsItAndItsAskerHearsOfIt) {
  const auto outcome = begin(runCommand(a->node, "b:2", "test", waiting()));
  server.clients.each([](server::Client& client) {
    if (client.connectionId < 0)
      client.withOperation([](storage::OperationContext& operation) { operation.kill(ErrorCode::kInterrupted); });
  });
  settle();
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((**outcome).status().code(), ErrorCode::kInterrupted);
}

TEST_F(Waiting, AKillOfTheOperationThatItIsPartOfEndsItOnBothSides) {
  expectEndsOnBothSides(ErrorCode::kInterrupted, [](auto& operation) { operation.kill(ErrorCode::kInterrupted); });
}

TEST_F(Waiting, TheDeadlineOfTheOperationThatItIsPartOfEndsItOnBothSides) {
  expectEndsOnBothSides(ErrorCode::kMaxTimeMSExpired, [this](auto&) { advance(2s); });
}

TEST_F(Waiting, AnOrderlyStopInterruptsItAndWaitsForIt) {
  const auto outcome = begin(runCommand(a->node, "b:2", "test", waiting()));
  server.node.requestStop(server.node.address(kCommandsPath));
  settle();
  ASSERT_TRUE(*outcome);
  EXPECT_EQ((**outcome).status().code(), ErrorCode::kInterruptedAtShutdown);
  EXPECT_EQ(remoteClients(), 0);
  EXPECT_FALSE(server.node.postOffice().exists(server.node.address(kCommandsPath)));
}

class Guarded : public RemoteCommandTest {
 protected:
  explicit Guarded(const std::string& key = "secret") : RemoteCommandTest(true, key) {
    const auto made =
        server.run(R"({"createUser": "reader", "pwd": "x", "roles": [{"role": "read", "db": "test"}]})"_json, "admin");
    EXPECT_TRUE(made["ok"].truthy()) << bson::toRelaxedJson(made);
  }
};

TEST_F(Guarded, TheClusterItselfMayDoEverything) {
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{"_id": 1}]})"_json), ErrorCode::kOK);
  EXPECT_EQ(code(R"({"usersInfo": 1})"_json, {}, "admin"), ErrorCode::kOK);
}

TEST_F(Guarded, AUserMayDoWhatItsRolesAllowOnTheExecutingNode) {
  const auto reader = ActAs::theUser("reader", "admin");
  EXPECT_EQ(code(R"({"find": "c"})"_json, reader), ErrorCode::kOK);
  EXPECT_EQ(code(R"({"insert": "c", "documents": [{"_id": 1}]})"_json, reader), ErrorCode::kUnauthorized);
  EXPECT_EQ(code(R"({"find": "c"})"_json, ActAs::theUser("stranger", "admin")), ErrorCode::kUnauthorized);
  EXPECT_EQ(code(R"({"find": "c"})"_json, ActAs::nobody()), ErrorCode::kUnauthorized);
  EXPECT_EQ(code(R"({"hello": 1})"_json, ActAs::nobody()), ErrorCode::kOK);
  EXPECT_EQ(remoteClients(), 0);
}

class Anyone : public Guarded {
 protected:
  Anyone() : Guarded("") {}
};

TEST_F(Anyone, ANodeThatHasNotProvenTheKeyActsForNobody) {
  EXPECT_EQ(code(R"({"find": "c"})"_json), ErrorCode::kUnauthorized);
  EXPECT_EQ(code(R"({"find": "c"})"_json, ActAs::theUser("reader", "admin")), ErrorCode::kUnauthorized);
  EXPECT_EQ(code(R"({"hello": 1})"_json, ActAs::nobody()), ErrorCode::kOK);
}

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

TEST_F(RemoteCursorTest, WhatNobodyReadsForLongEnds) {
  auto cursor = open(all());
  advance(std::chrono::milliseconds(server.parameters.cursorTimeoutMillis) + 20s);
  EXPECT_EQ(cursors(), 0);
  EXPECT_TRUE(senders().empty());
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
