#pragma once
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>

namespace troupe::supervisors {

/// Figures collected at one moment, in the order they were added, and their text for Prometheus.
class MetricSet {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  /// One more value of the metric `name`; the first call says what it means.
  void gauge(const std::string& name, const std::string& help, double value, const Labels& labels = {});
  void counter(const std::string& name, const std::string& help, double value, const Labels& labels = {});
  /// `counts[i]` values were at most `bounds[i]`; the last count has no bound. Not cumulative.
  void histogram(const std::string& name, const std::string& help, std::span<const double> bounds,
                 std::span<const int64_t> counts, double sum, const Labels& labels = {});

  /// The text exposition format, version 0.0.4.
  std::string text() const;

 private:
  prometheus::ClientMetric& add(const std::string& name, const std::string& help, prometheus::MetricType type,
                                const Labels& labels);
  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string, size_t> byName_;
};

}  // namespace troupe::supervisors
