#include "test/simulation/trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace troupe::sim {

namespace {

const char* kindName(TraceEvent::Kind kind) {
  switch (kind) {
    case TraceEvent::Kind::kPhase: return "phase";
    case TraceEvent::Kind::kSend: return "send";
    case TraceEvent::Kind::kDeliver: return "deliver";
    case TraceEvent::Kind::kDrop: return "drop";
    case TraceEvent::Kind::kFault: return "fault";
    case TraceEvent::Kind::kActor: return "actor";
    case TraceEvent::Kind::kNote: return "note";
  }
  return "";
}

double seconds(Duration at) { return std::chrono::duration<double>(at).count(); }

}  // namespace

void Trace::add(TraceEvent event) {
  if (roles_ && event.role.empty() && !event.node.empty()) std::tie(event.role, event.term) = roles_(event.node);
  for (const char c : line(event)) hash_ = (hash_ ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
  ++count_;
  if (listener_) listener_(event);
  // Half of what is too old goes at a time, so that keeping a window costs little.
  if (keep_ > 0 && events_.size() >= 2 * keep_)
    events_.erase(events_.begin(), events_.end() - static_cast<ptrdiff_t>(keep_));
  events_.push_back(std::move(event));
}

std::string Trace::header() { return "    time  node  role       term  actor                what           detail\n"; }

std::string Trace::line(const TraceEvent& e) {
  return fmt::format("{:8.3f}  {:<4}  {:<9}  {:>4}  {:<19}  {:<13}  {}\n", seconds(e.at), e.node, e.role,
                     e.term > 0 ? std::to_string(e.term) : "", e.actor, e.what, e.detail);
}

std::string Trace::text() const {
  std::string out = header();
  const size_t first = keep_ > 0 && events_.size() > keep_ ? events_.size() - keep_ : 0;
  for (size_t i = first; i < events_.size(); ++i) out += line(events_[i]);
  return out;
}

std::string toTimelineJson(const Trace& trace, std::string_view title) {
  nlohmann::json file{
      {"format", "troupe-trace"}, {"version", 1}, {"title", title}, {"events", nlohmann::json::array()}};
  std::set<std::string> nodes;
  for (const TraceEvent& e : trace.events()) {
    if (!e.node.empty()) nodes.insert(e.node);
    nlohmann::json shown{{"at", seconds(e.at)}, {"kind", kindName(e.kind)}, {"node", e.node}, {"role", e.role},
                         {"term", e.term},      {"actor", e.actor},         {"what", e.what}, {"detail", e.detail}};
    if (!e.peer.empty()) shown["peer"] = e.peer;
    if (e.message != 0) shown["message"] = e.message;
    file["events"].push_back(std::move(shown));
  }
  file["nodes"] = nodes;
  return file.dump(1);
}

}  // namespace troupe::sim
