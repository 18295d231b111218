#include "actors/machines/document_removals.hpp"

#include <gtest/gtest.h>

#include "actors/machines/collection_store.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"
#include "test/unit/actors/machines/errand_node.hpp"

namespace troupe::machines::test {
namespace {

using commands::CommandNode;

/// The other side of the errands: it answers if the test says so.
class Peer final : public Actor {
 public:
  Behaviour behaviour() override {
    return {on<Prepare>([this](const Prepare&, Context& context) {
              ++asked;
              if (agrees) context.reply(local(Agreed{}));
              else open.push_back(std::move(context));
            }),
            on<Finished>([](const Finished&) {})};
  }
  bool agrees = false;
  int asked = 0;
  std::vector<Context> open;
};

struct Asked {
  std::optional<Answer> answer;
};
Task<void> keep(std::shared_ptr<Asked> asked, Future<Answer> future) { asked->answer = co_await future; }

/// A whole server behind its commands, with a service of errands whose documents are in config.errands.
class DocumentRemovalsTest : public commands::CommandTest {
 protected:
  DocumentRemovalsTest() { begin(server); }
  explicit DocumentRemovalsTest(storage::DeterministicDisk disk) : CommandTest(CommandNode::Options{.disk = std::move(disk)}) {
    begin(server);
  }

  /// The service, and a peer that never answers: an errand waits for it until a nudge.
  void begin(CommandNode& at) {
    auto made = std::make_unique<Peer>();
    peer = made.get();
    at.node.spawn("/peer", std::move(made), SpawnOptions{});
    StorageAccess access{at.node,       *at.catalog,   at.storageSessions, at.locks,
                         at.durability, [&at] { at.node.tell(at.flusher, local(maintenance::FlushNow{})); }, &at.removals};
    HostOptions<Errand> options;
    options.perform = [](Actor&, ActionOf<Errand>) { return ready(); };
    auto store = std::make_shared<CollectionStore>(std::move(access), storage::Namespace("config", "errands"));
    service = at.node.spawn<PrimaryOnlyService<Errand>>("/errands", std::move(store), options);
    at.node.advance(10ms);
  }
  static Task<StatusWith<std::optional<Errand::Event>>> ready() { co_return std::optional<Errand::Event>(Ready{"me"}); }

  std::shared_ptr<Asked> start(const std::string& id, bool untilEnd = false) {
    auto asked = std::make_shared<Asked>();
    server.node.start(keep(asked, server.node.ask(service, local(StartMachine<Errand>{{.id = id}, untilEnd}))));
    settle();
    return asked;
  }
  void settle() { server.node.advance(500ms); }
  std::string phaseOf(const std::string& id) const {
    const auto row = server.node.registry().row("/errands/" + id);
    return row ? row->phase : "none";
  }

  Peer* peer = nullptr;
  Address service;
};

TEST_F(DocumentRemovalsTest, ADeleteEndsTheInstanceOfItsDocument) {
  const auto waiter = start("a", true);
  start("b");
  ASSERT_EQ(phaseOf("a"), "asking");
  EXPECT_TRUE(answers(R"({"delete": "errands", "deletes": [{"q": {"_id": "a"}, "limit": 1}]})", R"({"ok": 1, "n": 1})", "config"));
  settle();
  EXPECT_EQ(phaseOf("a"), "none");
  EXPECT_EQ(phaseOf("b"), "asking") << "the others go on";
  ASSERT_TRUE(waiter->answer);
  EXPECT_EQ(waiter->answer->status().code(), ErrorCode::kInterrupted);
  ASSERT_TRUE(start("a")->answer->isOK()) << "and it may be started again";
  EXPECT_EQ(phaseOf("a"), "asking");
}

TEST_F(DocumentRemovalsTest, WhatRemovesTheWholeCollectionEndsThemAll) {
  for (const char* command : {R"({"drop": "errands"})", R"({"dropDatabase": 1})"}) {
    start("a"), start("b");
    ASSERT_EQ(phaseOf("b"), "asking") << command;
    EXPECT_TRUE(succeeds(command, "config"));
    settle();
    EXPECT_EQ(phaseOf("a"), "none") << command;
    EXPECT_EQ(phaseOf("b"), "none") << command;
  }
  start("a");
  EXPECT_TRUE(succeeds(R"({"renameCollection": "config.errands", "to": "config.other"})", "admin"));
  settle();
  EXPECT_EQ(phaseOf("a"), "none");
}

TEST_F(DocumentRemovalsTest, AnInstanceThatRemovesItsDocumentItselfHasComeToItsEnd) {
  peer->agrees = true;
  const auto waiter = start("a", true);
  ASSERT_EQ(phaseOf("a"), "telling");
  server.node.tell(service, local(Nudge{"a", 1}));
  settle();
  ASSERT_TRUE(waiter->answer);
  EXPECT_TRUE(waiter->answer->isOK()) << waiter->answer->status().toString();
}

TEST_F(DocumentRemovalsTest, WhatIsWrittenElsewhereOrOnlyChangedEndsNobody) {
  start("a");
  EXPECT_TRUE(succeeds(R"({"insert": "errands", "documents": [{"_id": "a"}]})", "test"));
  EXPECT_TRUE(succeeds(R"({"delete": "errands", "deletes": [{"q": {}, "limit": 0}]})", "test"));
  EXPECT_TRUE(succeeds(R"({"update": "errands", "updates": [{"q": {"_id": "a"}, "u": {"$set": {"note": 1}}}]})", "config"));
  settle();
  EXPECT_EQ(phaseOf("a"), "asking");
  EXPECT_EQ(peer->asked, 1) << "it was not even begun again";
}

/// The collection was there before the service.
class DocumentRemovalsAfterARestart : public DocumentRemovalsTest {
 protected:
  DocumentRemovalsAfterARestart() : DocumentRemovalsTest(diskWithAnErrand()) {}
  static storage::DeterministicDisk diskWithAnErrand() {
    CommandNode before;
    before.run(bson::fromJson(R"({"insert": "errands", "writeConcern": {"j": true},
        "documents": [{"_id": "a", "version": 1, "sum": 0, "phase": "asking"}]})").value(), "config");
    return before.engine->disk();
  }
};

TEST_F(DocumentRemovalsAfterARestart, EndsAnInstanceThatWasRebuiltFromItsDocument) {
  ASSERT_EQ(phaseOf("a"), "asking");
  EXPECT_TRUE(succeeds(R"({"delete": "errands", "deletes": [{"q": {}, "limit": 0}]})", "config"));
  settle();
  EXPECT_EQ(phaseOf("a"), "none");
}

}  // namespace
}  // namespace troupe::machines::test
