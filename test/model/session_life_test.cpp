#include <gtest/gtest.h>

#include "test/model/explorer.hpp"
#include "test/model/subjects/session_life.hpp"

namespace troupe::model {
namespace {

using sessions::SessionLife;

TEST(SessionLifeModel, AParentAndItsChildTakeTurns) {
  Model model = sessionFamily(parentAndChild());
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
  EXPECT_TRUE(report.rowsNeverTaken.empty()) << report;
}

TEST(SessionLifeModel, TermsEndWhatIsKnown) {
  Model model = sessionFamily(
      {.operations = {{.terms = {1, 2}}, {.number = 2, .terms = {1, 2}}, {.terms = {2}}}, .kills = 0, .reaps = 0});
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

TEST(SessionLifeModel, ASecondKillIsHarmless) {
  Model model = sessionFamily({.operations = {{.number = 1}, {.number = 1}}, .kills = 3, .edits = 1, .reaps = 0});
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

/// What is remembered goes with the node; operations do, too.
TEST(SessionLifeModel, ACrashLeavesNothingBehind) {
  Model model = sessionFamily({.operations = {{.number = 1}, {.child = "u", .retryOf = 1}}, .reaps = 0});
  model.faults = {.crashes = 1};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

}  // namespace
}  // namespace troupe::model
