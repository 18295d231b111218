#include "storage/admission/throughput_probe.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::storage {

namespace {

/// Operations wait for locks and pages while they hold tickets: fewer than this would leave processors idle.
constexpr int64_t kLeastInitial = 32;

}  // namespace

ThroughputProbe::ThroughputProbe(const Settings& settings, unsigned processors)
    : settings_(settings),
      stable_(clamp(static_cast<double>(settings.initialConcurrency > 0
                                            ? settings.initialConcurrency
                                            : std::max<int64_t>(kLeastInitial, 2 * int64_t{processors})))),
      tried_(stable_) {}

double ThroughputProbe::clamp(double concurrency) const {
  return std::clamp(concurrency, 2.0 * static_cast<double>(settings_.minConcurrency),
                    2.0 * static_cast<double>(settings_.maxConcurrency));
}

ThroughputProbe::Sizes ThroughputProbe::split(double concurrency) const {
  const int64_t all = std::llround(concurrency);
  const int64_t least = settings_.minConcurrency, most = settings_.maxConcurrency;
  const int64_t read =
      std::clamp<int64_t>(std::llround(static_cast<double>(all) * settings_.readWriteRatio), least, most);
  return {read, std::clamp<int64_t>(all - read, least, most)};
}

void ThroughputProbe::setSettings(const Settings& settings) {
  settings_ = settings;
  stable_ = tried_ = clamp(stable_);
  phase_ = Phase::kStable;
}

/// Ends a try. A better one moves the stable number by at least one ticket, so that small steps do not stall.
void ThroughputProbe::decide(bool better) {
  if (better) {
    const double before = stable_;
    const double part = settings_.movingAverageWeight * (tried_ - stable_);
    stable_ = clamp(std::round(stable_ + (part > 0 ? std::max(part, 1.0) : std::min(part, -1.0))));
    const auto moved = static_cast<int64_t>(std::llround(stable_ - before));
    if (moved > 0) ++statistics_.timesIncreased, statistics_.totalAmountIncreased += moved;
    if (moved < 0) ++statistics_.timesDecreased, statistics_.totalAmountDecreased -= moved;
  }
  tried_ = stable_;
  phase_ = Phase::kStable;
}

ThroughputProbe::Sizes ThroughputProbe::step(const Sample& sample) {
  if (phase_ != Phase::kStable) {
    decide(sample.operationsPerSecond > stableThroughput_);
    return sizes();
  }
  stableThroughput_ = sample.operationsPerSecond;
  const double distance = std::max(1.0, std::round(stable_ * settings_.stepMultiple));
  if (sample.exhausted && clamp(stable_ + distance) > stable_) {
    tried_ = clamp(stable_ + distance);
    phase_ = Phase::kTryingMore;
  } else if (sample.operationsPerSecond > 0 && clamp(stable_ - distance) < stable_) {
    tried_ = clamp(stable_ - distance);
    phase_ = Phase::kTryingFewer;
  }
  return sizes();
}

}  // namespace troupe::storage
