#include "test/checkers/causal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace troupe::checkers {

namespace {

using Kind = RegisterOperation::Kind;
using RegisterEvent = Event<RegisterOperation>;

bool writes(const RegisterEvent& event) {
  return event.operation.kind == Kind::kWrite ||
         (event.operation.kind == Kind::kCompareAndSet && event.operation.applied);
}

/// The value that the operation has seen, if it is one that has seen something.
std::optional<std::optional<int64_t>> valueSeen(const RegisterEvent& event) {
  const bool isRefused = event.operation.kind == Kind::kCompareAndSet && !event.operation.applied;
  if (!event.isOk() || event.operation.kind == Kind::kWrite || isRefused) return std::nullopt;
  return event.operation.kind == Kind::kRead ? event.operation.read : event.operation.expected;
}

std::string lineOf(const RegisterEvent& event) {
  return fmt::format("{}  {}", spanText(event.begin, event.end, event.process), event.operation.toString());
}

/// The causal past of each event as a vector clock: of each session, how many of its events.
class Causes {
 public:
  explicit Causes(const std::vector<RegisterEvent>& all) {
    for (const RegisterEvent& event : all) {
      const bool hasWritten = writes(event) && event.mayHaveHappened();
      if (!hasWritten && !valueSeen(event)) continue;
      const size_t session = sessions_.try_emplace(event.process, sessions_.size()).first->second;
      nodes_.push_back({&event, session, ++length_[session], {}, nullptr});
    }
    for (Node& node : nodes_)
      if (writes(*node.event)) writers_[{node.event->operation.key, node.event->operation.value}] = &node;
  }

  std::string inspect() {
    if (std::string broken = bind(); !broken.empty()) return broken;
    if (std::string broken = order(); !broken.empty()) return broken;
    for (const Node& node : nodes_) {
      if (!valueSeen(*node.event)) continue;
      if (std::string broken = inspectRead(node); !broken.empty()) return broken;
    }
    return {};
  }

 private:
  struct Node {
    const RegisterEvent* event;
    size_t session;
    size_t place;              ///< in its session, from 1
    std::vector<size_t> past;  ///< its own place included
    Node* source;              ///< of a read: the write it saw
  };

  /// Finds the write behind each read.
  std::string bind() {
    for (Node& node : nodes_) {
      const auto seen = valueSeen(*node.event);
      if (!seen || !*seen) continue;
      const auto writer = writers_.find({node.event->operation.key, **seen});
      if (writer == writers_.end())
        return fmt::format("a read of what nobody has written:\n    {}", lineOf(*node.event));
      node.source = writer->second;
    }
    return {};
  }

  /// Goes through sessions as far as what they have read is known; stops where reads and writes are in a circle.
  std::string order() {
    std::vector<std::vector<Node*>> bySession(sessions_.size());
    for (Node& node : nodes_) bySession[node.session].push_back(&node);
    std::vector<size_t> next(sessions_.size(), 0);
    for (bool moved = true; std::exchange(moved, false);) {
      for (size_t s = 0; s < bySession.size(); ++s) {
        while (next[s] < bySession[s].size()) {
          Node& node = *bySession[s][next[s]];
          if (node.source && node.source->past.empty()) break;
          node.past = next[s] > 0 ? bySession[s][next[s] - 1]->past : std::vector<size_t>(sessions_.size(), 0);
          if (node.source)
            for (size_t i = 0; i < node.past.size(); ++i) node.past[i] = std::max(node.past[i], node.source->past[i]);
          node.past[s] = node.place;
          if (writes(*node.event)) writes_[{node.event->operation.key, s}].push_back(&node);
          ++next[s];
          moved = true;
        }
      }
    }
    for (size_t s = 0; s < bySession.size(); ++s)
      if (next[s] < bySession[s].size())
        return fmt::format("reads and writes are in a circle of causes; this read is part of it, or behind it:\n    {}",
                           lineOf(*bySession[s][next[s]]->event));
    return {};
  }

  /// In each session the last write of the register that is in the read's past: was the value it saw older?
  std::string inspectRead(const Node& read) const {
    const std::string& key = read.event->operation.key;
    for (size_t s = 0; s < sessions_.size(); ++s) {
      const auto found = writes_.find({key, s});
      if (found == writes_.end()) continue;
      const auto& list = found->second;
      const size_t before = s == read.session ? read.place - 1 : read.past[s];
      const auto behind = std::upper_bound(list.begin(), list.end(), before,
                                           [](size_t place, const Node* node) { return place < node->place; });
      if (behind == list.begin()) continue;
      const Node& known = **std::prev(behind);
      if (&known == read.source) continue;
      if (!read.source)
        return fmt::format("a read sees nothing, and a write is in its past:\n    {}\n    {}", lineOf(*read.event),
                           lineOf(*known.event));
      if (known.past[read.source->session] >= read.source->place)
        return fmt::format(
            "a read goes back: it saw\n    {}\n  and in its past is a later write\n    {}\n  the read was\n    {}",
            lineOf(*read.source->event), lineOf(*known.event), lineOf(*read.event));
    }
    return {};
  }

  std::map<int, size_t> sessions_;
  std::map<size_t, size_t> length_;
  std::vector<Node> nodes_;
  std::map<std::pair<std::string, int64_t>, Node*> writers_;
  std::map<std::pair<std::string, size_t>, std::vector<const Node*>> writes_;  ///< by register and session
};

}  // namespace

Verdict checkCausal(const History<RegisterOperation>& history) { return {Causes(history.events()).inspect()}; }

}  // namespace troupe::checkers
