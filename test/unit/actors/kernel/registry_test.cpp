#include "actors/kernel/registry.hpp"

#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe {
namespace {

using RegistryTest = KernelTest;

TEST_F(RegistryTest, ShowsARowWhileTheActorLives) {
  const auto echo = node.spawn<Echo>("/services/echo");
  ASSERT_TRUE(ask(echo, ping(1)).isOK());
  const auto row = node.registry().row("/services/echo");
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->type, "Echo");
  EXPECT_EQ(row->node, "n1");
  EXPECT_EQ(row->incarnation, 1);
  EXPECT_EQ(row->phase, "running");
  EXPECT_EQ(row->handled, 1);
  EXPECT_EQ(row->lastMessage, "Ping");
  EXPECT_EQ(row->mailboxLength, 0);
  node.requestStop(echo);
  node.run();
  EXPECT_FALSE(node.registry().row("/services/echo").has_value());
}

TEST_F(RegistryTest, CountsWhatWaitsInTheMailboxAndItsAge) {
  const auto echo = node.spawn<Echo>("/echo");
  node.run();
  node.tell(echo, ping(1));
  time->advance(70ms);
  node.tell(echo, ping(2));
  auto row = node.registry().row("/echo");
  EXPECT_EQ(row->mailboxLength, 2);
  EXPECT_EQ(row->mailboxOldestMs, 70);
  node.run();
  row = node.registry().row("/echo");
  EXPECT_EQ(row->mailboxLength, 0);
  EXPECT_EQ(row->mailboxOldestMs, 0);
}

TEST_F(RegistryTest, GivesTheRateSinceTheLastLook) {
  const auto echo = node.spawn<Echo>("/echo");
  node.advance(2s);
  node.registry().row("/echo");
  for (int i = 0; i < 30; ++i) node.tell(echo, ping(i));
  node.advance(2s);
  EXPECT_DOUBLE_EQ(node.registry().row("/echo")->handledPerSecond, 15);
}

TEST_F(RegistryTest, ShowsPhaseDocumentAndPendingAsks) {
  class Waiting : public Actor {
   public:
    explicit Waiting(Address other) : other_(std::move(other)) {}
    Behaviour behaviour() override { return {}; }
    void onStart() override {
      setPhase("draining", "finishes what it has");
      setDocument("lease-1", 3);
      start(wait());
    }
    Task<void> wait() { (void)co_await ask(other_, build<schema::Ping>(), 1s); }
    Address other_;
  };
  class Silent : public Actor {
   public:
    Behaviour behaviour() override {
      return {on<schema::Ping>([this](schema::Ping::Reader, Context& c) { kept.push_back(std::move(c)); })};
    }
    std::vector<Context> kept;
  };
  node.spawn<Waiting>("/waiting", node.spawn<Silent>("/silent"));
  node.run();
  auto row = node.registry().row("/waiting");
  EXPECT_EQ(row->phase, "draining");
  EXPECT_EQ(row->phaseMeaning, "finishes what it has");
  EXPECT_EQ(row->documentId, "lease-1");
  EXPECT_EQ(row->documentRevision, 3);
  EXPECT_EQ(row->pendingAsks, 1);
  node.advance(1s);
  EXPECT_EQ(node.registry().row("/waiting")->pendingAsks, 0);
}

TEST_F(RegistryTest, FiltersSortsAndLimits) {
  for (const char* path : {"/a", "/a/b", "/ab", "/c"}) node.spawn<Echo>(path);
  for (int i = 0; i < 3; ++i) node.tell(node.address("/c"), ping(i));
  node.run();
  EXPECT_EQ(node.registry().rows({.under = "/a"}).size(), 2U);
  const auto busiest = node.registry().rows({.sort = "-handled", .limit = 1});
  ASSERT_EQ(busiest.size(), 1U);
  EXPECT_EQ(busiest[0].path, "/c");
  EXPECT_TRUE(node.registry().rows({.type = "Nothing"}).empty());
}

TEST_F(RegistryTest, TellsSubscribersOfChanges) {
  std::vector<std::string> seen;
  auto token = node.registry().subscribe(
      [&](const RowChange& change) { seen.push_back(std::to_string(change.kind) + change.path); });
  const auto echo = node.spawn<Echo>("/echo");
  node.requestStop(echo);
  node.run();
  EXPECT_EQ(seen, (std::vector<std::string>{"0/echo", "2/echo", "5/echo"}));
  token.reset();
  node.spawn<Echo>("/other");
  EXPECT_EQ(seen.size(), 3U);
}

TEST_F(RegistryTest, InspectingAsksTheActorForItsMessages) {
  const auto echo = node.spawn<Echo>("/echo");
  for (int i = 0; i < 20; ++i) node.tell(echo, ping(i));
  node.run();
  const auto details = node.wait(node.inspect("/echo", 1s));
  ASSERT_TRUE(details.has_value());
  ASSERT_EQ(details->received.size(), 16U);
  EXPECT_STREQ(details->received.back().name, "Ping");
  EXPECT_FALSE(node.wait(node.inspect("/nobody", 1s)).has_value());
}

TEST_F(RegistryTest, WhatIsNoActorHasARowWithAStateDocumentOfItsOwn) {
  int asked = 0;
  const auto row = node.registry().keep({.path = "/vault", .type = "Vault", .parent = "/node", .describe = [&asked] {
                                           return bson::doc("asked", ++asked);
                                         }});
  node.registry().setPhase(*row, "open", "holds things");
  const auto details = node.wait(node.inspect("/vault", 1s));
  ASSERT_TRUE(details.has_value());
  EXPECT_EQ(details->row.phase, "open");
  EXPECT_EQ(details->state["asked"].toInt64(), 1);
  EXPECT_EQ(node.actorCount(), 0U) << "a row makes no actor";
  node.registry().unkeep("/vault");
  EXPECT_FALSE(node.wait(node.inspect("/vault", 1s)).has_value());
}

TEST_F(RegistryTest, ARowBecomesADocumentWithTheNamesOfTheAdminInterface) {
  node.spawn<Echo>("/echo");
  const auto document = node.registry().row("/echo")->toBson();
  for (const char* field : {"path",
                            "node",
                            "type",
                            "incarnation",
                            "phase",
                            "phaseMeaning",
                            "phaseSince",
                            "mailboxLength",
                            "mailboxOldestMs",
                            "handled",
                            "handledPerSecond",
                            "busyShare",
                            "restarts",
                            "restartLimit",
                            "lastMessage",
                            "lastError",
                            "documentId",
                            "documentRevision",
                            "pendingAsks",
                            "parent",
                            "strategy",
                            "startedAt"})
    EXPECT_TRUE(document[field].ok()) << field;
}

}  // namespace
}  // namespace troupe
