#include "test/simulation/member_audit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "test/simulation/scenario_run.hpp"
#include "test/simulation/set_data.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {
namespace {

/// What each of five seeds says of a quiet set of three that is written to for ten seconds; a fault strikes once,
/// shortly before the end.
std::vector<std::string> auditsOfSet(const std::string& fault) {
  std::string more;
  if (!fault.empty()) more = "[[fault]]\nkind = \"" + fault + "\"\nevery = \"9s..9900ms\"\n";
  const auto scenario = parseScenario(R"(
name = "x"
[topology]
nodes = 3
[[workload]]
kind = "items"
rate = 10
[liveness]
after = "10s"
converge_within = "30s"
)" + more,
                                      "a.toml", invariantNames);
  if (!scenario.isOK()) return {scenario.status().toString()};
  std::vector<std::string> said;
  for (uint64_t seed = 1; seed <= 5; ++seed) said.push_back(runScenario(*scenario, seed, 1).broken);
  return said;
}

TEST(MemberAudit, FindsNothingWrongWithSoundMembers) {
  for (const std::string& broken : auditsOfSet("")) EXPECT_EQ(broken, "");
}

TEST(MemberAudit, FindsAFastCountThatIsWrongOnOneMember) {
  for (const std::string& broken : auditsOfSet("miscount")) {
    EXPECT_TRUE(broken.starts_with(SetData::kMembersAgree)) << broken;
    EXPECT_NE(broken.find("is counted as"), std::string::npos) << broken;
  }
}

/// The document may change before the end, and its key with it: not every seed is broken.
TEST(MemberAudit, FindsAKeyThatAnIndexOfOneMemberHasLost) {
  const auto said = auditsOfSet("lost-key");
  EXPECT_TRUE(std::ranges::any_of(said, [](const std::string& broken) {
    return broken.starts_with(SetData::kMembersAgree);
  })) << said.front();
}

}  // namespace
}  // namespace troupe::sim
