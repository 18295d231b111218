#include "test/model/subjects/reconfig.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <type_traits>
#include <utility>

#include "state_machines/replication/heartbeats.hpp"
#include "state_machines/replication/turn.hpp"

namespace troupe::model::reconfig {

using namespace replication;
using commitment::newestOf;
using commitment::opTimeOf;
using Document = Member::Document;
using Memory = Member::Memory;
using Phase = Topology::Phase;

namespace {

/// Delays mean nothing here.
constexpr Millis kAnyTime{1000};
/// The primary of term 1.
constexpr const char* kFirst = "a:1";

/// One event being handled: a working copy of the member. What its topology machine wants done is done at once.
class Work {
 public:
  Work(Document document, Memory memory) : doc(std::move(document)), mem(std::move(memory)) {}
  explicit Work(const Snapshot<Member>& now) : Work(now.document, now.memory) {}

  Document doc;
  Memory mem;
  std::vector<machines::Effect<Member>> effects;

  Topology::Memory& topology() { return mem.topology; }
  const ReplicaSetConfig& config() const { return *doc.topology.config; }
  bool hasConfig() const { return doc.topology.config.has_value(); }
  bool leads() const { return replication::leads(mem.topology.phase); }
  bool isPrimary() const { return mem.topology.phase == Phase::kPrimary; }
  bool isMember() const { return hasConfig() && config().has(doc.topology.self); }

  void decide(const Topology::Event& event) { take(machines::advance<Topology>({doc.topology, mem.topology}, event)); }
  void take(machines::Outcome<Topology> out) {
    doc.topology = std::move(out.next.document);
    mem.topology = std::move(out.next.memory);
    for (auto& effect : out.effects) {
      if (auto* send = std::get_if<machines::Send<Topology>>(&effect))
        std::visit([&](auto& message) { pass(send->to, message); }, send->message);
      else if (auto* action = std::get_if<machines::Do<Topology>>(&effect))
        std::visit([&](auto& what) { perform(what); }, action->action);
    }
  }
  void setLog(Log log) {
    doc.log = std::move(log);
    decide(AppliedAdvanced{newestOf(doc.log), newestOf(doc.log), {}});
  }
  Step<Member> step() &&;

 private:
  /// Requests for votes, and votes. Heartbeats are sent at any time (Tell); a refusal says no more than they do.
  template <class Sent>
  void pass(const NodeName& to, Sent& message) {
    if constexpr (std::is_same_v<Sent, VoteRequest>) effects.push_back(Member::send(to, message));
    if constexpr (std::is_same_v<Sent, VoteReply>)
      if (message.granted) effects.push_back(Member::send(to, message));
  }
  template <class What>
  void perform(const What& what) {
    if constexpr (std::is_same_v<What, InstallConfig>) hasInstalled_ = true;
    if constexpr (std::is_same_v<What, Drain>) decide(DrainDone{what.term});
  }
  void count();
  void simplify();
  void summarize();

  bool hasInstalled_ = false;
};

void Work::count() {
  Positions all = mem.positions;
  all[doc.topology.self] = {newestOf(doc.log), newestOf(doc.log)};
  doc.committed = commitPoint(*mem.counted, all, mem.topology.term, doc.committed);
}

/// Fields that decide nothing get one value. A primary has to know of each member its position, and whether it holds
/// the present config.
void Work::simplify() {
  auto& now = mem.topology;
  const ConfigVersion present = hasConfig() ? config().configVersion() : ConfigVersion{};
  for (MemberView& view : now.members) {
    MemberView known;
    known.host = view.host;
    known.state = MemberState::kSecondary;
    known.heard = {0};
    if (leads() && view.config == present) known.config = present;
    if (leads()) known.applied = known.durable = view.applied;
    view = std::move(known);
  }
  now.hearsay.reset();
  now.catchUpTakeover = now.priorityTakeover = false;
}

/// "term 2, config 3 of term 1: a:1 b:1, change is claiming".
void Work::summarize() {
  mem.summary = fmt::format("term {}", mem.topology.term);
  if (!hasConfig()) return;
  Hosts hosts;
  for (const MemberConfig& member : config().members) hosts.push_back(member.host);
  mem.summary += fmt::format(", config {} of term {}: {}", config().version, config().term, fmt::join(hosts, " "));
  if (const auto& change = mem.topology.change)
    mem.summary += fmt::format(", change is {}", machines::EnumNames<ConfigChange::Stage>::name(change->stage));
}

Step<Member> Work::step() && {
  mem.phase = mem.topology.phase;
  if (leads()) {
    if (!mem.counted) mem.counted = config();
    count();
    if (hasInstalled_) effects.push_back(Member::after(kAnyTime, Adopt{}));
    mem.isAdopting |= hasInstalled_;
  } else {
    if (mem.isAdopting) effects.push_back(Member::cancel(Adopt{}));
    mem.isAdopting = false;
    mem.counted.reset();
    mem.positions.clear();
  }
  simplify();
  summarize();
  return Member::stay().with(std::move(doc)).remembering(std::move(mem)).then(std::move(effects));
}

Step<Member> stand(const Snapshot<Member>& now, const Stand&) {
  Work w(now);
  if (w.topology().phase == Phase::kFollower) {
    w.decide(StepUp{.skipDryRun = true});
  } else if (w.topology().phase == Phase::kCandidate) {
    w.topology().frozen = true;  // as if the dry run that follows had failed
    w.decide(ElectionTimeout{});
    w.topology().frozen = false;
  }
  return std::move(w).step();
}

Step<Member> write(const Snapshot<Member>& now, const Write& e) {
  Work w(now);
  const auto ofThisTerm = std::ranges::count(w.doc.log, w.topology().term);
  if (!w.isPrimary() || ofThisTerm >= e.mostInATerm) return Member::stay();
  Log log = w.doc.log;
  log.push_back(w.topology().term);
  w.setLog(std::move(log));
  return std::move(w).step();
}

std::vector<MemberConfig> membersOf(const Hosts& hosts) {
  std::vector<MemberConfig> members;
  for (const NodeName& host : hosts) {
    MemberConfig member;
    member.id = host.front() - 'a';
    member.host = host;
    members.push_back(std::move(member));
  }
  return members;
}

Step<Member> change(const Snapshot<Member>& now, const Change& e) {
  Work w(now);
  if (!w.isPrimary() || w.config().members != membersOf(e.from)) return Member::stay();
  ReplicaSetConfig next = w.config();
  ++next.version;
  next.members = membersOf(e.to);
  w.decide(Reconfig{std::move(next)});
  return std::move(w).step();
}

/// Nothing newer than the own end can have been committed so far (ReplicationProgress::newestCommitted).
Step<Member> adopt(const Snapshot<Member>& now, const Adopt&) {
  Work w(now);
  w.mem.isAdopting = false;
  if (!w.leads()) return std::move(w).step();
  w.mem.counted = w.config();
  std::erase_if(w.mem.positions, [&](const auto& each) { return !w.config().has(each.first); });
  w.decide(ConfigInUse{w.config().configVersion(), newestOf(w.doc.log)});
  return std::move(w).step();
}

Step<Member> tell(const Snapshot<Member>& now, const Tell& e) {
  const Turn topology(Snapshot<Topology>{now.document.topology, now.memory.topology});
  std::vector<machines::Effect<Member>> effects{Member::after(kAnyTime, e)};
  for (const NodeName& other : now.document.others) {
    HeartbeatReply shown;
    shown.sender = reportFor(topology, other);
    shown.sender.others.clear();
    shown.sender.primary.clear();
    shown.sender.state = MemberState::kSecondary;
    shown.to = other;
    shown.setName = now.document.topology.setName;
    shown.newer = now.document.topology.config;
    effects.push_back(Member::send(other, shown));
    if (!now.document.log.empty()) effects.push_back(Member::send(other, Batch{now.document.log}));
  }
  return Member::stay().then(std::move(effects));
}

/// A heartbeat of an earlier term without a newer config counts as lost: such messages can be left out of the state.
bool isOutdated(const Work& w, const HeartbeatReply& e) {
  return w.hasConfig() && e.newer && e.sender.term < w.mem.topology.term &&
         !e.newer->configVersion().isNewerThan(w.config().configVersion());
}

/// Heartbeats pass between two nodes only if one has the other in its config, or asks whether it would join.
bool mayHear(const Work& w, const HeartbeatReply& e) {
  const bool isAsked = w.leads() && w.mem.topology.awaited.contains(e.sender.from);
  const bool isTold = e.newer && e.newer->has(w.doc.topology.self) && e.newer->has(e.sender.from);
  return isAsked || isTold || (w.isMember() && w.config().has(e.sender.from));
}

/// An older heartbeat that arrives later takes nothing back.
void keepNewest(Work& w, Report& report) {
  for (const MemberView& view : w.topology().members) {
    if (view.host != report.from || !w.leads()) continue;
    report.applied = std::max(report.applied, view.applied);
    report.durable = std::max(report.durable, view.durable);
    if (view.config.isNewerThan(report.config)) report.config = view.config;
  }
}

Step<Member> hear(const Snapshot<Member>& now, const HeartbeatReply& e) {
  Work w(now);
  if (!mayHear(w, e) || isOutdated(w, e)) return Member::stay();
  const NodeName& from = e.sender.from;
  if (w.leads() && w.mem.counted->has(from)) {
    w.decide(TermHeard{e.sender.term});
    if (w.leads()) {
      auto& known = w.mem.positions[from];
      known.applied = known.durable = std::max(known.applied, e.sender.applied);
    }
  }
  HeartbeatReply taken = e;
  keepNewest(w, taken.sender);
  w.decide(taken);
  return std::move(w).step();
}

Step<Member> follow(const Snapshot<Member>& now, const Batch& e) {
  Work w(now);
  if (!w.isMember() || w.leads() || newestOf(e.log) <= newestOf(w.doc.log)) return Member::stay();
  w.setLog(e.log);
  return std::move(w).step();
}

template <class Vote>
Step<Member> vote(const Snapshot<Member>& now, const Vote& e) {
  Work w(now);
  w.decide(e);
  return std::move(w).step();
}

/// The same invariant of the members' topology machines.
Invariant ofTopologies(Invariant inner) {
  return machines::never(inner.name, [inner](const machines::World& world) {
    std::deque<Snapshot<Topology>> kept;
    machines::World topologies;
    world.each<Member>([&](const NodeName& node, bool alive, const Snapshot<Member>& member) {
      kept.push_back({member.document.topology, member.memory.topology});
      topologies.add<Topology>(node, alive, &kept.back());
    });
    return inner.broken(topologies);
  });
}

/// The voters of a config that hold no newer one, and so may still vote by it.
std::set<NodeName> electorsOf(const ReplicaSetConfig& config, const machines::World& world) {
  std::set<NodeName> found;
  world.each<Member>([&](const NodeName& node, bool, const Snapshot<Member>& member) {
    const auto& held = member.document.topology.config;
    if (config.has(node) && !(held && held->configVersion().isNewerThan(config.configVersion()))) found.insert(node);
  });
  return found;
}

/// Whether a majority of the one config and a majority of the other, without a common member, may still vote by them.
bool mayElectApart(const ReplicaSetConfig& one, const ReplicaSetConfig& other, const machines::World& world) {
  const std::set<NodeName> ofOne = electorsOf(one, world), ofOther = electorsOf(other, world);
  int common = 0;
  for (const NodeName& node : ofOne) common += ofOther.contains(node) ? 1 : 0;
  const int wanted = std::max(0, one.majority() - (static_cast<int>(ofOne.size()) - common)) +
                     std::max(0, other.majority() - (static_cast<int>(ofOther.size()) - common));
  return wanted <= common;
}

bool twoMajoritiesApart(const machines::World& world) {
  std::vector<const ReplicaSetConfig*> held;
  world.each<Member>([&](const NodeName&, bool, const Snapshot<Member>& member) {
    if (member.document.topology.config) held.push_back(&*member.document.topology.config);
  });
  for (const auto* one : held)
    for (const auto* other : held)
      if (!(*one == *other) && mayElectApart(*one, *other, world)) return true;
  return false;
}

bool has(const Log& log, const OpTime& entry) {
  const size_t length = entry.timestamp.seconds;
  return log.size() >= length && opTimeOf(log, length) == entry;
}

/// Whatever the config by which it was committed.
bool primaryLacksCommitted(const machines::World& world) {
  bool broken = false;
  world.each<Member>([&](const NodeName&, bool, const Snapshot<Member>& earlier) {
    const OpTime& committed = earlier.document.committed;
    world.each<Member>([&](const NodeName&, bool alive, const Snapshot<Member>& leader) {
      if (!alive || !leads(leader.memory.phase) || leader.memory.topology.term <= committed.term) return;
      broken |= committed != OpTime{} && !has(leader.document.log, committed);
    });
  });
  return broken;
}

/// A vote outlives a crash, so the term never falls below that of the last one.
void leaveOutInert(Model& model) {
  model.inertOnce<Member, Batch>([](const Snapshot<Member>& now, const Batch& batch) {
    return newestOf(batch.log) <= newestOf(now.document.log);
  });
  model.inertOnce<Member, VoteReply>([](const Snapshot<Member>& now, const VoteReply& reply) {
    return reply.term < now.document.topology.lastVote.term;
  });
  model.inertOnce<Member, HeartbeatReply>([](const Snapshot<Member>& now, const HeartbeatReply& reply) {
    const auto& held = now.document.topology.config;
    return reply.sender.term < now.document.topology.lastVote.term && held && reply.newer &&
           !reply.newer->configVersion().isNewerThan(held->configVersion());
  });
  model.inertOnce<Member, VoteRequest>([](const Snapshot<Member>& now, const VoteRequest& request) {
    return request.term < now.document.topology.lastVote.term;
  });
}

Document documentOf(const NodeName& self, const ReconfigModel& options) {
  Document document;
  document.topology.self = self;
  document.topology.setName = "rs";
  if (options.writes > 0) document.log = {0};
  const auto& first = options.changes.front().from;
  if (std::ranges::find(first, self) == first.end()) return document;
  ReplicaSetConfig config;
  config.id = "rs";
  config.term = options.isClaimed ? 1 : 0;
  config.members = membersOf(first);
  config.settings.catchUpTimeoutMillis = ConfigMillis(0);
  document.topology.config = std::move(config);
  document.topology.lastVote = {1, kFirst};
  document.isFirst = self == kFirst;
  return document;
}

}  // namespace

const Transitions<Member>& Member::transitions() {
  static const Transitions<Member> table = [] {
    std::vector<machines::Transition<Member>> rows{anywhere<Stand>({}, stand),
                                                   anywhere<Write>({}, write),
                                                   anywhere<Change>({}, change),
                                                   anywhere<Adopt>({}, adopt),
                                                   anywhere<Tell>({}, tell),
                                                   anywhere<Batch>({}, follow),
                                                   anywhere<HeartbeatReply>({}, hear),
                                                   anywhere<VoteRequest>({}, vote<VoteRequest>),
                                                   anywhere<VoteReply>({}, vote<VoteReply>)};
    for (auto& row : rows)
      for (const auto& phase : kPhases) row.targets.emplace_back(phase.phase);
    return Transitions<Member>(std::move(rows));
  }();
  return table;
}

Step<Member> Member::resume(const Document& document) {
  Work w(document, {});
  w.take(machines::resumed<Topology>(document.topology));
  w.setLog(document.log);
  if (std::exchange(w.doc.isFirst, false)) w.topology().phase = Phase::kPrimary;
  return std::move(w).step().then(after(kAnyTime, Tell{}));
}

std::vector<Invariant> Member::invariants() {
  std::vector<Invariant> all;
  for (auto& invariant : Topology::invariants()) all.push_back(ofTopologies(std::move(invariant)));
  return all;
}

void Member::facts(const NodeName& node, const Snapshot<Member>& now, Facts& facts) {
  Topology::facts(node, {now.document.topology, now.memory.topology}, facts);
}

std::vector<Change> inTurn(const std::vector<Hosts>& configs) {
  std::vector<Change> changes;
  for (size_t at = 1; at < configs.size(); ++at) changes.push_back({configs[at - 1], configs[at]});
  return changes;
}

std::vector<Change> ofOneVoter(const Hosts& hosts) {
  std::vector<Change> changes;
  const uint32_t all = (1u << hosts.size()) - 1;
  const auto chosen = [&](uint32_t bits) {
    Hosts out;
    for (size_t at = 0; at < hosts.size(); ++at)
      if (bits >> at & 1) out.push_back(hosts[at]);
    return out;
  };
  for (uint32_t from = all; from > 0; --from)
    for (uint32_t voter = 1; voter <= all; voter <<= 1)
      if (from != voter) changes.push_back({chosen(from), chosen(from ^ voter)});
  return changes;
}

Model reconfigs(const ReconfigModel& options) {
  Model model;
  model.network = Network::kEverlasting;
  model.faults.crashes = options.crashes;
  model.rememberFactsOnly("leader");
  model.hide({"topology", "counted", "positions", "others", "isFirst", "setName", "newer", "refusal", "sentAt"});
  std::set<NodeName> mayLead(options.standing.begin(), options.standing.end());
  mayLead.insert(kFirst);
  model.simplifyValue<HeartbeatReply>([mayLead](HeartbeatReply& reply) {
    if (!mayLead.contains(reply.to)) reply.sender.applied = reply.sender.durable = {};  // it has no use for positions
  });
  std::set<NodeName> nodes;
  for (const Change& change : options.changes)
    for (const auto* config : {&change.from, &change.to}) nodes.insert(config->begin(), config->end());
  for (const NodeName& self : nodes) {
    Document document = documentOf(self, options);
    for (const NodeName& other : nodes)
      if (other != self) document.others.push_back(other);
    model.machine<Member>(self, document);
    if (options.writes > 0) model.client<Member>(self, Write{options.writes}, kAnyNumber);
    for (const Change& change : options.changes) model.client<Member>(self, change, kAnyNumber);
  }
  for (const NodeName& self : options.standing) model.client<Member>(self, Stand{}, kAnyNumber);
  model.within<Member>([options](const auto& now) {
    const auto& config = now.document.topology.config;
    return now.memory.topology.term <= options.terms && (!config || config->version <= options.versions);
  });
  leaveOutInert(model);
  model.never("two configs could elect whose majorities need not meet", twoMajoritiesApart);
  model.never("a primary lacks what was committed", primaryLacksCommitted);
  if (!options.hasGoal) return model;
  model.goal("a primary has the last config",
             [last = membersOf(options.changes.back().to)](const machines::World& world) {
               return world.count<Member>([&](const Snapshot<Member>& now) {
                 return now.memory.phase == Phase::kPrimary && now.document.topology.config->members == last &&
                        !now.memory.topology.change;
               }) > 0;
             });
  return model;
}

}  // namespace troupe::model::reconfig
