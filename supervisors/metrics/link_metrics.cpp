#include "supervisors/metrics/link_metrics.hpp"

#include "actors/transport/links.hpp"

namespace troupe::supervisors {

namespace {

void addRejections(MetricSet& m, const link::LinkCounters& counters, const MetricSet::Labels& of) {
  for (size_t i = 0; i < link::kRejections; ++i) {
    const auto reason = static_cast<link::Rejection>(i);
    if (counters.count(reason) == 0) continue;
    MetricSet::Labels labels = of;
    labels.emplace_back("reason", link::rejectionName(reason));
    m.counter("troupe_link_rejected_total", "connections of links that were closed, by reason",
              static_cast<double>(counters.count(reason)), labels);
  }
}

void addEnd(MetricSet& m, const link::LinkFigures& figures) {
  const MetricSet::Labels labels{{"peer", figures.peer}, {"opened_by", figures.opened ? "this_node" : "peer"}};
  const auto& c = *figures.counters;
  const auto both = [&](const char* name, const char* help, int64_t in, int64_t out) {
    for (const bool isIn : {true, false}) {
      MetricSet::Labels way = labels;
      way.emplace_back("direction", isIn ? "in" : "out");
      m.counter(name, help, static_cast<double>(isIn ? in : out), way);
    }
  };
  both("troupe_link_frames_total", "frames of links", c.framesIn, c.framesOut);
  both("troupe_link_bytes_total", "bytes of links", c.bytesIn, c.bytesOut);
  m.counter("troupe_link_opened_total", "times a link came to be open", static_cast<double>(c.opened.load()), labels);
  m.counter("troupe_link_lost_total", "connections, and tries for one, that ended", static_cast<double>(c.lost.load()),
            labels);
  m.counter("troupe_link_dropped_total", "messages without answer that a link did not carry",
            static_cast<double>(c.dropped.load()), labels);
  m.counter("troupe_link_failed_asks_total", "asks that a link answered with a failure of its own",
            static_cast<double>(c.failedAsks.load()), labels);
  m.gauge("troupe_link_queued_messages", "messages that wait to be written",
          static_cast<double>(figures.lengths.messages), labels);
  m.gauge("troupe_link_queued_bytes", "bytes that wait to be written", static_cast<double>(figures.lengths.bytes),
          labels);
  m.gauge("troupe_link_pending_asks", "asks carried that have no answer yet", static_cast<double>(figures.lengths.asks),
          labels);
  if (figures.opened)
    m.gauge("troupe_link_round_trip_seconds", "of the last heartbeat; 0 before the first",
            static_cast<double>(c.roundTripMicros.load()) / 1e6, labels);
  addRejections(m, c, labels);
}

}  // namespace

void addLinkMetrics(MetricSet& metrics, const link::Links& links) {
  for (const auto& figures : links.figures()) addEnd(metrics, figures);
  addRejections(metrics, *links.strangers(), {{"peer", ""}, {"opened_by", "peer"}});
}

}  // namespace troupe::supervisors
