#include "test/simulation/scenario.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "test/simulation/scenario_reader.hpp"
#include "test/simulation/site_faults.hpp"

namespace troupe::sim {

namespace {

using namespace std::chrono_literals;

/// In the order of FaultKind: its name, and what belongs to it.
struct FaultRule {
  const char* name;
  bool repeats = true, hasEnd = true;
  bool leaves = false, clock = false, links = false, share = false, ofNodes = false;
};
constexpr std::array<FaultRule, 18> kFaults{{{.name = "kill", .leaves = true},
                                             {.name = "pause", .leaves = true},
                                             {.name = "clock-skew", .repeats = false, .hasEnd = false, .clock = true},
                                             {.name = "clock-jump", .hasEnd = false, .clock = true},
                                             {.name = "partition"},
                                             {.name = "clog", .links = true},
                                             {.name = "delay", .links = true},
                                             {.name = "loss", .links = true, .share = true},
                                             {.name = "break", .hasEnd = false, .links = true},
                                             {.name = "disk-stall", .ofNodes = true},
                                             {.name = "full-disk"},
                                             {.name = "failed-flush", .share = true, .ofNodes = true},
                                             {.name = "lying-flush", .share = true, .ofNodes = true},
                                             {.name = "lost-key", .hasEnd = false},
                                             {.name = "lost-entry", .hasEnd = false},
                                             {.name = "miscount", .hasEnd = false},
                                             {.name = "lost-document", .hasEnd = false},
                                             {.name = "parked-actor", .hasEnd = false}}};

const std::vector<std::string>& faultNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const FaultRule& rule : kFaults) made.emplace_back(rule.name);
    return made;
  }();
  return names;
}

const std::vector<std::string> kShapes = {"one-way", "isolate", "halves", "many-way"};
const std::vector<std::string> kPrograms = {"replica-set", "lease-service",
                                            "data-node"};  // in the order of ProgramKind
const std::vector<std::string> kWorkloads = {
    "step-downs", "step-ups", "reconfigs", "freezes",  "documents",      "member-reads",   "lease-handoffs", "joins",
    "registers",  "lists",    "items",     "counters", "service-writes", "schema-changes", "transfers",      "resyncs"};

constexpr WorkKind kTorn[] = {WorkKind::kDocuments, WorkKind::kRegisters, WorkKind::kCounters, WorkKind::kServiceWrites,
                              WorkKind::kTransfers};

bool goesWith(ProgramKind program, WorkKind work) {
  if (work >= WorkKind::kCounters) return program == ProgramKind::kReplicaSet;
  if (work >= WorkKind::kRegisters) return program != ProgramKind::kLeaseService;
  if (work == WorkKind::kStepDowns) return program != ProgramKind::kDataNode;
  if (work == WorkKind::kHandoffs) return program == ProgramKind::kLeaseService;
  return program == ProgramKind::kReplicaSet;
}

FaultSpec readFault(TableReader table, int nodes) {
  FaultSpec fault;
  const size_t kind = table.choice("kind", faultNames());
  const FaultRule& rule = kFaults[kind];
  fault.kind = static_cast<FaultKind>(kind);
  if (rule.repeats) fault.every = table.span("every", {2s, 10s});
  if (rule.repeats && fault.every.most < 1ms) table.complain("'every' must be 1ms at least");
  if (rule.hasEnd) fault.lasts = table.span("for", {500ms, 5s});
  if (rule.leaves) fault.leave = table.count("leave", 0, nodes, nodes / 2 + 1);
  if (rule.clock) fault.upTo = table.duration("up_to", 3s);
  if (rule.links) fault.links = table.count("links", 1, nodes * (nodes - 1), nodes);
  if (rule.share) fault.share = table.number("share", 0, 1, 0.3);
  if (rule.ofNodes) fault.nodes = table.texts("nodes");
  for (const std::string& node : fault.nodes)
    if (node.size() != 2 || node[0] != 'n' || node[1] < '1' || node[1] - '0' > nodes)
      table.complain(*table.find("nodes"), fmt::format("'nodes' must name nodes: n1 to n{}", nodes));
  if (fault.kind == FaultKind::kPartition) fault.shape = static_cast<PartitionShape>(table.choice("shape", kShapes));
  if (fault.kind == FaultKind::kDelay) fault.by = table.span("by", {10ms, 300ms});
  table.end();
  return fault;
}

WorkSpec readWorkload(TableReader table, ProgramKind program) {
  WorkSpec work;
  work.kind = static_cast<WorkKind>(table.choice("kind", kWorkloads));
  if (!goesWith(program, work.kind))
    table.complain(*table.find("kind"),
                   fmt::format("a {} has no such workload", kPrograms[static_cast<size_t>(program)]));
  if (table.has("every") && table.has("rate")) table.complain("give 'every' or 'rate', not both");
  const double rate = table.number("rate", 0.001, 1000, 0.2);
  const auto usual = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(1 / rate));
  work.every = table.span("every", {usual / 2, usual * 3 / 2});
  if (work.every.most < 1ms) table.complain("'every' must be 1ms at least");
  if (std::ranges::count(kTorn, work.kind) > 0) work.torn = table.number("torn", 0, 1, 0);
  if (work.kind == WorkKind::kCounters) work.dirty = table.number("dirty", 0, 1, 0);
  if (work.kind == WorkKind::kStepDowns) work.force = table.number("force", 0, 1, 0.3);
  if (work.kind == WorkKind::kStepDowns || work.kind == WorkKind::kFreezes)
    work.period = table.span("period", {1s, 5s});
  table.end();
  return work;
}

TopologySpec readTopology(TableReader table) {
  TopologySpec topology;
  topology.kind = static_cast<ProgramKind>(table.choice("kind", kPrograms, 0));
  topology.nodes = table.count("nodes", 1, 7, 3);
  topology.priorities = table.numbers("priorities", 0, 1000);
  topology.arbiters = table.texts("arbiters");
  topology.joiners = table.count("joiners", 0, topology.nodes - 1, 0);
  topology.withoutVote = table.texts("without_vote");
  topology.logBytes = table.count("log_bytes", 0, 1 << 30, 0);
  topology.electionTimeout = table.duration("election_timeout", 1s);
  topology.heartbeatInterval = table.duration("heartbeat_interval", topology.electionTimeout / 2);
  if (topology.kind == ProgramKind::kDataNode && topology.nodes != 1)
    table.complain("a data-node has 'nodes = 1': several that have data are a replica-set");
  if (topology.electionTimeout < 10ms || topology.heartbeatInterval < 1ms)
    table.complain("'election_timeout' must be 10ms at least, and 'heartbeat_interval' 1ms");
  if (!topology.priorities.empty() && topology.priorities.size() != static_cast<size_t>(topology.nodes))
    table.complain(*table.find("priorities"),
                   fmt::format("'priorities' must have {} numbers, one for each node", topology.nodes));
  const auto isNode = [&](const std::string& name) {
    return name.size() == 2 && name[0] == 'n' && name[1] >= '1' && name[1] - '0' <= topology.nodes;
  };
  if (!std::ranges::all_of(topology.withoutVote, isNode))
    table.complain(*table.find("without_vote"),
                   fmt::format("'without_vote' must name nodes: n1 to n{}", topology.nodes));
  for (const std::string& arbiter : topology.arbiters)
    if (!isNode(arbiter))
      table.complain(*table.find("arbiters"), fmt::format("'arbiters' must name nodes: n1 to n{}", topology.nodes));
  table.end();
  return topology;
}

Conditions readNetwork(TableReader table) {
  Conditions network;
  const Span delay = table.span("delay", {network.leastDelay, network.mostDelay});
  network.leastDelay = delay.least;
  network.mostDelay = delay.most;
  network.loss = table.number("loss", 0, 1, 0);
  network.breaks = table.number("breaks", 0, 1, 0);
  table.end();
  return network;
}

SiteSpec readSites(TableReader table) {
  SiteSpec sites;
  if (table.has("names")) sites.names = table.texts("names");
  const auto isKnown = [](const std::string& pattern) {
    const auto all = FaultSite::all();
    return std::any_of(all.begin(), all.end(), [&](const auto* site) { return isMeant(site->name(), {pattern}); });
  };
  for (const std::string& name : sites.names)
    if (!isKnown(name)) table.complain(*table.find("names"), fmt::format("there is no fault site '{}'", name));
  sites.share = table.number("share", 0, 1, sites.share);
  const auto probability = table.numbers("probability", 0.000001, 1);
  if (!probability.empty()) {
    if (probability.size() != 2 || probability[0] > probability[1])
      table.complain(*table.find("probability"), "'probability' must be two numbers: the least and the most");
    sites.least = probability[0];
    sites.most = probability[1];
  }
  table.end();
  return sites;
}

void readCheck(TableReader table, const InvariantNames& known, Scenario& scenario) {
  scenario.invariants = table.texts("invariants");
  scenario.states = table.texts("states");
  const auto& names = known(scenario.topology.kind);
  for (const std::string& name : scenario.invariants)
    if (std::find(names.begin(), names.end(), name) == names.end())
      table.complain(*table.find("invariants"),
                     fmt::format("there is no invariant '{}'; there are: {}", name, fmt::join(names, "; ")));
  table.end();
}

/// A file's sections, and where they go.
class FileReader {
 public:
  FileReader(const toml::table& root, const std::string& file) : file_(file), root_(root, "a scenario", file) {}

  Scenario read(const InvariantNames& known) {
    static const toml::table nothing;
    Scenario scenario;
    scenario.file = file_;
    scenario.name = root_.text("name");
    const auto section = [&](const char* name) {
      const toml::node* node = root_.find(name);
      if (node && !node->is_table()) root_.complain(*node, fmt::format("'{0}' must be a section: [{0}]", name));
      return TableReader(node ? *node->as_table() : nothing, fmt::format("[{}]", name), file_);
    };
    scenario.topology = readTopology(section("topology"));
    scenario.network = readNetwork(section("network"));
    readCheck(section("check"), known, scenario);
    if (root_.has("sites")) scenario.sites = readSites(section("sites"));
    TableReader liveness = section("liveness");
    scenario.faultsEndAfter = liveness.duration("after", 60s);
    scenario.convergeWithin = liveness.duration("converge_within", 30s);
    liveness.end();
    each("workload", [&](TableReader table) {
      scenario.workloads.push_back(readWorkload(std::move(table), scenario.topology.kind));
    });
    each("fault",
         [&](TableReader table) { scenario.faults.push_back(readFault(std::move(table), scenario.topology.nodes)); });
    root_.end();
    return scenario;
  }

 private:
  template <class Take>
  void each(const char* name, Take take) {
    const toml::node* node = root_.find(name);
    if (!node) return;
    const bool isList = node->is_array_of_tables();
    if (!isList) root_.complain(*node, fmt::format("'{0}' must be sections: [[{0}]]", name));
    for (const toml::node& one : *node->as_array())
      take(TableReader(*one.as_table(), fmt::format("[[{}]]", name), file_));
  }

  const std::string& file_;
  TableReader root_;
};

}  // namespace

std::vector<std::string> Scenario::nodes() const {
  std::vector<std::string> names;
  for (int i = 1; i <= topology.nodes; ++i) names.push_back("n" + std::to_string(i) + ":1");
  return names;
}

StatusWith<Scenario> parseScenario(std::string_view text, const std::string& file, const InvariantNames& known) {
  try {
    const toml::table root = toml::parse(text, file);
    return FileReader(root, file).read(known);
  } catch (const toml::parse_error& e) {
    return Status(ErrorCode::kFailedToParse, fmt::format("{}:{}: {}", file, e.source().begin.line, e.description()));
  } catch (const Mistake& e) {
    return Status(ErrorCode::kFailedToParse, e.what());
  }
}

StatusWith<Scenario> readScenario(const std::string& file, const InvariantNames& known) {
  std::ifstream in(file);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return Status(ErrorCode::kFileNotOpen, "cannot read " + file);
  return parseScenario(text.str(), file, known);
}

}  // namespace troupe::sim
