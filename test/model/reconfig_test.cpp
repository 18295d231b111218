#include <gtest/gtest.h>

#include "test/model/explorer.hpp"
#include "test/model/subjects/election.hpp"
#include "test/model/subjects/reconfig.hpp"

/// Changes of the config by the topology machine, explored to the end. Simplifications: subjects/reconfig.hpp.
namespace troupe::model::reconfig {
namespace {

const std::vector<Change> kOneBecomesThree = inTurn({{"a:1"}, {"a:1", "b:1"}, {"a:1", "b:1", "c:1"}});
const std::vector<Change> kThreeBecomeOne = inTurn({{"a:1", "b:1", "c:1"}, {"a:1", "b:1"}, {"a:1"}});

void expectClean(const ReconfigModel& options) {
  const Report report = check(reconfigs(options));
  EXPECT_TRUE(report.clean()) << report;
  std::printf("%s", report.text().c_str());
}

TEST(Reconfigs, OneMemberBecomesThree) {
  expectClean({.changes = kOneBecomesThree, .terms = kExploredTerms, .crashes = 1, .standing = {"a:1", "b:1"}});
}

/// After the entry of its term, for which the change has to wait, the primary may commit another one by the old config
/// until the new one counts.
TEST(Reconfigs, OneMemberBecomesThreeAndTwoEntriesAreWrittenInATerm) {
  expectClean(
      {.changes = kOneBecomesThree, .terms = kExploredTerms, .writes = 2, .standing = {"b:1"}, .hasGoal = false});
}

TEST(Reconfigs, ThreeMembersBecomeOne) {
  expectClean({.changes = kThreeBecomeOne, .terms = 1});
  expectClean({.changes = kThreeBecomeOne,
               .terms = kExploredTerms,
               .isClaimed = true,
               .standing = {"a:1", "b:1", "c:1"},
               .hasGoal = false});
}

TEST(Reconfigs, ThreeMembersBecomeOneWithACrashOfEach) {
  expectClean({.changes = kThreeBecomeOne,
               .terms = kExploredTerms,
               .crashes = 1,
               .writes = 0,
               .standing = {"a:1", "b:1"},
               .hasGoal = false});
}

/// A later primary may go another way than the one before has begun.
TEST(Reconfigs, AnyVoterComesAndGoes) {
  expectClean({.changes = ofOneVoter({"a:1", "b:1", "c:1"}),
               .terms = kExploredTerms,
               .versions = 3,
               .writes = 0,
               .isClaimed = true,
               .standing = {"a:1", "b:1", "c:1"},
               .hasGoal = false});
}

}  // namespace
}  // namespace troupe::model::reconfig
