#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messaging/clock/op_time.hpp"
#include "messaging/errors/status.hpp"
#include "state_machines/replication/replica_set_config.hpp"
#include "state_machines/replication/topology_messages.hpp"

/// The choice of the member whose log a member fetches. Pure: decides by what is known of the members at one moment.
namespace troupe::replication {

/// The part of a member's config that says whose source it may be.
struct SourceTraits {
  bool votes = true;
  bool buildsIndexes = true;
  bool hidden = false;
  int64_t delaySecs = 0;
  bool operator==(const SourceTraits&) const = default;
};

/// Another member of the set, as this one knows it.
struct SourceCandidate {
  NodeName host;
  MemberState state = MemberState::kUnknown;
  OpTime applied;  ///< its newest entry, as far as this member has heard
  Millis ping{};
  std::optional<NodeName> syncsFrom;  ///< the source it has said it fetches from; empty: none; absent: not known
  SourceTraits traits;
  bool operator==(const SourceCandidate&) const = default;
};

/// What a member knows of its set when it looks for a source. The event that answers the action LookAround.
struct Candidates {
  OpTime own;  ///< the newest entry it has fetched or applied; default: its log is empty
  SourceTraits self;
  std::vector<SourceCandidate> members;  ///< the others, in the order of the config
  NodeName primary;                      ///< empty: none is known
  bool chainingAllowed = true;
  int64_t maxLagSecs = 30;  ///< parameter maxSyncSourceLagSecs
  NodeName name;            ///< this member's own
  int64_t term = 0;         ///< the newest one it has heard of
  bool operator==(const Candidates&) const = default;

  /// Null if it is no other member.
  const SourceCandidate* find(const NodeName& host) const;
};

/// Why a member fetches.
enum class Mission : int32_t {
  kNothing,  ///< it does not
  kFollow,   ///< it follows the primary
  kCatchUp   ///< it was elected, and fetches what others have and it lacks (ELE-019)
};

/// The source with the lowest ping among those that are acceptable and not denied (REP-002, REP-004, REP-005);
/// absent: none. With the same ping the first one of the config. If chaining is forbidden only the primary is
/// acceptable, except to a member that catches up. One that is far behind another acceptable one is not chosen.
/// Preferred are the primary, and voters (to a voter) that are neither hidden, nor delayed (to a delayed member:
/// delayed less), nor far behind the primary; if there is none of these, any that is ahead and builds the indexes that
/// this one builds. While this member has nothing of the primary's term, those are preferred above all that have: what
/// others have of older terms may be a branch that the primary's election has cut off.
std::optional<NodeName> chooseSource(const Candidates& known, const std::set<NodeName>& denied, Mission mission);

/// All that `chooseSource` would accept if none was denied.
std::vector<NodeName> acceptableSources(const Candidates& known, Mission mission);

/// Whether an operator may ask for that source (REP-003). It need be neither ahead nor near. Errors: InvalidOptions
/// (this member itself, no member, an arbiter, a member without the indexes that this one builds), HostUnreachable.
Status checkRequestedSource(const Candidates& known, const NodeName& host);

struct PresentSource {
  NodeName host;
  bool isRequested = false;  ///< an operator asked for it: what is no failure of it is not held against it
  /// The newest entry that it is known to have by its own log, where heartbeats may be older; absent: not probed yet.
  std::optional<OpTime> found;
};
/// Why a member should change its source now, for people; empty: it should not (REP-034). A source of which no entry is
/// known is not far behind: it has just come up, and has not told yet.
std::string whyToChangeSource(const Candidates& known, const PresentSource& source, const std::set<NodeName>& denied,
                              Mission mission);

}  // namespace troupe::replication

TROUPE_ENUM(troupe::replication::Mission, (kNothing, "nothing"), (kFollow, "follow"), (kCatchUp, "catch up"))
TROUPE_DESCRIBE(troupe::replication::SourceTraits, 0, votes, buildsIndexes, hidden, delaySecs)
TROUPE_DESCRIBE(troupe::replication::SourceCandidate, 0, host, state, applied, ping, syncsFrom, traits)
TROUPE_DESCRIBE(troupe::replication::Candidates, 0, own, self, members, primary, chainingAllowed, maxLagSecs, name,
                term)
