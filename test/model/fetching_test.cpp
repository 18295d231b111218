#include <gtest/gtest.h>

#include "test/model/explorer.hpp"
#include "test/model/subjects/fetching.hpp"

namespace troupe::model {
namespace {

TEST(FetchingModel, ComesToFollowThePrimaryFromEveryState) {
  Model model = fetchingOf({});
  model.faults = {.crashes = 1};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
  EXPECT_TRUE(report.exhausted) << report;
}

TEST(FetchingModel, ComesToFollowThePrimaryWithoutBeingToldAnything) {
  Model model = fetchingOf({.commands = false});
  model.faults = {.crashes = 1};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

TEST(FetchingModel, ComesToFollowThePrimaryWithAnEmptyLog) {
  const Report report = check(fetchingOf({.emptyLog = true}));
  EXPECT_TRUE(report.clean()) << report;
}

TEST(FetchingModel, ANewPrimaryComesToFollowTheNextOne) {
  const Report report = check(fetchingOf({.mission = replication::Mission::kCatchUp}));
  EXPECT_TRUE(report.clean()) << report;
}

TEST(FetchingModel, ANewPrimaryIsNotHeldBySourcesThatGiveNothing) {
  const Report report = check(catchUpFromSilentSources());
  EXPECT_TRUE(report.clean()) << report;
  EXPECT_TRUE(report.exhausted) << report;
}

TEST(FetchingModel, ANewPrimaryIsNotHeldBySourcesThatFail) {
  Model model = catchUpFromFailingSources();
  model.faults = {.crashes = 1};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
  EXPECT_TRUE(report.exhausted) << report;
}

}  // namespace
}  // namespace troupe::model
