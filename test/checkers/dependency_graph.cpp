#include "test/checkers/dependency_graph.hpp"

#include <algorithm>
#include <deque>
#include <utility>

namespace troupe::checkers {

void DependencyGraph::add(size_t from, size_t to, Dependency kind, std::string why) {
  if (from != to) edges_[from].push_back({from, to, kind, std::move(why)});
}

/// Tarjan's algorithm with a stack of its own: histories are longer than a thread's stack is deep.
std::vector<size_t> DependencyGraph::components(const std::set<Dependency>& kinds) const {
  constexpr size_t kNone = SIZE_MAX;
  struct Frame {
    size_t node, nextEdge;
  };
  std::vector<size_t> index(edges_.size(), kNone), low(edges_.size()), component(edges_.size(), kNone), open;
  size_t found = 0, last = 0;
  for (size_t root = 0; root < edges_.size(); ++root) {
    if (index[root] != kNone) continue;
    std::vector<Frame> frames{{root, 0}};
    while (!frames.empty()) {
      Frame& frame = frames.back();
      const size_t node = frame.node;
      if (frame.nextEdge == 0) {
        index[node] = low[node] = found++;
        open.push_back(node);
      }
      if (frame.nextEdge < edges_[node].size()) {
        const Edge& edge = edges_[node][frame.nextEdge++];
        if (!kinds.contains(edge.kind)) continue;
        if (index[edge.to] == kNone) frames.push_back({edge.to, 0});
        else if (component[edge.to] == kNone) low[node] = std::min(low[node], index[edge.to]);
        continue;
      }
      if (low[node] == index[node]) {
        for (size_t member = kNone; member != node;) {
          member = open.back();
          open.pop_back();
          component[member] = last;
        }
        ++last;
      }
      frames.pop_back();
      if (!frames.empty()) low[frames.back().node] = std::min(low[frames.back().node], low[node]);
    }
  }
  return component;
}

Cycle DependencyGraph::way(size_t from, size_t to, const std::set<Dependency>& kinds,
                           const std::vector<size_t>& component) const {
  std::vector<const Edge*> reachedBy(edges_.size(), nullptr);
  std::deque<size_t> next{from};
  while (!next.empty()) {
    const size_t node = next.front();
    next.pop_front();
    for (const Edge& edge : edges_[node]) {
      if (!kinds.contains(edge.kind) || component[edge.to] != component[from] || reachedBy[edge.to]) continue;
      reachedBy[edge.to] = &edge;
      if (edge.to != to) {
        next.push_back(edge.to);
        continue;
      }
      Cycle made{edge};
      while (made.back().from != from) made.push_back(*reachedBy[made.back().from]);
      std::reverse(made.begin(), made.end());
      return made;
    }
  }
  return {};
}

std::optional<Cycle> DependencyGraph::cycle(const std::set<Dependency>& kinds) const {
  const auto component = components(kinds);
  std::vector<size_t> members(edges_.size() + 1, 0);
  for (const size_t one : component) ++members[one];
  std::optional<Cycle> shortest;
  constexpr size_t kTries = 50;  // starts of a search for a shorter one
  size_t tries = 0;
  for (size_t node = 0; node < edges_.size() && tries < kTries; ++node) {
    if (members[component[node]] < 2) continue;
    ++tries;
    Cycle found = way(node, node, kinds, component);
    if (!found.empty() && (!shortest || found.size() < shortest->size())) shortest = std::move(found);
  }
  return shortest;
}

std::optional<Cycle> DependencyGraph::cycleWithOne(Dependency one, const std::set<Dependency>& others) const {
  std::set<Dependency> all = others;
  all.insert(one);
  const auto component = components(all);
  for (const auto& edges : edges_) {
    for (const Edge& edge : edges) {
      if (edge.kind != one || component[edge.from] != component[edge.to]) continue;
      Cycle back = way(edge.to, edge.from, others, component);
      if (back.empty()) continue;
      back.insert(back.begin(), edge);
      return back;
    }
  }
  return std::nullopt;
}

}  // namespace troupe::checkers
