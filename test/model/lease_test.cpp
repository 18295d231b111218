#include <gtest/gtest.h>

#include "test/model/explorer.hpp"
#include "test/model/subjects/lease.hpp"

namespace troupe::model {
namespace {

TEST(Lease, MovesOnceWhateverIsLostDoubledOrCrashes) {
  Model model = leaseHandoffs(false);
  model.faults = {.crashes = 1, .losses = 1, .duplications = 1};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

TEST(Lease, StaysWhereItIsIfTheOtherNodeDeclines) {
  Model model = leaseHandoffs(false, true);
  model.faults = {.crashes = 1, .losses = 2};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

TEST(Lease, MovesThereAndBackThoughMessagesComeLate) {
  Model model = leaseHandoffs(true);
  model.faults = {.crashes = 0, .losses = 1, .duplications = 2};
  const Report report = check(model);
  EXPECT_TRUE(report.clean()) << report;
}

}  // namespace
}  // namespace troupe::model
