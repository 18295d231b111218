#include "test/checkers/list_append.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "test/checkers/dependency_graph.hpp"

namespace troupe::checkers {

namespace {

using ListEvent = Event<ListTransaction>;
using Contents = std::vector<int64_t>;

std::string lineOf(const ListEvent& event) {
  return fmt::format("{}  {}", spanText(event.begin, event.end, event.process), event.operation.toString());
}

/// What the reads of a history tell about each list.
class Lists {
 public:
  explicit Lists(const std::vector<ListEvent>& events) : events_(events) {}

  /// The first contradiction that needs no cycle; empty if there is none.
  std::string inspect() {
    for (size_t i = 0; i < events_.size(); ++i)
      if (std::string broken = noteAppends(i); !broken.empty()) return broken;
    for (size_t i = 0; i < events_.size(); ++i) {
      if (!events_[i].isOk()) continue;
      if (std::string broken = inspectOwn(i); !broken.empty()) return broken;
      for (const ListStep& step : events_[i].operation.steps) {
        if (step.isAppend) continue;
        std::string broken = inspectRead(i, step);
        if (broken.empty()) broken = extend(i, step);
        if (!broken.empty()) return broken;
      }
    }
    return {};
  }

  struct List {
    Contents order;                         ///< the longest that was read
    size_t longestReader = 0;               ///< by that event
    std::map<int64_t, size_t> appenders;    ///< event by element
    std::map<size_t, Contents> byAppender;  ///< what an event appends, in its order
  };
  const std::map<std::string, List>& all() const { return lists_; }

 private:
  std::string noteAppends(size_t event) {
    for (const ListStep& step : events_[event].operation.steps) {
      List& list = lists_[step.key];
      if (!step.isAppend) continue;
      if (!list.appenders.emplace(step.value, event).second)
        return fmt::format("the history is no good: {} is appended to '{}' twice", step.value, step.key);
      list.byAppender[event].push_back(step.value);
    }
    return {};
  }

  /// A transaction sees what it has appended itself.
  std::string inspectOwn(size_t event) const {
    std::map<std::string, Contents> appended;
    for (const ListStep& step : events_[event].operation.steps) {
      Contents& own = appended[step.key];
      if (step.isAppend) own.push_back(step.value);
      else if (own.size() > step.contents.size() || !std::equal(own.rbegin(), own.rend(), step.contents.rbegin()))
        return fmt::format("a transaction does not see its own appends to '{}':\n    {}", step.key,
                           lineOf(events_[event]));
    }
    return {};
  }

  /// What was read was appended, once, by a transaction that has not failed, and was its last word.
  std::string inspectRead(size_t reader, const ListStep& step) const {
    const List& list = lists_.at(step.key);
    std::set<int64_t> seen;
    for (const int64_t element : step.contents) {
      const auto found = list.appenders.find(element);
      if (found == list.appenders.end())
        return fmt::format("'{}' holds {}, which nobody has appended:\n    {}", step.key, element,
                           lineOf(events_[reader]));
      if (!seen.insert(element).second)
        return fmt::format("'{}' holds {} twice:\n    {}", step.key, element, lineOf(events_[reader]));
      const ListEvent& appender = events_[found->second];
      if (appender.outcome == Outcome::kFailed)
        return fmt::format("aborted read (G1a): '{}' holds {} of a transaction that has failed:\n    {}\n    {}",
                           step.key, element, lineOf(events_[reader]), lineOf(appender));
    }
    if (step.contents.empty()) return {};
    const size_t last = list.appenders.at(step.contents.back());
    if (last != reader && list.byAppender.at(last).back() != step.contents.back())
      return fmt::format(
          "intermediate read (G1b): '{}' ends with {}, behind which the same transaction appends more:"
          "\n    {}\n    {}",
          step.key, step.contents.back(), lineOf(events_[reader]), lineOf(events_[last]));
    return {};
  }

  /// All reads of a list are prefixes of one order.
  std::string extend(size_t reader, const ListStep& step) {
    List& list = lists_.at(step.key);
    const bool isLonger = step.contents.size() > list.order.size();
    const Contents& longer = isLonger ? step.contents : list.order;
    const Contents& shorter = isLonger ? list.order : step.contents;
    if (!std::equal(shorter.begin(), shorter.end(), longer.begin()))
      return fmt::format("'{}' was read in two orders, so that an append was lost or moved:\n    {}\n    {}", step.key,
                         lineOf(events_[list.longestReader]), lineOf(events_[reader]));
    if (isLonger) {
      list.order = step.contents;
      list.longestReader = reader;
    }
    return {};
  }

  const std::vector<ListEvent>& events_;
  std::map<std::string, List> lists_;
};

/// The dependencies that lists tell of.
class Dependencies {
 public:
  Dependencies(const std::vector<ListEvent>& events, const Lists& lists) : events_(events), graph_(events.size()) {
    for (const auto& [key, list] : lists.all()) addAppends(key, list);
    for (size_t i = 0; i < events_.size(); ++i) {
      if (!events_[i].isOk()) continue;
      for (const ListStep& step : events_[i].operation.steps)
        if (!step.isAppend) addRead(i, step, lists.all().at(step.key));
    }
  }

  DependencyGraph& graph() { return graph_; }

 private:
  void addAppends(const std::string& key, const Lists::List& list) {
    for (size_t i = 1; i < list.order.size(); ++i)
      graph_.add(list.appenders.at(list.order[i - 1]), list.appenders.at(list.order[i]), Dependency::kWrites,
                 fmt::format("{} stands before {} in '{}'", list.order[i - 1], list.order[i], key));
    // What was acknowledged and not read stands behind all that was.
    for (const auto& [element, appender] : unread(list))
      if (!list.order.empty())
        graph_.add(list.appenders.at(list.order.back()), appender, Dependency::kWrites,
                   fmt::format("{} of '{}' was read, and {} not", list.order.back(), key, element));
  }

  void addRead(size_t reader, const ListStep& step, const Lists::List& list) {
    if (!step.contents.empty())
      graph_.add(list.appenders.at(step.contents.back()), reader, Dependency::kReads,
                 fmt::format("its {} of '{}' was read", step.contents.back(), step.key));
    const auto precedes = [&](int64_t element, size_t appender) {
      graph_.add(reader, appender, Dependency::kPrecedes, fmt::format("it did not see {} of '{}'", element, step.key));
    };
    if (step.contents.size() < list.order.size()) {
      const int64_t next = list.order[step.contents.size()];
      return precedes(next, list.appenders.at(next));
    }
    for (const auto& [element, appender] : unread(list)) precedes(element, appender);
  }

  /// Elements that nobody read, of transactions that were acknowledged.
  const std::vector<std::pair<int64_t, size_t>>& unread(const Lists::List& list) {
    const auto [at, isNew] = unread_.try_emplace(&list);
    if (!isNew) return at->second;
    const std::set<int64_t> read(list.order.begin(), list.order.end());
    for (const auto& [element, appender] : list.appenders)
      if (!read.contains(element) && events_[appender].isOk()) at->second.emplace_back(element, appender);
    return at->second;
  }

  const std::vector<ListEvent>& events_;
  DependencyGraph graph_;
  std::map<const Lists::List*, std::vector<std::pair<int64_t, size_t>>> unread_;
};

/// What ended before another began is before it. An edge to each event that began later would be many: only those are
/// needed that no other event lies between.
void addRealTime(const std::vector<ListEvent>& events, DependencyGraph& graph) {
  std::vector<size_t> byBegin(events.size());
  for (size_t i = 0; i < byBegin.size(); ++i) byBegin[i] = i;
  std::vector<size_t> byEnd = byBegin;
  std::stable_sort(byBegin.begin(), byBegin.end(),
                   [&](size_t a, size_t b) { return events[a].begin < events[b].begin; });
  std::stable_sort(byEnd.begin(), byEnd.end(), [&](size_t a, size_t b) { return events[a].end < events[b].end; });
  std::vector<size_t> frontier;  // events that have ended, none of them before another of them began
  size_t ended = 0;
  for (const size_t event : byBegin) {
    for (; ended < byEnd.size() && events[byEnd[ended]].end < events[event].begin; ++ended) {
      const ListEvent& over = events[byEnd[ended]];
      if (!over.isOk()) continue;
      std::erase_if(frontier, [&](size_t other) { return events[other].end < over.begin; });
      frontier.push_back(byEnd[ended]);
    }
    if (!events[event].mayHaveHappened()) continue;
    for (const size_t before : frontier) graph.add(before, event, Dependency::kTime, "it ended before the next began");
  }
}

struct Anomaly {
  std::string name;
  Cycle cycle;
};

/// One anti-dependency between two that append to what one has read: the update of the other is lost.
bool losesUpdate(const std::vector<ListEvent>& events, const Cycle& cycle) {
  for (const Edge& edge : cycle) {
    if (edge.kind != Dependency::kPrecedes) continue;
    const auto appends = [&](size_t event, const std::string& key) {
      const auto& steps = events[event].operation.steps;
      return std::any_of(steps.begin(), steps.end(), [&](const ListStep& s) { return s.isAppend && s.key == key; });
    };
    for (const ListStep& step : events[edge.from].operation.steps)
      if (!step.isAppend && appends(edge.from, step.key) && appends(edge.to, step.key)) return true;
  }
  return false;
}

std::optional<Anomaly> findAnomaly(const std::vector<ListEvent>& events, const DependencyGraph& graph,
                                   Isolation isolation) {
  using enum Dependency;
  const bool strict = isolation == Isolation::kStrictSerializable;
  const auto with = [&](std::set<Dependency> kinds) {
    if (strict) kinds.insert(kTime);
    return kinds;
  };
  const std::string inTime = strict ? ", with real time" : "";
  if (auto cycle = graph.cycle({kWrites})) return Anomaly{"dirty write (G0)", *cycle};
  if (auto cycle = graph.cycle({kWrites, kReads})) return Anomaly{"circular information flow (G1c)", *cycle};
  if (isolation == Isolation::kReadCommitted) return std::nullopt;
  if (auto cycle = graph.cycle(with({kWrites, kReads})))
    return Anomaly{"writes and reads in a circle" + inTime, *cycle};
  if (auto cycle = graph.cycleWithOne(kPrecedes, with({kWrites, kReads})))
    return Anomaly{(losesUpdate(events, *cycle) ? "lost update (G-single)" : "read skew (G-single)") + inTime, *cycle};
  if (isolation == Isolation::kSnapshot) return std::nullopt;
  if (auto cycle = graph.cycle(with({kWrites, kReads, kPrecedes}))) return Anomaly{"write skew (G2)" + inTime, *cycle};
  return std::nullopt;
}

}  // namespace

std::string ListTransaction::toString() const {
  std::vector<std::string> parts;
  for (const ListStep& step : steps)
    parts.push_back(step.isAppend ? fmt::format("append {} {}", step.key, step.value)
                                  : fmt::format("read {} [{}]", step.key, fmt::join(step.contents, " ")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Verdict checkListAppend(const History<ListTransaction>& history, Isolation isolation) {
  const auto& events = history.events();
  Lists lists(events);
  if (std::string broken = lists.inspect(); !broken.empty()) return {broken};
  Dependencies dependencies(events, lists);
  if (isolation == Isolation::kStrictSerializable) addRealTime(events, dependencies.graph());
  const auto anomaly = findAnomaly(events, dependencies.graph(), isolation);
  if (!anomaly) return {};
  std::string text = anomaly->name + ":";
  for (const Edge& edge : anomaly->cycle)
    text +=
        fmt::format("\n    T{}  {}\n        before T{}: {}", edge.from, lineOf(events[edge.from]), edge.to, edge.why);
  return {text};
}

}  // namespace troupe::checkers
