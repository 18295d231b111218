#include <gtest/gtest.h>

#include "test/model/explorer.hpp"
#include "test/model/subjects/initial_sync.hpp"

namespace troupe::model {
namespace {

using namespace replication;

TEST(InitialSyncModel, EndsWhereverItCrashesOrFails) {
  Model model = initialSyncs();
  model.faults = {.crashes = 1};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

TEST(InitialSyncModel, WhereNothingFailsThereIsOneAttempt) {
  Model model = initialSyncs({.fails = false});
  model.never("there is a second attempt", [](const machines::World& world) {
    return world.count<InitialSync>([](const auto& now) { return now.document.attempt > 1; }) > 0;
  });
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

TEST(InitialSyncModel, AMemberWithDataKeepsThemUntilThereIsASource) {
  Model model = initialSyncs({.hasData = true});
  model.faults = {.crashes = 1};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

TEST(InitialSyncModel, AfterARollbackOfItsSourceItTriesAnother) {
  const Model model = initialSyncWithASecondAttempt();
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

}  // namespace
}  // namespace troupe::model
