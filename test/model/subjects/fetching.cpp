#include "test/model/subjects/fetching.hpp"

namespace troupe::model {

using namespace replication;

namespace {

OpTime logTime(uint32_t seconds, int64_t term = 1) { return {term, {seconds, 0}}; }

SourceCandidate memberThatHas(const NodeName& host, MemberState state, int ping) {
  SourceCandidate member;
  member.host = host;
  member.state = state;
  member.applied = logTime(20);
  member.ping = Millis(ping);
  return member;
}

Candidates nobody(const FetchingModel& options) {
  Candidates known;
  if (!options.emptyLog) known.own = logTime(10);
  return known;
}

/// Both, when n1 has been elected: it names itself, and the earlier primary is a secondary.
Candidates asANewPrimary() {
  Candidates known = nobody({});
  for (const char* host : {"p", "s"})
    known.members.push_back(memberThatHas(host, MemberState::kSecondary, host == NodeName("p") ? 9 : 5));
  known.primary = known.name = "n1";
  return known;
}

/// None; the primary alone; both; to a model that begins with a catch-up also both as a new primary sees them.
std::vector<Fetching::Event> whatItSees(const FetchingModel& options) {
  Candidates one = nobody(options);
  one.members.push_back(memberThatHas("p", MemberState::kPrimary, 9));
  one.primary = "p";
  Candidates both = one;
  both.members.push_back(memberThatHas("s", MemberState::kSecondary, 5));
  std::vector<Fetching::Event> seen{both, one, nobody(options)};
  if (options.mission == Mission::kCatchUp) seen.emplace_back(asANewPrimary());
  if (!options.emptyLog) return seen;
  both.own = logTime(10);  // an initial sync has given it data
  seen.emplace_back(std::move(both));
  one.own = logTime(10);
  seen.emplace_back(std::move(one));
  return seen;
}

std::vector<Fetching::Event> whatAProbeGives(const NodeName& source) {
  const Probed healthy{source, logTime(1), logTime(20)};
  Probed tooNew = healthy, behind = healthy, diverged = healthy, lacking = healthy;
  tooNew.oldest = logTime(11);
  behind.newest = logTime(9);
  diverged.newest = logTime(9, 2);
  lacking.hasRequiredEntry = false;
  return {healthy, tooNew, behind, diverged, lacking, ProbeFailed{source, {}}};
}

std::vector<Fetching::Event> howAFetchEnds(const NodeName& source) {
  std::vector<Fetching::Event> all{FetchEnded{source, FetchEnd::kBroken, true, {}}};
  for (const auto how : {FetchEnd::kUnfit, FetchEnd::kBroken, FetchEnd::kBehind, FetchEnd::kDiverged, FetchEnd::kTooNew,
                         FetchEnd::kRolledBack, FetchEnd::kDamaged, FetchEnd::kClosed})
    all.push_back(FetchEnded{source, how, false, {}});
  return all;
}

void endsOfOtherActions(Model& model) {
  using Events = std::vector<Fetching::Event>;
  model.comesOf<Fetching, EndFetch>([](const NodeName&, const EndFetch&) {
    return Events{FetchIsOver{}, FetchIsOver{true}};
  });
  model.comesOf<Fetching, RollBack>([](const NodeName&, const RollBack&) { return Events{RollbackEnded{}}; });
  model.comesOf<Fetching, NeedInitialSync>([](const NodeName&, const NeedInitialSync&) {
    return Events{InitialSyncEnded{}, InitialSyncGivenUp{}};
  });
}

}  // namespace

bool followsThePrimary(const machines::World& world) {
  return world.count<Fetching>([](const Snapshot<Fetching>& now) {
    return now.document.mission == Mission::kFollow && now.memory.phase == Fetching::Phase::kFetching &&
           now.memory.source == "p";
  }) > 0;
}

Model fetchingOf(const FetchingModel& options) {
  Model model;
  model.machine<Fetching>("n1", {.self = "n1", .mission = options.mission});
  model.comesOf<Fetching, LookAround>([options](const NodeName&, const LookAround&) { return whatItSees(options); });
  model.comesOf<Fetching, Probe>([](const NodeName&, const Probe& probe) { return whatAProbeGives(probe.source); });
  model.comesOf<Fetching, Fetch>([](const NodeName&, const Fetch& fetch) { return howAFetchEnds(fetch.source); });
  endsOfOtherActions(model);
  if (options.commands) {
    model.client<Fetching>("n1", Follow{}, kAnyNumber);
    model.client<Fetching>("n1", CatchUpTo{logTime(20)}, kAnyNumber);
    model.client<Fetching>("n1", StopFetching{}, kAnyNumber);
    model.client<Fetching>("n1", SyncFrom{"s"}, kAnyNumber);
    model.client<Fetching>("n1", Resync{}, kAnyNumber);
    model.client<Fetching>("n1", SetChanged{}, kAnyNumber);
    model.client<Fetching>("n1", SourceSilent{"s", "p"}, kAnyNumber);
    model.client<Fetching>("n1", SourceSilent{"s", "n1"}, kAnyNumber);
  }
  model.bounds.mergeEqual = true;
  model.goal("it follows the primary", followsThePrimary);
  return model;
}

Model fetchingFromTheSecondChoice() {
  Model model = fetchingOf({.commands = false});
  model.comesOf<Fetching, Fetch>([](const NodeName&, const Fetch& fetch) {
    std::vector<Fetching::Event> none, behind{FetchEnded{"s", FetchEnd::kBehind, false, {}}};
    return fetch.source == "s" ? behind : none;
  });
  return model;
}

namespace {

/// n1 has been elected. One of `ofAProbe` comes of a probe of that source, and `ofAFetch` of a fetch from it.
Model catchUp(std::vector<Fetching::Event> (*ofAProbe)(const NodeName&), Fetching::Event (*ofAFetch)(const NodeName&)) {
  Model model = fetchingOf({.mission = Mission::kCatchUp, .commands = false});
  model.comesOf<Fetching, LookAround>(
      [](const NodeName&, const LookAround&) { return std::vector<Fetching::Event>{asANewPrimary()}; });
  model.comesOf<Fetching, Probe>([ofAProbe](const NodeName&, const Probe& probe) { return ofAProbe(probe.source); });
  model.comesOf<Fetching, Fetch>(
      [ofAFetch](const NodeName&, const Fetch& fetch) { return std::vector<Fetching::Event>{ofAFetch(fetch.source)}; });
  model.goal("the catch-up ends", [](const machines::World& world) {
    return world.count<Fetching>([](const auto& now) { return now.memory.fruitless == Fetching::kFruitlessLooks; }) > 0;
  });
  return model;
}

}  // namespace

Model catchUpFromSilentSources() {
  return catchUp([](const NodeName& source) { return std::vector<Fetching::Event>{whatAProbeGives(source).front()}; },
                 [](const NodeName& source) -> Fetching::Event {
                   return SourceSilent{source, "n1"};
                 });
}

Model catchUpFromFailingSources() {
  Model model = catchUp(
      [](const NodeName& source) {
        return std::vector<Fetching::Event>{whatAProbeGives(source).front(), ProbeFailed{source, {}}};
      },
      [](const NodeName& source) -> Fetching::Event {
        return FetchEnded{source, FetchEnd::kBroken, false, {}};
      });
  model.firesOnlyIf<Fetching, ProbeOverdue>();  // they do answer
  return model;
}

}  // namespace troupe::model
