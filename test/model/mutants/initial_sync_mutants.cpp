#include "test/model/mutants/mutant.hpp"
#include "test/model/subjects/initial_sync.hpp"

namespace troupe::model {

using machines::Snapshot;
using machines::Step;
using replication::InitialSync;

namespace {

using SyncReal = Mutation<InitialSync>::Decide;
using SyncNow = Snapshot<InitialSync>;
using SyncStep = Step<InitialSync>;

Model memberThatCopies() {
  Model model = initialSyncs();
  model.faults = {.crashes = 1};
  return model;
}

Model memberThatWasTooStale() {
  Model model = initialSyncs({.hasData = true});
  model.faults = {.crashes = 1};
  return model;
}

template <class E>
std::function<std::shared_ptr<void>()> onSync(SyncStep (*change)(const SyncReal&, const SyncNow&, const E&)) {
  return [change] { return planted(Mutation<InitialSync>::template on<E>(change)); };
}

SyncStep marksBeforeThereIsASource(const SyncReal& real, const SyncNow& now, const replication::BeginInitialSync& e) {
  SyncStep step = real(now, e);
  step.document = now.document;
  step.document->isUnderWay = true;
  return step;
}

SyncStep copiesWithoutAMark(const SyncReal& real, const SyncNow& now, const replication::Candidates& e) {
  SyncStep step = real(now, e);
  if (step.document) step.document->isUnderWay = false;
  return step;
}

SyncStep goesBackToNothing(const SyncReal& real, const SyncNow& now, const replication::Candidates& e) {
  SyncNow blind = now;
  blind.document.isUnderWay = false;
  blind.memory.looks = InitialSync::kMostLooks - 1;
  return real(blind, e);
}

SyncStep leavesOldData(const SyncReal& real, const SyncNow& now, const replication::DataReset& e) {
  SyncStep step = real(now, e);
  step.memory->isReset = false;
  return step;
}

SyncStep believesAnyEnd(const SyncReal& real, const SyncNow& now, const replication::EndFound& e) {
  SyncNow blind = now;
  blind.memory.beginApplying = {};
  SyncStep step = real(blind, e);
  step.memory->beginApplying = now.memory.beginApplying;
  return step;
}

SyncStep overlooksARollback(const SyncReal& real, const SyncNow& now, const replication::LogFetched& e) {
  replication::LogFetched same = e;
  same.rollbackId = now.memory.rollbackId;
  SyncStep step = real(now, same);
  if (step.memory && step.memory->phase == InitialSync::Phase::kApplying) step.memory->rollbackIdAtEnd = e.rollbackId;
  return step;
}

SyncStep isContentWithLess(const SyncReal& real, const SyncNow& now, const replication::LogApplied& e) {
  SyncStep step = real(now, replication::LogApplied{now.memory.stop});
  step.memory->applied = e.applied;
  return step;
}

SyncStep countsNoFailures(const SyncReal& real, const SyncNow& now, const replication::AttemptEnded& e) {
  SyncNow first = now;
  first.memory.failed = 0;
  SyncStep step = real(first, e);
  step.memory->failed = now.memory.failed;
  return step;
}

SyncStep takesTheMarkAwayInMemory(const SyncReal& real, const SyncNow& now, const replication::DataSafe& e) {
  SyncStep step = real(now, e);
  step.durability = machines::Durability::kLocal;
  return step;
}

SyncStep passesOverAnAttempt(const SyncReal&, const SyncNow&, const replication::AttemptEnded&) {
  return InitialSync::stay();
}

}  // namespace

std::vector<Mutant> initialSyncMutants() {
  using namespace replication;
  return {
      {"initial sync", "it copies without a mark", "that a start would take for whole", memberThatCopies,
       onSync<Candidates>(copiesWithoutAMark)},
      {"initial sync", "the mark comes before the source", "without a source to copy", memberThatCopies,
       onSync<BeginInitialSync>(marksBeforeThereIsASource)},
      {"initial sync", "it goes back when its data have gone", "to data that are not there", memberThatWasTooStale,
       onSync<Candidates>(goesBackToNothing)},
      {"initial sync", "old data stay", "beside what was there before", memberThatCopies,
       onSync<DataReset>(leavesOldData)},
      {"initial sync", "a log that ends before it began is believed", "ends before the copy was made", memberThatCopies,
       onSync<EndFound>(believesAnyEnd)},
      {"initial sync", "a rollback of the source is overlooked", "of two histories", memberThatCopies,
       onSync<LogFetched>(overlooksARollback)},
      {"initial sync", "a part of the log is enough", "before all is copied and carried out", memberThatCopies,
       onSync<LogApplied>(isContentWithLess)},
      {"initial sync", "failed attempts are not counted", "after its last attempt", memberThatCopies,
       onSync<AttemptEnded>(countsNoFailures)},
      {"initial sync", "the mark goes in memory only", "attempt", memberThatCopies,
       onSync<DataSafe>(takesTheMarkAwayInMemory)},
      {"initial sync", "nothing follows a failed attempt", "no way to", memberThatCopies,
       onSync<AttemptEnded>(passesOverAnAttempt)},
  };
}

}  // namespace troupe::model
