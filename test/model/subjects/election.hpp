#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "state_machines/replication/topology.hpp"
#include "test/model/model.hpp"

namespace troupe::model {

/// Terms that tests explore: one where a sanitizer makes each step ten times as slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int64_t kExploredTerms = 1;
#else
inline constexpr int64_t kExploredTerms = 2;
#endif

/// The elections of the topology machine, made small enough to be explored to the end. Simplifications of what may
/// happen, by name:
/// - Heartbeats are lost, and members count as alive: a leader is not told, and does not step down because it
/// hears
///   of nobody. (Takeovers and liveness are for the simulator, new configs for reconfig.hpp.)
/// - The reason that people are given for a refused vote is not looked at.
struct ElectionModel {
  std::vector<replication::MemberConfig> members;
  int64_t terms = 2;  ///< up to which is looked
  int standing = 99;  ///< only so many of the members, from the first one, have an election timeout
  int crashes = 0;    ///< of each node
  /// All members are alike: of states that differ in names, or in answers of elections that are over for ever, one is
  /// explored. Planted bugs go without: they may break what that rests on.
  bool reduced = false;
  std::vector<int64_t> configVersions;  ///< which config each node has; absent: all the first one
  bool allFollow = false;               ///< to each, the others are secondaries that have all it has
};

/// n1, n2 ...: voters of the same priority.
std::vector<replication::MemberConfig> votingMembers(int count);

/// On an everlasting network: any number of losses and duplications, in any order. Its goal is a primary.
Model elections(const ElectionModel& options);

/// n1 is elected and steps down; n2, which it asks first, may have been frozen. Nobody stands unless it is asked to.
/// The goal is that another one leads.
Model handoffs();

}  // namespace troupe::model
