#pragma once
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace troupe::checkers {

/// Why one transaction has to be before another.
enum class Dependency {
  kWrites,    ///< ww: its version is followed by the other's
  kReads,     ///< wr: the other has read its version
  kPrecedes,  ///< rw: it has read a version that the other's follows (anti-dependency)
  kTime,      ///< it had ended when the other began
};

struct Edge {
  size_t from = 0, to = 0;
  Dependency kind{};
  std::string why;  ///< for people
};
/// Edges of which each ends where the next begins, the last where the first began.
using Cycle = std::vector<Edge>;

/// Transactions, by number, and what lies between them.
class DependencyGraph {
 public:
  explicit DependencyGraph(size_t transactions) : edges_(transactions) {}

  /// Edges from a transaction to itself are left out.
  void add(size_t from, size_t to, Dependency kind, std::string why);
  /// A shortest cycle of edges of these kinds, if there is one.
  std::optional<Cycle> cycle(const std::set<Dependency>& kinds) const;
  /// A cycle with exactly one edge of kind `one` and otherwise `others`.
  std::optional<Cycle> cycleWithOne(Dependency one, const std::set<Dependency>& others) const;

 private:
  /// The strongly connected component of each transaction by edges of these kinds.
  std::vector<size_t> components(const std::set<Dependency>& kinds) const;
  /// A shortest way within the component; empty if there is none.
  Cycle way(size_t from, size_t to, const std::set<Dependency>& kinds, const std::vector<size_t>& component) const;

  std::vector<std::vector<Edge>> edges_;
};

}  // namespace troupe::checkers
