#include "actors/replication/replica_view.hpp"

#include <gtest/gtest.h>

namespace troupe::replication {
namespace {

using namespace std::chrono_literals;

TEST(ReplicaView, TellsHowLateThisMemberAppliesTheLog) {
  ReplicaView view;
  view.topology.document.self = "me:1";
  EXPECT_EQ(applyDelayOf(view), Duration::zero()) << "of no set as yet";
  ReplicaSetConfig config;
  config.members.resize(2);
  config.members[0].host = "other:1";
  config.members[0].secondaryDelaySecs = 7;
  config.members[1].host = "me:1";
  view.topology.document.config = config;
  EXPECT_EQ(applyDelayOf(view), Duration::zero());
  view.topology.document.config->members[1].secondaryDelaySecs = 3600;
  EXPECT_EQ(applyDelayOf(view), Duration(1h));
  view.topology.document.config->members.pop_back();
  EXPECT_EQ(applyDelayOf(view), Duration::max()) << "removed, it stays as it is";
}

}  // namespace
}  // namespace troupe::replication
