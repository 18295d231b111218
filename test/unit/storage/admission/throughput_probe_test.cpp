#include "storage/admission/throughput_probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace troupe::storage {
namespace {

using Settings = ThroughputProbe::Settings;

/// A machine whose throughput is best with `best` operations at a time.
double throughputAt(double concurrency, double best) { return 10'000 - std::abs(concurrency - best) * 5; }

ThroughputProbe::Sizes settled(double best, Settings settings = {}) {
  ThroughputProbe probe(settings, 8);
  for (int i = 0; i < 2000; ++i) {
    const auto sizes = probe.sizes();
    const auto all = static_cast<double>(sizes.read + sizes.write);
    probe.step({throughputAt(all, best), all < best});
  }
  return probe.sizes();
}

TEST(ThroughputProbe, FindsTheBestConcurrencyFromBelowAndFromAbove) {
  for (const double best : {20.0, 60.0, 150.0}) {
    const auto sizes = settled(best);
    EXPECT_NEAR(static_cast<double>(sizes.read + sizes.write), best, std::max(3.0, best * 0.15)) << best;
  }
}

TEST(ThroughputProbe, StaysWithinItsBounds) {
  EXPECT_EQ(settled(1000), (ThroughputProbe::Sizes{128, 128}));
  EXPECT_EQ(settled(-1000), (ThroughputProbe::Sizes{4, 4}));
}

TEST(ThroughputProbe, AnIdleNodeKeepsItsTickets) {
  ThroughputProbe probe({}, 4);
  const auto before = probe.sizes();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(probe.step({0, false}), before);
}

TEST(ThroughputProbe, ATryThatIsWorseIsTakenBack) {
  ThroughputProbe probe({}, 4);
  const auto before = probe.sizes();
  const auto tried = probe.step({100, true});
  EXPECT_GT(tried.read, before.read);
  EXPECT_EQ(probe.step({90, true}), before);
  EXPECT_EQ(probe.statistics().timesIncreased, 0);
}

TEST(ThroughputProbe, ATryThatIsBetterMovesAPartOfTheWay) {
  ThroughputProbe probe({.initialConcurrency = 100}, 4);
  const auto tried = probe.step({100, true});
  EXPECT_EQ(tried.read + tried.write, 110);
  const auto after = probe.step({120, true});
  EXPECT_EQ(after.read + after.write, 102);
  EXPECT_EQ(probe.statistics().totalAmountIncreased, 2);
}

TEST(ThroughputProbe, SharesTicketsByTheRatio) {
  ThroughputProbe probe({.initialConcurrency = 100, .readWriteRatio = 0.8}, 4);
  EXPECT_EQ(probe.sizes(), (ThroughputProbe::Sizes{80, 20}));
}

TEST(ThroughputProbe, NewBoundsHoldAtOnce) {
  ThroughputProbe probe({.initialConcurrency = 200}, 4);
  probe.setSettings({.maxConcurrency = 10});
  EXPECT_EQ(probe.sizes(), (ThroughputProbe::Sizes{10, 10}));
}

}  // namespace
}  // namespace troupe::storage
