#include "test/simulation/scenario.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "test/simulation/lease_service.hpp"
#include "test/simulation/replica_set.hpp"
#include "test/simulation/scenario_run.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> kKnown = {"two holders"};
const std::vector<std::string>& knownAlone(ProgramKind) { return kKnown; }

Scenario read(const std::string& text, const InvariantNames& known = invariantNames) {
  auto scenario = parseScenario(text, "a.toml", known);
  if (!scenario.isOK()) throw std::runtime_error(scenario.status().toString());
  return std::move(*scenario);
}
std::string mistakeIn(const std::string& text) {
  const auto scenario = parseScenario(text, "a.toml", knownAlone);
  return scenario.isOK() ? "none" : scenario.status().reason();
}

TEST(Scenario, IsReadFromItsFile) {
  const Scenario s = read(R"(
name = "all of it"
[topology]
nodes = 5
priorities = [2, 1.5, 1, 1, 0]
arbiters = ["n4"]
election_timeout = "2s"
[network]
delay = "1ms..5ms"
loss = 0.25
[[workload]]
kind = "step-downs"
every = "1s..3s"
force = 1
[[fault]]
kind = "kill"
every = "2s..10s"
for = "0.5s"
leave = 3
[[fault]]
kind = "partition"
shape = "many-way"
[check]
invariants = ["two holders"]
[liveness]
after = "1m"
converge_within = "30s"
)",
                          knownAlone);
  EXPECT_EQ(s.nodes(), (std::vector<std::string>{"n1:1", "n2:1", "n3:1", "n4:1", "n5:1"}));
  EXPECT_EQ(s.topology.priorities[1], 1.5);
  EXPECT_EQ(s.topology.electionTimeout, 2s);
  EXPECT_EQ(s.topology.heartbeatInterval, 1s);
  EXPECT_EQ(s.network.mostDelay, 5ms);
  EXPECT_EQ(s.network.loss, 0.25);
  ASSERT_EQ(s.faults.size(), 2u);
  EXPECT_EQ(s.faults[0].kind, FaultKind::kKill);
  EXPECT_EQ(s.faults[0].every.most, 10s);
  EXPECT_EQ(s.faults[0].lasts.least, 500ms);
  EXPECT_EQ(s.faults[0].leave, 3);
  EXPECT_EQ(s.faults[1].shape, PartitionShape::kManyWay);
  EXPECT_EQ(s.workloads[0].force, 1);
  EXPECT_EQ(s.faultsEndAfter, 60s);
  EXPECT_EQ(s.invariants, kKnown);
}

TEST(Scenario, NamesTheLineOfAMistakeAndWhatIsAllowed) {
  EXPECT_EQ(mistakeIn("[topology]\nnodes = 3\n"), "a.toml:1: a scenario needs 'name'");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[topology]\nnode = 3\n"),
            "a.toml:3: [topology] knows no 'node'; allowed: arbiters, election_timeout, heartbeat_interval, "
            "joiners, kind, log_bytes, nodes, priorities, without_vote");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[topology]\nnodes = 9\n"), "a.toml:3: 'nodes' must be a whole number from 1 to 7");
  EXPECT_EQ(mistakeIn("name = \"x\"\n\n[[fault]]\nkind = \"partition\"\nshape = \"round\"\n"),
            "a.toml:5: 'shape' must be one of one-way, isolate, halves, many-way");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[[fault]]\nevery = \"1s\"\n").substr(0, 46),
            "a.toml:2: [[fault]] needs 'kind': one of kill,");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[[fault]]\nkind = \"kill\"\nevery = \"5s..1s\"\n").substr(0, 34),
            "a.toml:4: 'every' must be a time s");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[[fault]]\nkind = \"kill\"\nshare = 0.5\n"),
            "a.toml:4: [[fault]] knows no 'share'; allowed: every, for, kind, leave");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[check]\ninvariants = [\"peace\"]\n"),
            "a.toml:3: there is no invariant 'peace'; there are: two holders");
  EXPECT_EQ(mistakeIn("name = \"x\"\nname = \"y\"\n").substr(0, 9), "a.toml:2:");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[fault]\nkind = \"kill\"\n"), "a.toml:2: 'fault' must be sections: [[fault]]");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[topology]\npriorities = [1]\n"),
            "a.toml:3: 'priorities' must have 3 numbers, one for each node");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[topology]\narbiters = [\"n4\"]\n"),
            "a.toml:3: 'arbiters' must name nodes: n1 to n3");
}

TEST(Scenario, SaysWhichFaultSitesMayFire) {
  const Scenario s =
      read("name = \"x\"\n[sites]\nnames = [\"machines.host.*\"]\nshare = 1\nprobability = [0.01, 0.02]\n");
  ASSERT_TRUE(s.sites.has_value());
  EXPECT_TRUE(isMeant("machines.host.crash", s.sites->names));
  EXPECT_FALSE(isMeant("kernel.timer.late", s.sites->names));
  EXPECT_EQ(s.sites->share, 1);
  EXPECT_EQ(s.sites->most, 0.02);
  EXPECT_EQ(mistakeIn("name = \"x\"\n[sites]\nnames = [\"machines.host.laughs\"]\n"),
            "a.toml:3: there is no fault site 'machines.host.laughs'");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[sites]\nprobability = [0.2, 0.1]\n"),
            "a.toml:3: 'probability' must be two numbers: the least and the most");
}

TEST(ScenarioRun, FaultSitesFireAndAreSeenInTheTrace) {
  const Scenario s = read(
      "name = \"x\"\n[sites]\nnames = [\"machines.host.slow\"]\nshare = 1\nprobability = [0.02, "
      "0.02]\n[liveness]\nafter = \"10s\"\n");
  size_t seen = 0;
  const RunOutcome outcome =
      runScenario(s, 5, 0, nullptr, [&](const TraceEvent& e) { seen += e.what == "fires" ? 1 : 0; });
  EXPECT_EQ(outcome.broken, "");
  EXPECT_GT(seen, 0u);
  EXPECT_EQ(outcome.sites, (SiteCounts{{"machines.host.slow", seen}}));
}

TEST(Scenario, AFileThatIsNotThereIsAnError) {
  EXPECT_EQ(readScenario("no/such.toml", knownAlone).status().code(), ErrorCode::kFileNotOpen);
}

TEST(Scenario, AllOfTheHouseCanBeRead) {
  int count = 0;
  for (const auto& file : std::filesystem::directory_iterator("test/simulation/scenarios")) {
    EXPECT_TRUE(readScenario(file.path().string(), invariantNames).isOK()) << file.path();
    ++count;
  }
  EXPECT_GE(count, 10);
}

const char* const kFaulty = R"(
name = "a bit of everything"
[topology]
nodes = 3
[[workload]]
kind = "step-downs"
rate = 1
[[fault]]
kind = "kill"
every = "1s..3s"
for = "100ms..1s"
[[fault]]
kind = "partition"
shape = "isolate"
every = "1s..3s"
for = "100ms..1s"
[[fault]]
kind = "clog"
every = "1s..3s"
for = "1s"
[liveness]
after = "10s"
converge_within = "20s"
)";

TEST(ScenarioRun, TheSameSeedGivesTheSameTraceAndAnotherOneAnother) {
  const Scenario scenario = read(kFaulty);
  const RunOutcome first = runScenario(scenario, 1), again = runScenario(scenario, 1), other = runScenario(scenario, 2);
  EXPECT_EQ(first.broken, "");
  EXPECT_EQ(first.hash, again.hash);
  EXPECT_EQ(first.events, again.events);
  EXPECT_NE(first.hash, other.hash);
  EXPECT_EQ(firstDifference(scenario, 1), "");
  EXPECT_GT(first.faults, 5u);
  EXPECT_GT(first.tally.done, 3u);
}

const char* const kBrokenLinks = R"(
name = "broken links"
[network]
breaks = 0.1
[[workload]]
kind = "step-downs"
rate = 1
[[fault]]
kind = "break"
every = "1s..2s"
links = 6
[[fault]]
kind = "pause"
every = "1s..4s"
for = "1s..3s"
leave = 2
[liveness]
after = "20s"
)";

TEST(ScenarioRun, TheTraceShowsWhatBecameOfEachMessageOfTheLinks) {
  std::map<uint64_t, TraceEvent> sent;
  std::set<std::string> names;
  size_t lost = 0, arrived = 0;
  const RunOutcome outcome = runScenario(read(kBrokenLinks), 1, 1, nullptr, [&](const TraceEvent& e) {
    if (e.kind == TraceEvent::Kind::kSend) {
      EXPECT_TRUE(sent.emplace(e.message, e).second) << Trace::line(e);
      names.insert(e.detail.substr(0, e.detail.find(' ')));
    }
    if (e.kind != TraceEvent::Kind::kDeliver && e.kind != TraceEvent::Kind::kDrop) return;
    const bool arrives = e.kind == TraceEvent::Kind::kDeliver;
    ++(arrives ? arrived : lost);
    ASSERT_TRUE(sent.contains(e.message)) << Trace::line(e);
    const TraceEvent& before = sent.at(e.message);
    EXPECT_EQ(arrives ? before.peer : before.node, e.node);
    EXPECT_GT(e.at, before.at);
    sent.erase(e.message);
  });
  EXPECT_EQ(outcome.broken, "");
  EXPECT_EQ(outcome.messages, arrived + lost + sent.size());
  EXPECT_GT(arrived, 100u);
  EXPECT_GT(lost, 10u) << "with the connections that broke";
  EXPECT_LT(sent.size(), 20u) << "still under way";
  EXPECT_TRUE(names.contains("HeartbeatRequest") && names.contains("VoteRequest")) << *names.begin();
}

TEST(ScenarioRun, APausedNodeDoesNothingAndFindsAtOnceThatTimeHasJumped) {
  std::set<std::string> paused;
  Duration last{};
  size_t pauses = 0;
  runScenario(read(kBrokenLinks), 1, 1, nullptr, [&](const TraceEvent& e) {
    EXPECT_GE(e.at, last) << Trace::line(e);
    last = e.at;
    const bool resumes = e.actor == "operator" && e.what == "resumes";
    const bool isOwn =
        e.kind == TraceEvent::Kind::kSend || e.kind == TraceEvent::Kind::kDeliver || e.kind == TraceEvent::Kind::kPhase;
    EXPECT_FALSE(isOwn && paused.contains(e.node)) << Trace::line(e);
    if (e.actor == "operator" && e.what == "pauses") paused.insert(e.node), ++pauses;
    if (resumes) paused.erase(e.node);
  });
  EXPECT_GT(pauses, 3u);
}

TEST(ScenarioRun, LinesOfTheNetworkShowRoleAndTerm) {
  bool shown = false;
  runScenario(read(kFaulty), 1, 0, [&](const Trace& trace) {
    for (const TraceEvent& e : trace.events()) shown |= e.actor == "network" && e.role == "primary" && e.term > 0;
  });
  EXPECT_TRUE(shown);
}

/// What the first of twenty seeds says in which this invariant, checked alone, is broken; empty if none is. A cluster
/// that does not come together again is not what is looked for.
std::string brokenAlone(const std::string& scenario, const std::string& invariant) {
  const Scenario alone = read(scenario + "[check]\ninvariants = [\"" + invariant + "\"]\n");
  for (uint64_t seed = 1; seed <= 20; ++seed)
    if (std::string broken = runScenario(alone, seed, 1).broken; broken.starts_with(invariant)) return broken;
  return {};
}

TEST(ScenarioRun, VotesThatALyingDiskLosesAreFound) {
  const char* const lies = R"(
name = "lies"
[topology]
nodes = 3
[[workload]]
kind = "step-downs"
rate = 1
force = 1
[[fault]]
kind = "lying-flush"
every = "1s..2s"
for = "1s..2s"
share = 1
[[fault]]
kind = "kill"
every = "500ms..1s"
for = "10ms"
[liveness]
after = "60s"
)";
  EXPECT_NE(brokenAlone(lies, ReplicaSet::kNothingForgotten), "");
}

TEST(ScenarioRun, HandoffsThatALyingDiskForgetsAreFoundByEachCheckAlone) {
  const char* const lies = R"(
name = "lies"
[topology]
kind = "lease-service"
[[workload]]
kind = "lease-handoffs"
rate = 50
[[fault]]
kind = "lying-flush"
every = "50ms..100ms"
for = "30ms..60ms"
share = 1
[[fault]]
kind = "kill"
every = "50ms..200ms"
for = "10ms"
leave = 0
[liveness]
after = "30s"
)";
  for (const std::string& invariant : LeaseService::invariantNames())
    EXPECT_NE(brokenAlone(lies, invariant), "") << invariant;
}

TEST(ScenarioRun, LeasesChangeHandsAndEveryHandoffComesToItsEnd) {
  const Scenario scenario = read(
      "name = \"x\"\n[topology]\nkind = \"lease-service\"\n[[workload]]\nkind = \"lease-handoffs\"\nrate = "
      "5\n[liveness]\nafter = \"30s\"\n");
  const RunOutcome outcome = runScenario(scenario, 3);
  EXPECT_EQ(outcome.broken, "");
  EXPECT_GT(outcome.progress, 10);
}

TEST(Scenario, EachProgramHasItsOwnWorkloads) {
  EXPECT_EQ(mistakeIn("name = \"x\"\n[topology]\nkind = \"lease-service\"\n[[workload]]\nkind = \"reconfigs\"\n"),
            "a.toml:5: a lease-service has no such workload");
  EXPECT_EQ(mistakeIn("name = \"x\"\n[[workload]]\nkind = \"lease-handoffs\"\n"),
            "a.toml:3: a replica-set has no such workload");
}

TEST(ScenarioRun, DriversReadFromMembersThroughChangesOfTheirRoles) {
  const Scenario scenario = read(R"(
name = "reads"
[network]
breaks = 0.01
[[workload]]
kind = "documents"
rate = 20
[[workload]]
kind = "member-reads"
rate = 40
[[workload]]
kind = "step-downs"
rate = 0.5
force = 1
[[fault]]
kind = "kill"
every = "3s..6s"
for = "200ms..2s"
leave = 2
[liveness]
after = "20s"
)");
  std::map<std::string, int> reads;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    const RunOutcome outcome = runScenario(scenario, seed, 1, nullptr, [&](const TraceEvent& e) {
      if (e.actor.starts_with("reader")) ++reads[e.what + " " + e.detail];
    });
    EXPECT_EQ(outcome.broken, "") << "seed " << seed;
  }
  int fromPrimaries = 0, primaries = 0, ofMajority = 0;
  for (const std::string node : {"n1:1", "n2:1", "n3:1"}) {
    EXPECT_GT(reads["nearest " + node], 10) << node;
    fromPrimaries += reads["primary " + node];
    primaries += reads["primary " + node] > 0;
    ofMajority += reads["majority " + node];
  }
  EXPECT_GT(ofMajority, 20);
  EXPECT_GT(fromPrimaries, 50);
  EXPECT_GE(primaries, 2) << "no role changed";
}

TEST(ScenarioRun, ASetThatDoesNotComeTogetherInTimeIsFound) {
  Scenario scenario = read(kFaulty);
  scenario.faultsEndAfter = 5s;
  scenario.faults = {{.kind = FaultKind::kKill, .every = {4900ms, 4900ms}, .lasts = {1s, 1s}, .leave = 0}};
  EXPECT_EQ(runScenario(scenario, 3).broken, "");
  scenario.convergeWithin = 1ms;
  EXPECT_TRUE(runScenario(scenario, 3).broken.starts_with("it does not come together again: "))
      << runScenario(scenario, 3).broken;
}

}  // namespace
}  // namespace troupe::sim
