#include "supervisors/tree/service.hpp"

#include <gtest/gtest.h>

#include "test/probe/subjects/caller.hpp"

namespace troupe::supervisors {
namespace {

using probe::test::Caller;

TEST(Service, IsSetAsideWhenItFailsTooOften) {
  struct Silent final : Actor {
    explicit Silent(int) {}
    Behaviour behaviour() override { return {}; }
  };
  const Service silent = service<Silent>("silent", 3);
  const ChildSpec child = silent.make({});
  EXPECT_EQ(child.rules.name, "silent");
  EXPECT_EQ(child.rules.exhausted, OnExhausted::kPark);
  EXPECT_FALSE(silent.primaryOnly);
  EXPECT_NE(child.make(), nullptr);
}

TEST(Service, ThatRunsOnThePrimaryOnlyNamesItsCollection) {
  EXPECT_TRUE(primaryOnly<Caller>("callers", "config.callers").primaryOnly);
  EXPECT_THROW(primaryOnly<Caller>("callers", "nowhere"), std::invalid_argument);
}

TEST(Service, ANodeThatStandsAloneIsItsOwnPrimary) {
  EXPECT_EQ(ServiceParts{}.term(), 0);
  const replication::Membership member("rs", "n1:1");
  EXPECT_EQ((ServiceParts{nullptr, &member}.term()), std::nullopt) << "nobody has elected it";
}

TEST(Service, HasItsPathBelowTheOthers) { EXPECT_EQ(servicePath("leases"), "/node/services/leases"); }

}  // namespace
}  // namespace troupe::supervisors
