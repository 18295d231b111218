#include "state_machines/replication/initial_sync.hpp"

#include <algorithm>
#include <utility>

namespace troupe::replication {

using machines::NodeName;
using machines::Snapshot;
using machines::Step;

namespace {

using SyncPhase = InitialSync::Phase;
using SyncDocument = InitialSync::Document;
using SyncMemory = InitialSync::Memory;

/// The phases in which an attempt may fail.
constexpr SyncPhase kAttempting[] = {SyncPhase::kResetting,  SyncPhase::kBeginning, SyncPhase::kCloning,
                                     SyncPhase::kFindingEnd, SyncPhase::kFetching,  SyncPhase::kApplying,
                                     SyncPhase::kMakingSafe};

SyncMemory syncMovedTo(SyncPhase phase, SyncMemory memory) {
  memory.phase = phase;
  return memory;
}

template <class Action>
Step<InitialSync> syncTo(SyncPhase phase, const SyncMemory& memory, Action action) {
  return InitialSync::stay().remembering(syncMovedTo(phase, memory)).then(InitialSync::perform(std::move(action)));
}

/// What outlives an attempt.
SyncMemory betweenAttempts(SyncPhase phase, const SyncMemory& memory) {
  SyncMemory left;
  left.phase = phase;
  left.failed = memory.failed;
  left.failedWith = memory.failedWith;
  left.why = memory.why;
  return left;
}

/// What is under way ends before the next attempt: it would write into data that have been reset.
Step<InitialSync> attemptFailed(const SyncMemory& memory, std::string why) {
  SyncMemory left = betweenAttempts(SyncPhase::kEnding, memory);
  left.source = memory.source;
  ++left.failed;
  left.failedWith.insert(memory.source);
  left.why = std::move(why);
  return InitialSync::stay().remembering(std::move(left)).then(InitialSync::perform(EndAttempt{}));
}

/// A member that has its data gives them up only when there is a source: until then a start finds them as they were.
Step<InitialSync> onBegin(const SyncDocument&, const SyncMemory&, const BeginInitialSync&) {
  SyncMemory memory;
  memory.phase = SyncPhase::kEntering;
  return InitialSync::stay().remembering(std::move(memory)).then(InitialSync::perform(EnterStartup{}));
}

/// One without data waits for a source as long as it takes: there is nothing that it could go back to.
Step<InitialSync> onNoSource(const SyncDocument& document, const SyncMemory& memory, const Candidates& known) {
  SyncMemory changed = memory;
  if (!document.isUnderWay && known.own != OpTime()) ++changed.looks;
  if (changed.looks < InitialSync::kMostLooks)
    return InitialSync::stay()
        .remembering(std::move(changed))
        .then(InitialSync::after(InitialSync::kLookPause, LookDue{}));
  SyncMemory left;
  left.phase = SyncPhase::kReturning;
  left.why = "no member could be the source of a copy: see that one is up and can be reached, and resync again";
  return InitialSync::stay().remembering(std::move(left)).then(InitialSync::perform(KeepData{}));
}

/// Another source where there is one; where all have failed, each gets another chance. ISY-002: the mark is durable
/// before anything is dropped.
Step<InitialSync> onSyncCandidates(const SyncDocument& document, const SyncMemory& memory, const Candidates& known) {
  auto source = chooseSource(known, memory.failedWith, Mission::kFollow);
  if (!source) source = chooseSource(known, {}, Mission::kFollow);
  if (!source) return onNoSource(document, memory, known);
  SyncDocument marked = document;
  marked.isUnderWay = true;
  marked.copied.reset();
  ++marked.attempt;
  SyncMemory changed = betweenAttempts(SyncPhase::kResetting, memory);
  changed.source = std::move(*source);
  return InitialSync::stay()
      .with(std::move(marked))
      .remembering(std::move(changed))
      .then(InitialSync::perform(ResetData{}));
}

/// The log is fetched before the first document is read, or a change in between would be lost.
Step<InitialSync> onBeginning(const SyncDocument&, const SyncMemory& memory, const BeginningFound& found) {
  SyncMemory changed = syncMovedTo(SyncPhase::kCloning, memory);
  changed.beginFetching = found.beginFetching;
  changed.beginApplying = found.beginApplying;
  changed.rollbackId = found.rollbackId;
  return InitialSync::stay()
      .remembering(std::move(changed))
      .then(InitialSync::perform(FetchLog{memory.source, found.beginFetching}),
            InitialSync::perform(CloneData{memory.source, found.beginApplying}));
}

Step<InitialSync> onCloned(const SyncDocument&, const SyncMemory& memory, const DataCloned&) {
  SyncMemory changed = memory;
  changed.isCloned = true;
  return syncTo(SyncPhase::kFindingEnd, changed, FindEnd{memory.source});
}

/// A log that ends before it began is one that has been rolled back.
Step<InitialSync> onEndFound(const SyncDocument&, const SyncMemory& memory, const EndFound& found) {
  if (found.stop < memory.beginApplying) return attemptFailed(memory, memory.source + " has rolled back");
  SyncMemory changed = memory;
  changed.stop = found.stop;
  return syncTo(SyncPhase::kFetching, changed, FetchUpTo{memory.source, found.stop});
}

/// ISY-005. What was fetched beyond the stop time is carried out, too: the log has no hole up to there.
Step<InitialSync> onLogFetched(const SyncDocument&, const SyncMemory& memory, const LogFetched& fetched) {
  if (fetched.rollbackId != memory.rollbackId)
    return attemptFailed(memory, memory.source + " has rolled back while its data were copied");
  if (fetched.newest < memory.stop)
    return attemptFailed(memory, "the log of " + memory.source + " ends before the stop time");
  SyncMemory changed = memory;
  changed.stop = fetched.newest;
  changed.rollbackIdAtEnd = fetched.rollbackId;
  return syncTo(SyncPhase::kApplying, changed, ApplyLog{memory.beginApplying, fetched.newest});
}

Step<InitialSync> onApplied(const SyncDocument&, const SyncMemory& memory, const LogApplied& done) {
  if (done.applied != memory.stop) return attemptFailed(memory, "the log was not carried out up to the stop time");
  SyncMemory changed = memory;
  changed.applied = done.applied;
  return syncTo(SyncPhase::kMakingSafe, changed, MakeDataSafe{done.applied});
}

/// ISY-018.
Step<InitialSync> onDataSafe(const SyncDocument& document, const SyncMemory& memory, const DataSafe&) {
  SyncDocument clear = document;
  clear.isUnderWay = false;
  clear.copied = memory.applied;
  return InitialSync::stay(machines::Durability::kJournaled)
      .with(std::move(clear))
      .remembering(syncMovedTo(SyncPhase::kLeaving, memory))
      .then(InitialSync::perform(LeaveStartup{memory.applied}));
}

Step<InitialSync> onAttemptEnded(const SyncDocument&, const SyncMemory& memory, const AttemptEnded&) {
  if (memory.failed < InitialSync::kMostAttempts)
    return InitialSync::stay()
        .remembering(betweenAttempts(SyncPhase::kPausing, memory))
        .then(InitialSync::after(InitialSync::kPauseOfAttempts, AttemptDue{}));
  std::string why = "the initial sync has failed " + std::to_string(memory.failed) +
                    " times, the last time because: " + memory.why + ". See to the sources, and start this node again";
  return InitialSync::stay()
      .remembering(betweenAttempts(SyncPhase::kFailed, memory))
      .then(InitialSync::perform(GiveUpSync{std::move(why)}));
}

template <class Condition>
bool anySync(const machines::World& world, const Condition& condition) {
  return world.count<InitialSync>(condition) > 0;
}

bool isAttempting(SyncPhase phase) { return std::ranges::find(kAttempting, phase) != std::end(kAttempting); }
/// Something is written for the attempt.
bool writesData(SyncPhase phase) { return isAttempting(phase) && phase != SyncPhase::kResetting; }

void addSyncReports(std::vector<machines::Transition<InitialSync>>& rows) {
  rows.push_back(InitialSync::row<DataReset>(SyncPhase::kResetting, {SyncPhase::kBeginning},
                                             [](const SyncDocument&, const SyncMemory& memory, const DataReset&) {
                                               SyncMemory changed = memory;
                                               changed.isReset = true;
                                               return syncTo(SyncPhase::kBeginning, changed,
                                                             FindBeginning{memory.source});
                                             }));
  rows.push_back(InitialSync::row<BeginningFound>(SyncPhase::kBeginning, {SyncPhase::kCloning}, onBeginning));
  rows.push_back(InitialSync::row<DataCloned>(SyncPhase::kCloning, {SyncPhase::kFindingEnd}, onCloned));
  rows.push_back(
      InitialSync::row<EndFound>(SyncPhase::kFindingEnd, {SyncPhase::kFetching, SyncPhase::kEnding}, onEndFound));
  rows.push_back(
      InitialSync::row<LogFetched>(SyncPhase::kFetching, {SyncPhase::kApplying, SyncPhase::kEnding}, onLogFetched));
  rows.push_back(
      InitialSync::row<LogApplied>(SyncPhase::kApplying, {SyncPhase::kMakingSafe, SyncPhase::kEnding}, onApplied));
  rows.push_back(InitialSync::row<DataSafe>(SyncPhase::kMakingSafe, {SyncPhase::kLeaving}, onDataSafe));
  for (const SyncPhase phase : kAttempting)
    rows.push_back(InitialSync::row<AttemptFailed>(
        phase, {SyncPhase::kEnding}, [](const SyncDocument&, const SyncMemory& memory, const AttemptFailed& failure) {
          return attemptFailed(memory, failure.why);
        }));
}

Step<InitialSync> lookForSource(const SyncMemory& memory) {
  return InitialSync::stay()
      .remembering(betweenAttempts(SyncPhase::kChoosing, memory))
      .then(InitialSync::perform(LookForSource{}));
}

}  // namespace

bool isSyncing(const Snapshot<InitialSync>& now) {
  return now.document.isUnderWay || now.memory.phase != SyncPhase::kIdle;
}

const machines::Transitions<InitialSync>& InitialSync::transitions() {
  static const machines::Transitions<InitialSync> table = [] {
    std::vector<machines::Transition<InitialSync>> rows{
        row<BeginInitialSync>(Phase::kIdle, {Phase::kEntering}, onBegin),
        row<StartupEntered>(
            Phase::kEntering, {Phase::kChoosing},
            [](const Document&, const Memory& memory, const StartupEntered&) { return lookForSource(memory); }),
        row<Candidates>(Phase::kChoosing, {Phase::kResetting, Phase::kReturning}, onSyncCandidates),
        row<LookDue>(Phase::kChoosing, {},
                     [](const Document&, const Memory&, const LookDue&) {
                       return InitialSync::stay().then(InitialSync::perform(LookForSource{}));
                     }),
        row<DataKept>(Phase::kReturning, {Phase::kIdle},
                      [](const Document&, const Memory& memory, const DataKept&) {
                        return InitialSync::stay().remembering(betweenAttempts(Phase::kIdle, memory));
                      }),
        row<AttemptEnded>(Phase::kEnding, {Phase::kPausing, Phase::kFailed}, onAttemptEnded),
        row<AttemptDue>(Phase::kPausing, {Phase::kChoosing},
                        [](const Document&, const Memory& memory, const AttemptDue&) { return lookForSource(memory); }),
        row<StartupLeft>(Phase::kLeaving, {Phase::kIdle},
                         [](const Document&, const Memory&, const StartupLeft&) {
                           return InitialSync::stay().remembering(Memory{});
                         }),
    };
    addSyncReports(rows);
    return machines::Transitions<InitialSync>(std::move(rows));
  }();
  return table;
}

/// Whatever it died in: what is there is of no use.
Step<InitialSync> InitialSync::resume(const Document& document) {
  if (!document.isUnderWay) return stay();
  Memory memory;
  memory.phase = Phase::kEntering;
  return stay().remembering(std::move(memory)).then(perform(EnterStartup{}));
}

std::vector<machines::Invariant> InitialSync::invariants() {
  using machines::never;
  using machines::World;
  using Now = Snapshot<InitialSync>;
  return {
      never("data are copied that a start would take for whole",
            [](const World& world) {
              return anySync(world,
                             [](const Now& now) { return isAttempting(now.memory.phase) && !now.document.isUnderWay; });
            }),
      never("data are given up without a source to copy",
            [](const World& world) {
              return anySync(world, [](const Now& now) {
                const Phase phase = now.memory.phase;
                const bool isBefore = phase == Phase::kEntering || phase == Phase::kChoosing;
                return isBefore && now.document.isUnderWay && now.document.attempt == 0;
              });
            }),
      never("a member goes back to data that are not there",
            [](const World& world) {
              return anySync(world, [](const Now& now) {
                return now.memory.phase == Phase::kReturning && now.document.isUnderWay;
              });
            }),
      never("data are copied beside what was there before",
            [](const World& world) {
              return anySync(world, [](const Now& now) { return writesData(now.memory.phase) && !now.memory.isReset; });
            }),
      never("the mark goes before all is copied and carried out",
            [](const World& world) {
              return anySync(world, [](const Now& now) {
                const Memory& memory = now.memory;
                return memory.phase == Phase::kLeaving &&
                       (!memory.isCloned || memory.stop == OpTime() || memory.applied < memory.stop);
              });
            }),
      never("a log is carried out that ends before the copy was made",
            [](const World& world) {
              return anySync(world, [](const Now& now) {
                return now.memory.phase >= Phase::kFetching && now.memory.phase <= Phase::kLeaving &&
                       now.memory.stop < now.memory.beginApplying;
              });
            }),
      never("data and log of two histories are put together",
            [](const World& world) {
              return anySync(world, [](const Now& now) {
                return now.memory.phase >= Phase::kApplying && now.memory.phase <= Phase::kLeaving &&
                       now.memory.rollbackId != now.memory.rollbackIdAtEnd;
              });
            }),
      never("it goes on after its last attempt",
            [](const World& world) {
              return anySync(world, [](const Now& now) {
                return now.memory.failed >= InitialSync::kMostAttempts && now.memory.phase != Phase::kEnding &&
                       now.memory.phase != Phase::kFailed;
              });
            }),
  };
}

void InitialSync::facts(const NodeName& node, const Snapshot<InitialSync>& now, machines::Facts& facts) {
  const auto subject = [&](int32_t attempt) { return "attempt " + std::to_string(attempt) + " of " + node; };
  const Phase phase = now.memory.phase;
  if (phase == Phase::kLeaving) facts.state(subject(now.document.attempt), "kept");
  if (isAttempting(phase) && now.document.attempt > 1) facts.state(subject(now.document.attempt - 1), "given up");
}

}  // namespace troupe::replication
