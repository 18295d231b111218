#include "test/checkers/linearizability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

namespace troupe::checkers {

namespace {

using Kind = RegisterOperation::Kind;
using RegisterEvent = Event<RegisterOperation>;
using Value = std::optional<int64_t>;

std::string valueText(const Value& value) { return value ? std::to_string(*value) : "nothing"; }

/// The register's value after the operation; false when the operation cannot happen at that value.
bool apply(const RegisterEvent& event, Value& value) {
  const RegisterOperation& op = event.operation;
  switch (op.kind) {
    case Kind::kRead: return op.read == value;
    case Kind::kWrite: value = op.value; return true;
    case Kind::kCompareAndSet:
      // Without an answer nobody knows whether it was applied: it may have found another value and done nothing.
      if (event.isOk() && op.applied != (op.expected == value)) return false;
      if (op.expected == value) value = op.value;
      return true;
  }
  return false;
}

/// The search for an order of one register's operations. Calls and returns lie in a doubly linked list in the order of
/// time; an operation is taken out of it when it is put into the order, and put back when the search returns.
class Search {
 public:
  Search(std::vector<const RegisterEvent*> events, uint64_t maxSteps)
      : events_(std::move(events)), maxSteps_(maxSteps), done_(events_.size(), false) {
    struct Entry {
      TimePoint at;
      bool isReturn;
      size_t event;
    };
    std::vector<Entry> entries;
    for (size_t i = 0; i < events_.size(); ++i) {
      entries.push_back({events_[i]->begin, false, i});
      if (events_[i]->isOk()) entries.push_back({events_[i]->end, true, i});
      toDo_ += events_[i]->isOk() ? 1 : 0;
    }
    // At the same time calls come first: such operations overlap.
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.at != b.at ? a.at < b.at : a.isReturn < b.isReturn;
    });
    nodes_.resize(entries.size() + 1);
    callOf_.resize(events_.size());
    returnOf_.assign(events_.size(), 0);
    for (size_t i = 0; i < entries.size(); ++i) {
      nodes_[i + 1] = {entries[i].event, entries[i].isReturn, i, i + 2 <= entries.size() ? i + 2 : 0};
      (entries[i].isReturn ? returnOf_ : callOf_)[entries[i].event] = i + 1;
    }
    nodes_[0].next = entries.empty() ? 0 : 1;
  }

  /// Empty: there is an order.
  std::string run() {
    size_t at = nodes_[0].next;
    while (toDo_ > 0) {
      if (++steps_ > maxSteps_) return "the search for an order was given up: too much happens at the same time";
      if (at != 0 && !nodes_[at].isReturn && take(at)) {
        at = nodes_[0].next;
        continue;
      }
      if (at != 0 && !nodes_[at].isReturn) {
        at = nodes_[at].next;
        continue;
      }
      // The operation that returns here has to come before, and there is no place for it: another order of the others.
      if (at != 0) remember(nodes_[at].event);
      if (order_.empty()) return explain();
      at = nodes_[putBack()].next;
    }
    return {};
  }

 private:
  struct ListNode {
    size_t event = 0;
    bool isReturn = false;
    size_t previous = 0, next = 0;
  };
  struct Step {
    size_t event;
    Value before;
  };

  /// Puts the operation into the order, if it can happen now and that was not tried before.
  bool take(size_t at) {
    const size_t event = nodes_[at].event;
    Value after = value_;
    if (!apply(*events_[event], after)) return false;
    done_[event] = true;
    const Value before = std::exchange(value_, after);
    if (!seen_.insert(situation()).second) {
      done_[event] = false;
      value_ = before;
      return false;
    }
    order_.push_back({event, before});
    lift(at);
    if (returnOf_[event]) {
      lift(returnOf_[event]);
      --toDo_;
    }
    while (firstOpen_ < done_.size() && done_[firstOpen_]) ++firstOpen_;
    return true;
  }

  /// Takes the last operation out of the order; gives its call.
  size_t putBack() {
    const Step step = order_.back();
    order_.pop_back();
    if (returnOf_[step.event]) {
      drop(returnOf_[step.event]);
      ++toDo_;
    }
    drop(callOf_[step.event]);
    done_[step.event] = false;
    firstOpen_ = std::min(firstOpen_, step.event);
    value_ = step.before;
    return callOf_[step.event];
  }

  void lift(size_t at) {
    nodes_[nodes_[at].previous].next = nodes_[at].next;
    if (nodes_[at].next) nodes_[nodes_[at].next].previous = nodes_[at].previous;
  }
  void drop(size_t at) {
    nodes_[nodes_[at].previous].next = at;
    if (nodes_[at].next) nodes_[nodes_[at].next].previous = at;
  }

  /// What is done and what the register holds. Events are numbered by invocation, so that nearly all done ones are a
  /// prefix: its length, and bits for the few beyond it.
  std::string situation() const {
    size_t first = firstOpen_;
    while (first < done_.size() && done_[first]) ++first;
    size_t last = done_.size();
    while (last > first && !done_[last - 1]) --last;
    std::string key = fmt::format("{}/{}/", first, valueText(value_));
    for (size_t i = first; i < last; ++i) key += done_[i] ? '1' : '0';
    return key;
  }

  /// Keeps the longest order that was found, for the explanation.
  void remember(size_t stuck) {
    if (order_.size() < best_.size() || (stuck_ && order_.size() == best_.size())) return;
    best_ = order_;
    stuck_ = stuck;
    bestValue_ = value_;
  }

  std::string explain() const {
    if (!stuck_) return "there is no order";
    const auto line = [&](size_t event) {
      const RegisterEvent& e = *events_[event];
      return fmt::format("\n    {}  {}", spanText(e.begin, e.end, e.process), e.operation.toString());
    };
    std::string text = fmt::format("register '{}' is not linearizable: when it holds {}, no place is left for{}",
                                   events_[*stuck_]->operation.key, valueText(bestValue_), line(*stuck_));
    text += "\n  behind the last of an order that fits so far:";
    constexpr size_t kShown = 6;
    for (size_t i = best_.size() > kShown ? best_.size() - kShown : 0; i < best_.size(); ++i)
      text += line(best_[i].event);
    return text;
  }

  const std::vector<const RegisterEvent*> events_;
  const uint64_t maxSteps_;
  std::vector<ListNode> nodes_;  ///< the first is the list's head
  std::vector<size_t> callOf_, returnOf_;
  std::vector<bool> done_;
  size_t firstOpen_ = 0;
  Value value_;
  std::vector<Step> order_, best_;
  std::optional<size_t> stuck_;
  Value bestValue_;
  std::unordered_set<std::string> seen_;
  size_t toDo_ = 0;
  uint64_t steps_ = 0;
};

/// Operations that cannot tell anything are left out: failed ones, reads without an answer, and writes without an
/// answer of what nobody has seen. The last keep the search small where many answers are lost.
std::vector<const RegisterEvent*> telling(const std::vector<const RegisterEvent*>& events) {
  std::set<int64_t> seen;  // also by a compare-and-set without an answer, which may lead to a value that was read
  for (const RegisterEvent* event : events) {
    if (!event->mayHaveHappened()) continue;
    if (event->isOk() && event->operation.read) seen.insert(*event->operation.read);
    if (event->operation.kind == Kind::kCompareAndSet && event->operation.expected)
      seen.insert(*event->operation.expected);
  }
  const bool refusals = std::any_of(events.begin(), events.end(), [](const RegisterEvent* event) {
    return event->isOk() && event->operation.kind == Kind::kCompareAndSet && !event->operation.applied;
  });
  std::vector<const RegisterEvent*> kept;
  for (const RegisterEvent* event : events) {
    if (!event->mayHaveHappened()) continue;
    const bool isRead = event->operation.kind == Kind::kRead;
    const bool tells = event->isOk() || (!isRead && (refusals || seen.contains(event->operation.value)));
    if (tells) kept.push_back(event);
  }
  std::stable_sort(kept.begin(), kept.end(), [](const auto* a, const auto* b) { return a->begin < b->begin; });
  return kept;
}

}  // namespace

std::string RegisterOperation::toString() const {
  switch (kind) {
    case Kind::kRead: return fmt::format("read {}: {}", key, valueText(read));
    case Kind::kWrite: return fmt::format("write {}: {}", key, value);
    case Kind::kCompareAndSet:
      return fmt::format("compare and set {}: {} to {}{}", key, valueText(expected), value, applied ? "" : ", refused");
  }
  return {};
}

Verdict checkLinearizable(const History<RegisterOperation>& history, uint64_t maxSteps) {
  std::map<std::string, std::vector<const RegisterEvent*>> registers;
  for (const RegisterEvent& event : history.events()) registers[event.operation.key].push_back(&event);
  for (const auto& [key, events] : registers)
    if (std::string broken = Search(telling(events), maxSteps).run(); !broken.empty()) return {broken};
  return {};
}

}  // namespace troupe::checkers
