#include "supervisors/metrics/metric_set.hpp"

#include <prometheus/text_serializer.h>
#include <limits>

namespace troupe::supervisors {

prometheus::ClientMetric& MetricSet::add(const std::string& name, const std::string& help, prometheus::MetricType type,
                                         const Labels& labels) {
  const auto [slot, isNew] = byName_.try_emplace(name, families_.size());
  if (isNew) families_.push_back({name, help, type, {}});
  auto& metric = families_[slot->second].metric.emplace_back();
  for (const auto& [label, value] : labels) metric.label.push_back({label, value});
  return metric;
}

void MetricSet::gauge(const std::string& name, const std::string& help, double value, const Labels& labels) {
  add(name, help, prometheus::MetricType::Gauge, labels).gauge.value = value;
}

void MetricSet::counter(const std::string& name, const std::string& help, double value, const Labels& labels) {
  add(name, help, prometheus::MetricType::Counter, labels).counter.value = value;
}

void MetricSet::histogram(const std::string& name, const std::string& help, std::span<const double> bounds,
                          std::span<const int64_t> counts, double sum, const Labels& labels) {
  auto& histogram = add(name, help, prometheus::MetricType::Histogram, labels).histogram;
  uint64_t cumulative = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    cumulative += static_cast<uint64_t>(counts[i]);
    histogram.bucket.push_back({cumulative, i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity()});
  }
  histogram.sample_count = cumulative;
  histogram.sample_sum = sum;
}

std::string MetricSet::text() const {
  return prometheus::TextSerializer().prometheus::Serializer::Serialize(families_);
}

}  // namespace troupe::supervisors
