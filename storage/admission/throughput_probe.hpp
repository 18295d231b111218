#pragma once
#include <cstdint>

namespace troupe::storage {

/// Searches for the number of tickets with which most operations finish (LCK-012). In turns it measures the throughput
/// of the present number, tries a larger one (when operations had to queue) or a smaller one, and moves a part of the
/// way towards what was tried when that was better. A pure state machine: the caller measures and resizes the pools.
class ThroughputProbe {
 public:
  /// Server parameters of the same names (throughputProbing...).
  struct Settings {
    int64_t initialConcurrency = 0;    ///< of both pools together; 0: chosen by the number of processors
    int64_t minConcurrency = 4;        ///< of each pool
    int64_t maxConcurrency = 128;      ///< of each pool
    double readWriteRatio = 0.5;       ///< share of the read pool
    double stepMultiple = 0.1;         ///< how far away a try is, as a share of the present number
    double movingAverageWeight = 0.2;  ///< how far it moves towards a try that was better
  };
  /// A measurement since the last step.
  struct Sample {
    double operationsPerSecond = 0;
    bool exhausted = false;  ///< operations had to queue for a ticket
  };
  struct Sizes {
    int64_t read = 0;
    int64_t write = 0;
    bool operator==(const Sizes&) const = default;
  };
  /// Counters of serverStatus (`monitor`).
  struct Statistics {
    int64_t timesIncreased = 0, timesDecreased = 0;
    int64_t totalAmountIncreased = 0, totalAmountDecreased = 0;
  };

  ThroughputProbe(const Settings& settings, unsigned processors);

  /// Takes a measurement and says how large the pools are to be until the next one.
  Sizes step(const Sample& sample);
  Sizes sizes() const { return split(tried_); }
  /// New settings; the search goes on from where it is, within the new bounds.
  void setSettings(const Settings& settings);
  const Statistics& statistics() const { return statistics_; }

 private:
  enum class Phase : uint8_t { kStable, kTryingMore, kTryingFewer };

  double clamp(double concurrency) const;
  Sizes split(double concurrency) const;
  void decide(bool better);

  Settings settings_;
  double stable_;
  double tried_;  ///< what the pools have now
  double stableThroughput_ = 0;
  Phase phase_ = Phase::kStable;
  Statistics statistics_;
};

}  // namespace troupe::storage
