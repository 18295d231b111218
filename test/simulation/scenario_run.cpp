#include "test/simulation/scenario_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "test/simulation/actors_at_rest.hpp"
#include "test/simulation/faults.hpp"
#include "test/simulation/subject.hpp"

namespace troupe::sim {

namespace {

/// Rows of actors cost their reader: they are read when all else is well.
std::string whyNotWell(Simulation& cluster, Subject& subject) {
  const std::string why = subject.whyNotConverged();
  return why.empty() ? whyNotAllRun(cluster) : why;
}

/// An actor that does not run is named before what may be lacking because of it.
std::string whyNotInTime(Simulation& cluster, Subject& subject) {
  const std::string failed = whyNotAllRun(cluster);
  return failed.empty() ? subject.whyNotConverged() : failed;
}

/// What must be true at the end: together, with all actors at work, and still so after a while.
void converge(const Scenario& scenario, Simulation& cluster, Subject& subject) {
  const Duration end = cluster.elapsed() + scenario.convergeWithin;
  const Duration calm = 3 * scenario.topology.electionTimeout;
  while (cluster.failure().empty()) {
    const bool well = cluster.runUntil([&] { return whyNotWell(cluster, subject).empty(); }, end - cluster.elapsed());
    if (!cluster.failure().empty()) return;
    if (!well) return cluster.fail("it does not come together again: " + whyNotInTime(cluster, subject));
    cluster.run(calm);
    if (whyNotWell(cluster, subject).empty()) return;
  }
}

}  // namespace

RunOutcome runScenario(const Scenario& scenario, uint64_t seed, size_t keepEvents,
                       const std::function<void(const Trace&)>& look,
                       const std::function<void(const TraceEvent&)>& follow) {
  const auto subject = makeSubject(scenario);
  std::unique_ptr<Workload> workload;  // outlives the machines that run its tasks
  Simulation cluster(seed, scenario.nodes(), *subject, keepEvents);
  if (follow) cluster.trace().follow(follow);
  cluster.network().setUsual(scenario.network);
  subject->watch(cluster);
  Faults faults(scenario, cluster, seed);
  SiteFaults sites(scenario, cluster, seed);
  workload = subject->workload(cluster, seed);
  if (!workload->prepare(std::chrono::seconds(60))) cluster.fail("it was never ready");
  const std::map<std::string, uint64_t> atFirst = subject->states();
  faults.begin();
  sites.begin();
  workload->begin();
  cluster.run(scenario.faultsEndAfter);
  if (cluster.failure().empty()) {
    workload->end();
    sites.end();
    faults.end();
    subject->calm(cluster);
    converge(scenario, cluster, *subject);
  }
  if (look) look(cluster.trace());
  RunOutcome outcome;
  outcome.broken = cluster.failure();
  outcome.hash = cluster.trace().hash();
  outcome.events = cluster.trace().count();
  outcome.turns = cluster.turns();
  outcome.messages = cluster.streams().messages();
  outcome.faults = faults.struck();
  outcome.simulated = cluster.elapsed();
  outcome.tally = workload->tally();
  outcome.sites = sites.fired();
  outcome.progress = subject->progress();
  outcome.states = subject->states();
  for (const auto& [state, count] : atFirst) outcome.states[state] -= count;
  std::erase_if(outcome.states, [](const auto& state) { return state.second == 0; });
  return outcome;
}

std::string firstDifference(const Scenario& scenario, uint64_t seed) {
  std::vector<uint64_t> first;
  const auto hashed = [](const TraceEvent& event) { return std::hash<std::string>()(Trace::line(event)); };
  std::vector<std::string> lines;
  runScenario(scenario, seed, 1, nullptr, [&](const TraceEvent& e) { first.push_back(hashed(e)); });
  size_t at = 0, parted = SIZE_MAX;
  runScenario(scenario, seed, 1, nullptr, [&](const TraceEvent& e) {
    if (parted == SIZE_MAX && (at >= first.size() || first[at] != hashed(e))) parted = at;
    if (parted == SIZE_MAX || at == parted) lines.push_back(Trace::line(e));
    if (lines.size() > 12) lines.erase(lines.begin());
    ++at;
  });
  if (parted == SIZE_MAX && at == first.size()) return {};
  std::string text = Trace::header();
  for (const std::string& line : lines) text += line;
  return text + fmt::format("    event {}: the other run differs from the last line\n", std::min(parted, at));
}

std::string tailOf(const Trace& trace, size_t count) {
  const auto& events = trace.events();
  std::string text = Trace::header();
  for (size_t i = events.size() - std::min(events.size(), count); i < events.size(); ++i)
    text += Trace::line(events[i]);
  return text;
}

}  // namespace troupe::sim
