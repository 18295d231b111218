#include "actors/replication/topology_actor.hpp"

#include "actors/machines/message_binding.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "storage/oplog/replicated_writes.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::replication {

using commands::Exchange;
using storage::LockMode;
using storage::ResourceId;

/// A member of a replica set of its own, which is primary.
class TopologyActorTest : public commands::CommandTest {
 protected:
  TopologyActorTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {
    const auto initiated =
        server.run(parse(R"({"replSetInitiate": {"_id": "rs", "members": [{"_id": 0, "host": "n1:1"}]}})"), "admin");
    EXPECT_TRUE(initiated["ok"].truthy()) << bson::toRelaxedJson(initiated);
    for (int steps = 0; !isWritable() && steps < 600; ++steps) server.node.advance(std::chrono::milliseconds(100));
    EXPECT_TRUE(isWritable());
  }
  bool isWritable() const { return server.server->membership->view()->isWritable(); }
};

// ELE-028
TEST_F(TopologyActorTest, NothingOfTheOldRoleIsLeftToAnyoneWhoHasLearntOfTheNewOne) {
  storage::Locker old(server.locks), reader(server.locks);
  ASSERT_TRUE(old.tryAcquire(ResourceId::stateTransition(), LockMode::kIX));
  auto stepDown = std::make_shared<Exchange>(
      wire::buildRequest(99, "admin",
                         parse(R"({"replSetStepDown": 10, "force": true, "secondaryCatchUpPeriodSecs": 0})"), {}, 0),
      *server.server, *server.client, server.time->now());
  server.node.start([](std::shared_ptr<Exchange> e) -> Task<void> {
    co_await server::dispatch(e->request);
    e->done = true;
  }(stepDown));
  while (isWritable()) ASSERT_TRUE(server.node.step());
  // The very moment in which the role is published, before anything else has run.
  EXPECT_FALSE(server.server->operations.replicated->fence.isOpen());
  EXPECT_FALSE(reader.tryAcquire(ResourceId::stateTransition(), LockMode::kIS))
      << "a read in the new role has to wait for the operations of the old one";
  old.releaseAll();
  server.node.run();
  EXPECT_TRUE(reader.tryAcquire(ResourceId::stateTransition(), LockMode::kIS));
  reader.releaseAll();
  for (int steps = 0; !stepDown->done && steps < 100; ++steps) server.node.advance(std::chrono::milliseconds(100));
  EXPECT_TRUE(stepDown->done);
}

/// What it hears of itself is paced; a vote must not be: the voter may have acknowledged an entry meanwhile.
TEST_F(TopologyActorTest, JudgesCandidatesByWhatItHasAppliedAtThatMoment) {
  const auto applied = [this] { return server.server->membership->view()->topology.memory.applied; };
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1}})"));
  const OpTime newest = server.server->progress->applied();
  ASSERT_LT(applied(), newest) << "it is told a moment later";
  VoteRequest request{.from = "n2:1", .setName = "rs", .term = newest.term + 1};
  server.node.tell(server.node.address(kTopologyPath), machines::toMessage(request));
  server.node.run();
  EXPECT_EQ(applied(), newest);
  EXPECT_EQ(server.server->progress->report().term, newest.term + 1) << "and reports in the voter's term from then on";
}

/// The same for itself when it is asked to stand: it would tell the voters of less than it has.
TEST_F(TopologyActorTest, StandsWithWhatItHasAppliedAtThatMoment) {
  const auto applied = [this] { return server.server->membership->view()->topology.memory.applied; };
  for (const Payload& wish : {machines::toMessage(StepUp{}), machines::toMessage(StepUpRequest{.from = "n2:1"})}) {
    for (int i = 0; i < 2; ++i)
      EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": 1}})"));
    const OpTime newest = server.server->progress->applied();
    ASSERT_LT(applied(), newest) << "it is told a moment later";
    server.node.tell(server.node.address(kTopologyPath), wish);
    server.node.run();
    EXPECT_EQ(applied(), newest);
  }
}

/// Positions of members that are in an earlier term than this node has voted in do not count.
TEST_F(TopologyActorTest, RequestsForVotesThatAreNoneRaiseNoTerm) {
  const int64_t term = server.server->progress->report().term;
  for (const VoteRequest& request : {VoteRequest{.from = "n2:1", .setName = "other", .term = term + 1},
                                     VoteRequest{.from = "n2:1", .setName = "rs", .term = term + (int64_t{1} << 33)}}) {
    server.node.tell(server.node.address(kTopologyPath), machines::toMessage(request));
    server.node.run();
    EXPECT_EQ(server.server->progress->report().term, term);
  }
  EXPECT_TRUE(succeeds(R"({"insert": "c", "documents": [{}], "writeConcern": {"w": "majority"}})"));
}

}  // namespace troupe::replication
