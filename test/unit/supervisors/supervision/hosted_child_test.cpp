#include <caf/all.hpp>

#include "actors/kernel/hosted_caf_actor.hpp"
#include "supervisors/supervision/supervisor.hpp"
#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe::supervisors {
namespace {

/// A stock CAF actor: counts, and fails when it is told to.
caf::behavior counting(caf::stateful_actor<int32_t>* self) {
  self->state = 0;
  return {[self](int32_t by) { return self->state += by; },
          [self](const std::string&) -> int32_t {
            self->quit(caf::sec::runtime_error);
            return 0;
          }};
}

class HostedChildTest : public KernelTest {
 protected:
  Address root = startTree(node, oneForOne("top", permanent<HostedCafActor>("stock", spawning(counting))));
  void SetUp() override { node.run(); }
  int32_t add(int32_t by) {
    const Answer answer = ask(node.address("/top/stock"), local(caf::make_message(by)));
    return answer.isOK() ? answer->local<caf::message>().get_as<int32_t>(0) : -1;
  }
};

TEST_F(HostedChildTest, HasARowInTheTree) {
  node.run();
  const auto row = node.registry().row("/top/stock");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->type, "HostedCafActor");
  EXPECT_EQ(row->parent, "/top");
  add(1);
  add(2);
  EXPECT_EQ(node.registry().row("/top/stock")->handled, 2);
}

TEST_F(HostedChildTest, IsStartedAnewWhenItExitsWithAnError) {
  EXPECT_EQ(add(5), 5);
  EXPECT_EQ(add(5), 10);
  node.tell(node.address("/top/stock"), local(caf::make_message(std::string("fail"))));
  node.advance(1min);
  const auto row = node.registry().row("/top/stock");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->restarts, 1);
  EXPECT_NE(row->lastError.find("runtime_error"), std::string::npos) << row->lastError;
  EXPECT_EQ(add(5), 5) << "another actor, from its beginning";
}

TEST_F(HostedChildTest, StopsInOrderWithItsTree) {
  EXPECT_EQ(add(1), 1);
  EXPECT_TRUE(node.wait(stopTree(node, root, 10s)));
  EXPECT_EQ(node.cafSystem().registry().running(), 0U);
}

}  // namespace
}  // namespace troupe::supervisors
