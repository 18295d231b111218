#include "test/model/subjects/initial_sync.hpp"

namespace troupe::model {

using namespace replication;

namespace {

using SyncEvent = InitialSync::Event;
using SyncEvents = std::vector<SyncEvent>;

OpTime syncTime(uint32_t seconds) { return {1, {seconds, 1}}; }

SourceCandidate sourceOfACopy(const NodeName& host, MemberState state, int ping) {
  SourceCandidate member;
  member.host = host;
  member.state = state;
  member.applied = syncTime(5);
  member.ping = Millis(ping);
  return member;
}

Candidates bothSources() {
  Candidates known;
  known.members = {sourceOfACopy("p", MemberState::kPrimary, 9), sourceOfACopy("s", MemberState::kSecondary, 5)};
  known.primary = "p";
  return known;
}

template <class Action>
void gives(Model& model, SyncEvents events, bool fails) {
  if (fails) events.push_back(AttemptFailed{"it was planted"});
  model.comesOf<InitialSync, Action>([events = std::move(events)](const NodeName&, const Action&) { return events; });
}

/// What every attempt has in common.
void endsOfSyncActions(Model& model, bool fails) {
  gives<EnterStartup>(model, {StartupEntered{}}, false);
  gives<ResetData>(model, {DataReset{}}, fails);
  gives<CloneData>(model, {DataCloned{}}, fails);
  gives<MakeDataSafe>(model, {DataSafe{}}, fails);
  gives<EndAttempt>(model, {AttemptEnded{}}, false);
  gives<LeaveStartup>(model, {StartupLeft{}}, false);
  gives<KeepData>(model, {DataKept{}}, false);
  // A crash before the mark is durable leaves a member that was never told, or has its data: its fetcher asks again, or
  // an operator does.
  model.goal("it has its data, has given up, or has not begun", [](const machines::World& world) {
    return hasItsData(world) || world.count<InitialSync>([](const auto& now) {
      const bool hasNotBegun = now.memory.phase == InitialSync::Phase::kIdle && !now.document.isUnderWay;
      return now.memory.phase == InitialSync::Phase::kFailed || hasNotBegun;
    }) > 0;
  });
}

}  // namespace

BeginningFound beginningAt(uint32_t fetching, uint32_t applying) { return {syncTime(fetching), syncTime(applying), 1}; }

bool hasItsData(const machines::World& world) {
  return world.count<InitialSync>([](const auto& now) {
    return now.memory.phase == InitialSync::Phase::kIdle && now.document.attempt > 0;
  }) > 0;
}

Model initialSyncs(const InitialSyncAnswers& answers) {
  const bool fails = answers.fails;
  Model model;
  model.machine<InitialSync>("n1", {.isUnderWay = answers.isMarked, .attempt = answers.isMarked ? 1 : 0});
  if (!answers.isMarked) model.client<InitialSync>("n1", BeginInitialSync{}, 1);
  endsOfSyncActions(model, fails);
  SyncEvents seen{bothSources()}, ends{EndFound{syncTime(7)}}, fetched{LogFetched{syncTime(8), 1}};
  if (fails) {
    seen.push_back(Candidates{});
    ends.push_back(EndFound{syncTime(4)});
    fetched.push_back(LogFetched{syncTime(7), 2});
    fetched.push_back(LogFetched{syncTime(6), 1});
  }
  if (answers.hasData) {
    Candidates both = bothSources(), none;
    both.own = none.own = syncTime(3);
    seen = {both, none};
  }
  gives<LookForSource>(model, seen, false);
  gives<FindBeginning>(model, {beginningAt(4, 5)}, fails);
  gives<FindEnd>(model, ends, fails);
  gives<FetchUpTo>(model, fetched, fails);
  model.comesOf<InitialSync, ApplyLog>([fails](const NodeName&, const ApplyLog& apply) {
    SyncEvents events{LogApplied{apply.to}};
    if (fails) {
      events.push_back(LogApplied{syncTime(6)});
      events.push_back(AttemptFailed{"it was planted"});
    }
    return events;
  });
  if (fails) gives<FetchLog>(model, {}, true);
  return model;
}

Model initialSyncWithASecondAttempt() {
  Model model = initialSyncs({.fails = false, .isMarked = true});
  model.comesOf<InitialSync, FetchUpTo>([](const NodeName&, const FetchUpTo& fetch) {
    // The nearer source, which is asked first, has rolled back.
    return SyncEvents{LogFetched{syncTime(8), fetch.source == "s" ? 2 : 1}};
  });
  model.goal("it has its data", hasItsData);
  return model;
}

}  // namespace troupe::model
