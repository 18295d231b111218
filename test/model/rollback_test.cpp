#include <gtest/gtest.h>

#include "test/model/explorer.hpp"
#include "test/model/subjects/rollback.hpp"

namespace troupe::model {
namespace {

using namespace replication;

TEST(RollbackModel, EndsWhereverItCrashesOrFails) {
  Model model = rollbacks();
  model.faults = {.crashes = 2};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

TEST(RollbackModel, NeverGoesBehindWhatIsCommitted) {
  Model model = rollbacks({.comparing = {commonPointAt(3, 9, 4), commonPointAt(4, 9, 4), NothingInCommon{}}});
  model.faults = {.crashes = 1};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

TEST(RollbackModel, DoesNothingWhereNothingIsToBeUndone) {
  Model model = rollbacks({.comparing = {commonPointAt(9, 9, 4)}});
  model.never("it leaves the state of a secondary", [](const machines::World& world) {
    return world.count<Rollback>([](const auto& now) { return now.memory.phase >= Rollback::Phase::kEntering; }) > 0;
  });
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

}  // namespace
}  // namespace troupe::model
