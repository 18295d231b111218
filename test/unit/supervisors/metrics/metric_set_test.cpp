#include "supervisors/metrics/metric_set.hpp"

namespace troupe::supervisors {
namespace {

TEST(MetricSet, GroupsTheValuesOfOneMetricUnderOneDescription) {
  MetricSet metrics;
  metrics.gauge("doors", "open doors", 2, {{"floor", "1"}});
  metrics.counter("steps_total", "steps taken", 7);
  metrics.gauge("doors", "open doors", 3, {{"floor", "2"}});
  EXPECT_EQ(metrics.text(),
            "# HELP doors open doors\n# TYPE doors gauge\ndoors{floor=\"1\"} 2\ndoors{floor=\"2\"} 3\n"
            "# HELP steps_total steps taken\n# TYPE steps_total counter\nsteps_total 7\n");
}

TEST(MetricSet, WritesHistogramsCumulatively) {
  MetricSet metrics;
  const double bounds[] = {0.1, 1};
  const int64_t counts[] = {3, 2, 1};
  metrics.histogram("wait_seconds", "time waited", bounds, counts, 4.5);
  EXPECT_THAT(metrics.text(),
              ::testing::HasSubstr("wait_seconds_count 6\nwait_seconds_sum 4.5\nwait_seconds_bucket{le=\"0.1\"} 3\n"
                                   "wait_seconds_bucket{le=\"1\"} 5\nwait_seconds_bucket{le=\"+Inf\"} 6\n"));
}

TEST(MetricSet, EscapesLabels) {
  MetricSet metrics;
  metrics.gauge("a", "b", 1, {{"path", "x\"y\\z\n"}});
  EXPECT_THAT(metrics.text(), ::testing::HasSubstr(R"(a{path="x\"y\\z\n"} 1)"));
}

}  // namespace
}  // namespace troupe::supervisors
