#pragma once
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/errors/status.hpp"
#include "test/simulation/network.hpp"

namespace troupe::sim {

/// A duration to be drawn: "2s" or "2s..10s".
struct Span {
  Duration least{}, most{};
  Duration draw(Random& random) const { return sim::between(random, least, most); }
};

/// What goes wrong.
enum class FaultKind {
  kKill,
  kPause,
  kClockSkew,
  kClockJump,
  kPartition,
  kClog,
  kDelay,
  kLoss,
  kBreak,
  kDiskStall,
  kFullDisk,
  kFailedFlush,
  kLyingFlush,    ///< no database survives it: for tests of the checks themselves
  kLostKey,       ///< likewise: a crash takes a row of an index with it
  kLostEntry,     ///< likewise: an entry of a living member's log of operations goes
  kMiscount,      ///< likewise: fast counts are wrong by one from then on
  kLostDocument,  ///< likewise: a document of a living node goes, and its log does not tell
  kParkedActor,   ///< likewise: an actor fails, and is set aside
};
enum class PartitionShape {
  kOneWay,   ///< some are not heard by the others, but hear them
  kIsolate,  ///< one node against all others
  kHalves,   ///< two groups
  kManyWay,  ///< three groups and more
};

struct FaultSpec {
  FaultKind kind{};
  Span every;     ///< from one to the next; none for what holds all the time
  Span lasts;     ///< `for`
  int leave = 0;  ///< that many nodes are always left at work
  PartitionShape shape{};
  Duration upTo{};                 ///< clocks: at most by that much, either way
  Span by;                         ///< delay: what is added
  double share = 0;                ///< of pieces or flushes
  int links = 1;                   ///< how many directions between two nodes
  std::vector<std::string> nodes;  ///< disks: of which nodes; empty: of any
};

/// Fault sites in the code: which a seed may draw from, and how often those it draws fire.
struct SiteSpec {
  std::vector<std::string> names = {"*"};  ///< whole, or a beginning with a star
  double share = 0.5;                      ///< of them are active
  double least = 0.0005, most = 0.1;       ///< probability at each pass
};

/// What operators ask of the set meanwhile.
enum class WorkKind {
  kStepDowns,
  kStepUps,
  kReconfigs,
  kFreezes,
  kDocuments,
  kMemberReads,
  kHandoffs,
  kJoins,
  kRegisters,
  kLists,
  kItems,
  kCounters,
  kServiceWrites,
  kSchemaChanges,
  kTransfers,
  kResyncs
};

struct WorkSpec {
  WorkKind kind{};
  Span every;
  double force = 0;  ///< step-downs: the share that does not wait for anyone
  Span period;       ///< step-downs, freezes: for how long the node will not stand
  /// For tests of the checks. Registers: the share of compare-and-sets that are a find and an update; counters and
  /// writes of services: of operations that are carried out twice; transfers: of those that give before they take;
  /// documents: of majority writes that only the primary's own disk has.
  double torn = 0;
  double dirty = 0;  ///< likewise, counters: the share of majority reads that are local ones
};

/// What runs on the nodes: the programs of scenarios.
enum class ProgramKind { kReplicaSet, kLeaseService, kDataNode };

/// The nodes of a scenario: "n1", "n2" and so on (by the name "n1:1", a host and a port), and what they are. All but
/// the program and the number of nodes is of replica sets.
struct TopologySpec {
  ProgramKind kind = ProgramKind::kReplicaSet;
  int nodes = 3;
  std::vector<double> priorities;  ///< one for each node; empty: all 1
  std::vector<std::string> arbiters;
  int joiners = 0;                       ///< the last so many nodes are not in the first config, and have no data
  std::vector<std::string> withoutVote;  ///< they hold data, and neither vote nor stand
  int logBytes = 0;                      ///< size of the log of operations; 0: the usual one
  Duration electionTimeout = std::chrono::seconds(1);
  Duration heartbeatInterval = std::chrono::milliseconds(500);
};

/// What happens to a cluster, and what must be true of it: data, read from a file of test/simulation/scenarios. A run
/// has a safety phase, in which faults strike and invariants hold, and then a liveness phase: all faults end, and the
/// set has to come together again.
struct Scenario {
  std::string name, file;
  TopologySpec topology;
  Conditions network;
  std::vector<WorkSpec> workloads;
  std::vector<FaultSpec> faults;
  std::optional<SiteSpec> sites;        ///< none: no site fires
  std::vector<std::string> invariants;  ///< to be checked; empty: all
  std::vector<std::string> states;      ///< of members, which at least one of its seeds has to see
  Duration faultsEndAfter = std::chrono::seconds(60);
  Duration convergeWithin = std::chrono::seconds(30);

  std::vector<std::string> nodes() const;
};

/// The names of the invariants that a program has.
using InvariantNames = std::function<const std::vector<std::string>&(ProgramKind)>;

/// Reads a scenario strictly. Errors: FailedToParse, "FILE:LINE: ..." with
/// what is allowed there.
StatusWith<Scenario> parseScenario(std::string_view text, const std::string& file, const InvariantNames& known);
/// The same from a file. Also FileNotOpen.
StatusWith<Scenario> readScenario(const std::string& file, const InvariantNames& known);

}  // namespace troupe::sim
