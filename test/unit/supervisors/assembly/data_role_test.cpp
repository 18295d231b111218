#include "supervisors/assembly/data_role.hpp"

#include <memory>
#include <stdexcept>

#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::supervisors {

/// A member of no set yet, with the role under test beside its own: fetcher and applier answer both.
class DataRoleTest : public commands::CommandTest {
 protected:
  DataRoleTest() : CommandTest({.name = "n1:1", .replicaSet = "rs"}) {}

  storage::WriteFence& fence() { return server.server->operations.replicated->fence; }
  std::shared_ptr<replication::StateTransition> transition =
      std::make_shared<replication::StateTransition>(server.node, server.server->operations);
};

/// Scans for index builds of the other member's log, say: this node may discard the builds as soon as it writes, and no
/// entry will say so.
TEST_F(DataRoleTest, LeavesTheOthersLogBeforeItsOwnWritesBegin) {
  int left = 0;
  const auto leave = [&] {
    ++left;
    EXPECT_FALSE(fence().isOpen());
  };
  const auto role = std::make_shared<DataRole>(*server.server, transition, leave, nullptr);
  role->drain({1});
  server.node.run();
  EXPECT_EQ(left, 1);
  EXPECT_TRUE(fence().isOpen());
}

/// Else it would neither lead nor ever follow again.
TEST_F(DataRoleTest, AFailureInTheMiddleOfAChangeEndsTheNode) {
  Status failure;
  const auto leave = [] { throw std::runtime_error("no memory"); };
  const auto fail = [&failure](const Status& why) { failure = why; };
  const auto role = std::make_shared<DataRole>(*server.server, transition, leave, fail);
  role->drain({1});
  server.node.run();
  EXPECT_EQ(failure.code(), ErrorCode::kInternalError);
  EXPECT_FALSE(fence().isOpen());
}

}  // namespace troupe::supervisors
