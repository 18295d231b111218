#include <gtest/gtest.h>

#include "test/model/explorer.hpp"
#include "test/model/subjects/election.hpp"

/// The elections of the topology machine, explored to the end. Simplifications: subjects/election.hpp.
namespace troupe::model {
namespace {

void expectClean(const Report& report) {
  EXPECT_TRUE(report.clean()) << report;
  std::printf("%s", report.text().c_str());
}

TEST(Election, ThreeMembersTwoTermsAnyLossAndDuplication) {
  expectClean(check(elections({.members = votingMembers(3), .terms = kExploredTerms})));
}

TEST(Election, ThreeMembersTwoTermsOneCrashEachAllOfThemStand) {
  expectClean(check(elections({.members = votingMembers(3), .terms = kExploredTerms, .crashes = 1, .reduced = true})));
}

TEST(Election, TwoMembersAndAnArbiter) {
  auto members = votingMembers(3);
  members[2].arbiterOnly = true;
  members[2].priority = 0;
  expectClean(check(elections({.members = members, .terms = kExploredTerms, .standing = 1, .crashes = 1})));
}

TEST(Election, AHandoffComesToItsEndAlthoughOneMayNotStand) { expectClean(check(handoffs())); }

}  // namespace
}  // namespace troupe::model
