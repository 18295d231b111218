#include "messaging/errors/invariant.hpp"

#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe {
namespace {

using InvariantTest = KernelTest;

TEST_F(InvariantTest, ABrokenOneEndsItsActorWithTheRuleAsReason) {
  const Address actor = node.spawn<Echo>("/actor");
  Echo* watcher = new Echo([&](Echo& self) { self.watch(actor); });
  node.spawn("/watcher", std::unique_ptr<Actor>(watcher), {});
  node.tell(actor, local(Echo::Action([](Echo&) { invariant(1 + 1 == 2, "sums are right"); })));
  node.run();
  EXPECT_TRUE(watcher->downs.empty());
  node.tell(actor, local(Echo::Action([](Echo&) { invariant(1 + 1 == 3, "sums are wrong"); })));
  node.run();
  ASSERT_EQ(watcher->downs.size(), 1U);
  EXPECT_NE(watcher->downs[0].reason.reason().find("broken invariant: sums are wrong"), std::string::npos);
  EXPECT_NE(watcher->downs[0].reason.reason().find("invariant_test.cpp"), std::string::npos);
}

}  // namespace
}  // namespace troupe
