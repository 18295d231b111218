#include "actors/environment/fault_site.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "actors/environment/virtual_environment.hpp"

namespace troupe {
namespace {

const FaultSite kHere("tests.fault-site.here", 0.5, "nothing");
const FaultSite kThere("tests.fault-site.there", 0.5, "nothing");

/// Lets one site fire, and notes who asks.
class OneSite final : public FaultPlan {
 public:
  bool fires(const FaultSite& site) noexcept override {
    asked.emplace_back(site.name());
    return &site == &kHere;
  }
  std::vector<std::string> asked;
};

TEST(FaultSite, NeverFiresUntilSomebodyHasAskedForIt) {
  VirtualEnvironment environment;
  EXPECT_FALSE(environment.fires(kHere));
  OneSite plan;
  environment.setFaults(&plan);
  EXPECT_TRUE(environment.fires(kHere));
  EXPECT_FALSE(environment.fires(kThere));
  environment.setFaults(nullptr);
  EXPECT_FALSE(environment.fires(kHere));
  EXPECT_EQ(plan.asked, (std::vector<std::string>{"tests.fault-site.here", "tests.fault-site.there"}));
}

TEST(FaultSite, IsFoundByItsName) {
  EXPECT_EQ(FaultSite::find("tests.fault-site.here"), &kHere);
  EXPECT_EQ(FaultSite::find("tests.fault-site.nowhere"), nullptr);
}

TEST(FaultSite, AreListedByNameAndEachHasOneOfItsOwn) {
  const auto all = FaultSite::all();
  ASSERT_GE(all.size(), 2u);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1]->name(), all[i]->name());
}

}  // namespace
}  // namespace troupe
