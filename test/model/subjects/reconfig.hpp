#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "state_machines/core/machine.hpp"
#include "state_machines/replication/positions.hpp"
#include "state_machines/replication/topology.hpp"
#include "test/model/model.hpp"
#include "test/model/subjects/commitment.hpp"

/// Safe reconfiguration: members with the topology machine of the server, and as little of a log around it as shows
/// what a change of the config may lose. Entries are written, copied, and counted by the config that is in use
/// (state_machines/replication/positions.hpp); members elect, crash, and spread configs meanwhile.
namespace troupe::model::reconfig {

using commitment::Log;
using machines::Facts;
using machines::Invariant;
using machines::Snapshot;
using machines::Step;
using machines::Transitions;
using replication::Topology;

struct Stand {};  ///< from outside: this member stands for election, or gives its election up
struct Write {    ///< from outside: a client writes to a primary
  int mostInATerm = 1;
};
/// From outside: replSetReconfig at a primary that has the one config, with the other.
struct Change {
  std::vector<NodeName> from, to;
};
struct Adopt {};  ///< a timer: the config is written down, and entries are counted by it from now on
struct Tell {};   ///< a timer: the others are shown this member's config, position and log
struct Batch {
  Log log;
};

/// One member: its topology machine, its log, and what the actors between the two do.
struct Member : machines::Machine<Member> {
  static constexpr const char* kName = "member";
  using Phase = Topology::Phase;
  static constexpr const auto& kPhases = Topology::kPhases;
  struct Document {
    Topology::Document topology;
    Log log;
    OpTime committed;              ///< the newest entry that it has ever found committed as a primary; nobody reads it
    bool isFirst = false;          ///< it begins as the primary of term 1, elected by all votes
    std::vector<NodeName> others;  ///< all other nodes, members or not
  };
  struct Memory {
    Phase phase = Phase::kStartup;  ///< that of the topology
    std::string summary;            ///< of the topology, for stories
    Topology::Memory topology;
    std::optional<replication::ReplicaSetConfig> counted;  ///< leading: entries are counted by it
    replication::Positions positions;                      ///< leading: of the others, in this term
    bool isAdopting = false;                               ///< leading: Adopt is armed
  };
  using Event = std::variant<Stand, Write, Change, Adopt, Tell, Batch, replication::HeartbeatReply,
                             replication::VoteRequest, replication::VoteReply>;
  using Message = std::variant<Batch, replication::HeartbeatReply, replication::VoteRequest, replication::VoteReply>;

  static const Transitions<Member>& transitions();
  static Step<Member> resume(const Document& document);
  /// Those of the topology.
  static std::vector<Invariant> invariants();
  static void facts(const NodeName& node, const Snapshot<Member>& now, Facts& facts);
};

/// The voters of a config: "a:1", "b:1" ...
using Hosts = std::vector<NodeName>;

/// A set whose first primary is "a:1", in term 1. Nodes that only a later config names have copied the data and know no
/// config yet. Simplifications of what may happen, by name:
/// - There is no time: a member stands at any moment (by replSetStepUp, without a dry run), and a primary that hears of
///   nobody does not step down. A new primary catches up with nobody (`catchUpTimeoutMillis: 0`) and drains at once.
/// - Heartbeats are answers without a question, and each brings the sender's config. They do not tell who leads, nor
///   whom else the sender hears of.
/// - Heartbeats that overtake each other take nothing back: the newest value counts. One of an earlier term without a
///   newer config is lost.
/// - No timer of the topology machine fires: a change waits for the answer of each new member, and everybody counts as
///   alive. Catch-up, drain and step-down are over within the step in which they begin, so rules about these phases are
///   not exercised; among them is that a majority has voted for a node that catches up.
/// - Only a leader remembers anything of the others.
/// - All members vote and hold data; nothing is changed by force, and entries count once they are in the journal.
/// - A fetch copies the whole log of a member whose end is newer, rollback included, in one step. Entries are on the
///   disk, and known to the topology, at once. Positions travel with heartbeats.
struct ReconfigModel {
  std::vector<Change> changes;  ///< by operators, at any time; the first one begins with the set's first config
  int64_t terms = 2;            ///< the last one that is explored
  int64_t versions = 99;        ///< of configs: the last one that is explored
  int crashes = 0;              ///< of each node
  int writes = 1;               ///< of clients, at the most, in each term; 0: nobody has a log
  bool isClaimed = false;       ///< the first config is of term 1; else of an earlier one
  Hosts standing;               ///< who stands
  bool hasGoal = true;          ///< a primary has the last config; the search for it may take most of the time
};

/// The changes that lead from each of these configs to the next one.
std::vector<Change> inTurn(const std::vector<Hosts>& configs);
/// All additions and removals of one voter among these hosts; the first config has all of them.
std::vector<Change> ofOneVoter(const Hosts& hosts);

/// On an everlasting network: any number of losses and duplications, in any order.
Model reconfigs(const ReconfigModel& options);

}  // namespace troupe::model::reconfig

TROUPE_DESCRIBE(troupe::model::reconfig::Stand, 0)
TROUPE_DESCRIBE(troupe::model::reconfig::Write, 0, mostInATerm)
TROUPE_DESCRIBE(troupe::model::reconfig::Change, 0, from, to)
TROUPE_DESCRIBE(troupe::model::reconfig::Adopt, 0)
TROUPE_DESCRIBE(troupe::model::reconfig::Tell, 0)
TROUPE_DESCRIBE(troupe::model::reconfig::Batch, 0, log)
TROUPE_DESCRIBE(troupe::model::reconfig::Member::Document, 1, topology, log, committed, isFirst, others)
TROUPE_DESCRIBE(troupe::model::reconfig::Member::Memory, 0, phase, summary, topology, counted, positions, isAdopting)
