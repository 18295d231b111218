#pragma once
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "state_machines/core/machine.hpp"
#include "state_machines/replication/positions.hpp"
#include "test/model/model.hpp"

/// Members that elect a primary, pull its log and count what a majority has, with the rules of the server
/// (state_machines/replication/positions.hpp) and as little as possible around them. Its subject is the bond between
/// votes, reports and the commit point: no entry that was committed is ever missing or another one.
namespace troupe::model::commitment {

using machines::Facts;
using machines::Invariant;
using machines::Snapshot;
using machines::Step;
using machines::Transitions;
using replication::Positions;

/// Terms of the entries, from the first on. Entry i has the OpTime {term, i}.
using Log = std::vector<int64_t>;
OpTime opTimeOf(const Log& log, size_t length);
inline OpTime newestOf(const Log& log) { return opTimeOf(log, log.size()); }

struct Stand {};  ///< a timer: this member stands for election
struct Write {};  ///< from outside: a client writes to a primary
struct Pull {     ///< a timer: this member fetches from that one
  NodeName from;
};
struct VoteRequest {
  NodeName from;
  int64_t term = 0;
  OpTime applied;
};
struct VoteReply {
  NodeName from;
  int64_t term = 0;
};
struct Fetch {
  NodeName from;
};
struct Batch {
  NodeName from;
  Log log;
};
/// Comes on a way of its own: the member may have fetched from another one meanwhile, or its source may.
struct News {
  OpTime commitPoint;
};
/// What a member has, and the newest term it has heard of when it said so.
struct Report {
  NodeName from;
  int64_t term = 0;
  OpTime position;
};

struct Replica : machines::Machine<Replica> {
  static constexpr const char* kName = "replica";
  enum class Phase { kFollowing, kStanding, kLeading };
  static constexpr auto kPhases =
      machines::phases<Phase>({{Phase::kFollowing, "following", "it fetches from others"},
                               {Phase::kStanding, "standing", "it asked for votes"},
                               {Phase::kLeading, "leading", "a majority voted for it, and it writes"}});
  struct Document {
    NodeName self;
    std::vector<NodeName> others;
    int64_t term = 0;  ///< the newest it has heard of
    int64_t votedIn = 0;
    Log log;
  };
  struct Memory {
    Phase phase = Phase::kFollowing;
    std::set<NodeName> votes;
    Positions positions;  ///< of the others, as a primary knows them
    OpTime commitPoint;
  };
  using Event = std::variant<Stand, Write, Pull, VoteRequest, VoteReply, Fetch, Batch, News, Report>;
  using Message = std::variant<VoteRequest, VoteReply, Fetch, Batch, News, Report>;

  static const Transitions<Replica>& transitions();
  static Step<Replica> resume(const Document& document);
  static std::vector<Invariant> invariants() { return {}; }
  /// "entry 2" is the term of the entry that is committed there.
  static void facts(const NodeName& node, const Snapshot<Replica>& now, Facts& facts);
};

struct Scope {
  int members = 3;
  int64_t terms = 3;
  size_t entries = 3;
  int writes = 1;  ///< of clients, to each member
};
Model replicas(const Scope& scope);

}  // namespace troupe::model::commitment

TROUPE_DESCRIBE(troupe::model::commitment::Stand, 0)
TROUPE_DESCRIBE(troupe::model::commitment::Write, 0)
TROUPE_DESCRIBE(troupe::model::commitment::Pull, 0, from)
TROUPE_DESCRIBE(troupe::model::commitment::VoteRequest, 0, from, term, applied)
TROUPE_DESCRIBE(troupe::model::commitment::VoteReply, 0, from, term)
TROUPE_DESCRIBE(troupe::model::commitment::Fetch, 0, from)
TROUPE_DESCRIBE(troupe::model::commitment::Batch, 0, from, log)
TROUPE_DESCRIBE(troupe::model::commitment::News, 0, commitPoint)
TROUPE_DESCRIBE(troupe::model::commitment::Report, 0, from, term, position)
TROUPE_DESCRIBE(troupe::model::commitment::Replica::Memory, 0, phase, votes, positions, commitPoint)
TROUPE_MACHINE(troupe::model::commitment::Replica, 1, self, others, term, votedIn, log)
