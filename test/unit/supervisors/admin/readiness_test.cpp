#include "supervisors/admin/readiness.hpp"

#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe::supervisors {
namespace {

using replication::Topology;

class ReadinessTest : public KernelTest {
 protected:
  void enter(Topology::Phase phase, bool copies = false, bool isStale = false, bool rollsBack = false) {
    replication::ReplicaView view;
    view.topology.memory.phase = phase;
    view.topology.memory.copyingData = copies;
    view.topology.memory.tooStale = isStale;
    view.topology.memory.rollingBack = rollsBack;
    membership.publish(std::move(view));
  }
  std::string reason() const { return readinessOf(node, &membership).reason(); }
  void listen() {
    listener = node.registry().keep({.path = "/node/front/listener", .type = "Listener"});
    node.registry().setPhase(*listener, "listening", "takes connections");
  }

  std::shared_ptr<LiveRow> listener;
  replication::Membership membership{"rs", "n1:1"};
};

TEST_F(ReadinessTest, ANodeThatListensIsReady) {
  EXPECT_EQ(readinessOf(node, nullptr).reason(), "the listener has not started");
  listen();
  EXPECT_TRUE(readinessOf(node, nullptr).isOK());
  node.registry().setPhase(*listener, "stopping", "");
  EXPECT_EQ(readinessOf(node, nullptr).reason(), "the listener is stopping");
}

TEST_F(ReadinessTest, AMemberThatServesNobodyIsNot) {
  listen();
  EXPECT_EQ(reason(), "") << "it waits for its first config, which a client brings";
  for (const auto phase : {Topology::Phase::kFollower, Topology::Phase::kPrimary, Topology::Phase::kArbiter}) {
    enter(phase);
    EXPECT_EQ(reason(), "");
  }
  enter(Topology::Phase::kFollower, true);
  EXPECT_EQ(reason(), "the member is in the state STARTUP2");
  enter(Topology::Phase::kFollower, false, true);
  EXPECT_EQ(reason(), "the member is in the state RECOVERING");
  enter(Topology::Phase::kFollower, false, false, true);
  EXPECT_EQ(reason(), "the member is in the state ROLLBACK");
  enter(Topology::Phase::kRemoved);
  EXPECT_EQ(reason(), "the member is in the state REMOVED");
}

}  // namespace
}  // namespace troupe::supervisors
