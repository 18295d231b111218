#include "actors/server/progress_wait.hpp"

#include "actors/transport/connection.hpp"
#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/commands/primary_node.hpp"
#include "test/unit/actors/transport/fake_transport.hpp"

namespace troupe::server {
using namespace commands;
namespace {

/// Requests over a connection to the primary of a set whose other member, "b:1", is down and has no vote.
class ProgressWaitTest : public CommandTest {
 protected:
  ProgressWaitTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    becomePrimary(server);
    EXPECT_TRUE(succeeds(R"({"replSetReconfig": {"_id": "rs", "version": 9, "members": [{"_id": 0, "host": "n1:1"},
                             {"_id": 1, "host": "b:1", "priority": 0, "votes": 0}]}, "force": true})",
                         "admin"));
    EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{"_id": 0}]})"));
    server.node.advance(2s);
    untilPrimary(server);
    waiters = server.server->progress->waiters();
    clients = server.clients.current();
    server.node.spawn<transport::Connection>("/conn", peer, server.connect(), *server.server);
    server.node.run();
  }
  void arrive(bson::View command) {
    peer->arrive(wire::buildRequest(++lastRequest, "test", command));
    server.node.run();
  }
  bool stands() const { return server.clients.current() > clients; }
  size_t waiting() const { return server.server->progress->waiters() - waiters; }
  int64_t count() { return run(R"({"count": "c"})")["n"].toInt64(); }
  /// Nothing that is written from now on gets to the disk.
  void parkTheFlusher() {
    const Status parked = server.node.wait(supervisors::controlActor(server.node, "/node/storage/journal-flusher",
                                                                     supervisors::ControlAction::kPark, "a test"));
    EXPECT_TRUE(parked.isOK()) << parked.toString();
  }
  void expectToEndWithTheClient() {
    server.node.advance(10s);
    EXPECT_TRUE(stands());
    EXPECT_TRUE(peer->sent().empty());
    peer->hangUp();
    server.node.advance(kLookWhileAwaitingSet);
    EXPECT_FALSE(stands());
    EXPECT_EQ(waiting(), 0u);
  }

  const std::shared_ptr<transport::FakeTransport> peer = std::make_shared<transport::FakeTransport>();
  int32_t lastRequest = 0;
  size_t waiters = 0;   ///< of the node itself
  int64_t clients = 0;  ///< likewise
};

TEST_F(ProgressWaitTest, AWriteThatAwaitsAMemberThatIsDownStaysAndItsWaitEndsWithTheClient) {
  arrive(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 2}})"_json);
  EXPECT_EQ(waiting(), 1u);
  expectToEndWithTheClient();
  EXPECT_EQ(count(), 2);
}

TEST_F(ProgressWaitTest, AWaitForTheJournalEndsWithTheClient) {
  parkTheFlusher();
  arrive(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 1, "j": true}})"_json);
  expectToEndWithTheClient();
}

TEST_F(ProgressWaitTest, AReadAfterATimeThatDoesNotComeEndsWithTheClient) {
  parkTheFlusher();  // no majority has what comes
  const auto written = run(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 1}})");
  arrive(bson::doc(
      "find", "c", "readConcern",
      bson::doc("level", "majority", "afterClusterTime", bson::Timestamp(written["operationTime"].asTimestamp()))));
  EXPECT_EQ(waiting(), 1u);
  expectToEndWithTheClient();
}

/// The timer of a connection goes on between its requests, so that short waits cost none of their own.
TEST_F(ProgressWaitTest, ALaterWaitEndsWithTheClientToo) {
  for (const int id : {1, 2})
    arrive(bson::doc("insert", "c", "documents", std::vector<bson::Document>{bson::doc("_id", id)}, "writeConcern",
                     bson::doc("w", 2, "wtimeout", 100)));
  server.node.advance(300ms);
  EXPECT_EQ(peer->sent().size(), 2u);
  arrive(R"({"insert": "c", "documents": [{"_id": 3}], "writeConcern": {"w": 2}})"_json);
  expectToEndWithTheClient();
  EXPECT_EQ(count(), 4);
}

TEST_F(ProgressWaitTest, AWriteBehindAWaitIsCarriedOutForAClientThatHasGone) {
  arrive(R"({"insert": "c", "documents": [{"_id": 1}], "writeConcern": {"w": 2, "wtimeout": 100}})"_json);
  server.node.advance(100ms);
  EXPECT_EQ(peer->sent().size(), 1u);
  LockHolder other(server.locks, "test.c", storage::LockMode::kX);
  arrive(R"({"insert": "c", "documents": [{"_id": 2}], "writeConcern": {"w": 1}})"_json);
  peer->hangUp();
  server.node.advance(5s);
  EXPECT_TRUE(stands());
  other.release();
  server.node.run();
  EXPECT_FALSE(stands());
  EXPECT_EQ(count(), 3);
}

}  // namespace
}  // namespace troupe::server
