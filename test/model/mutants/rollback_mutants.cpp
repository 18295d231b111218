#include "test/model/mutants/mutant.hpp"
#include "test/model/subjects/rollback.hpp"

namespace troupe::model {

using machines::Snapshot;
using machines::Step;
using replication::Rollback;

namespace {

using RollbackReal = Mutation<Rollback>::Decide;
using RollbackPhase = Rollback::Phase;

Model divergedTwice() {
  Model model = rollbacks();
  model.faults = {.crashes = 1};
  return model;
}
Model behindTheCommitPoint() { return rollbacks({.comparing = {commonPointAt(3, 9, 4)}}); }
Model nothingToUndo() { return rollbacks({.comparing = {commonPointAt(9, 9, 4)}}); }

template <class E>
std::function<std::shared_ptr<void>()> onRollback(Step<Rollback> (*change)(const RollbackReal&,
                                                                           const Snapshot<Rollback>&, const E&)) {
  return [change] { return planted(Mutation<Rollback>::template on<E>(change)); };
}

Step<Rollback> overlooksWhatIsCommitted(const RollbackReal& real, const Snapshot<Rollback>& now,
                                        const replication::CommonPointFound& e) {
  replication::CommonPointFound blind = e;
  blind.committed = {};
  Step<Rollback> step = real(now, blind);
  if (step.memory) step.memory->committed = e.committed;
  return step;
}

Step<Rollback> goesBackForNothing(const RollbackReal& real, const Snapshot<Rollback>& now,
                                  const replication::CommonPointFound& e) {
  replication::CommonPointFound later = e;
  ++later.newest.term;
  Step<Rollback> step = real(now, later);
  if (step.memory) step.memory->newest = e.newest;
  return step;
}

Step<Rollback> leavesOperationsAlone(const RollbackReal&, const Snapshot<Rollback>& now,
                                     const replication::OperationsEnded&) {
  auto memory = now.memory;
  memory.phase = RollbackPhase::kSaving;
  return Rollback::stay().remembering(memory).then(Rollback::perform(replication::SaveUndone{memory.common}));
}

Step<Rollback> savesNothing(const RollbackReal& real, const Snapshot<Rollback>& now,
                            const replication::UndoneSaved& e) {
  Step<Rollback> step = real(now, e);
  step.memory->saved = false;
  return step;
}

Step<Rollback> keepsItsId(const RollbackReal& real, const Snapshot<Rollback>& now, const replication::UndoneSaved& e) {
  Step<Rollback> step = real(now, e);
  step.document.reset();
  return step;
}

Step<Rollback> movesItsIdInMemory(const RollbackReal& real, const Snapshot<Rollback>& now,
                                  const replication::UndoneSaved& e) {
  Step<Rollback> step = real(now, e);
  step.durability = machines::Durability::kLocal;
  return step;
}

Step<Rollback> forgetsToReplay(const RollbackReal&, const Snapshot<Rollback>& now,
                               const replication::StorageRolledBack&) {
  auto memory = now.memory;
  memory.phase = RollbackPhase::kReplaying;
  return Rollback::stay().remembering(memory);
}

Step<Rollback> passesOverAFailure(const RollbackReal&, const Snapshot<Rollback>&, const replication::RollbackFailed&) {
  return Rollback::stay();
}

}  // namespace

std::vector<Mutant> rollbackMutants() {
  using namespace replication;
  return {
      {"rollback", "the commit point is overlooked", "what a majority has is undone", behindTheCommitPoint,
       onRollback<CommonPointFound>(overlooksWhatIsCommitted)},
      {"rollback", "a log that ends at the common point is cut", "although nothing is to be undone", nothingToUndo,
       onRollback<CommonPointFound>(goesBackForNothing)},
      {"rollback", "operations go on", "while operations use it", divergedTwice,
       onRollback<OperationsEnded>(leavesOperationsAlone)},
      {"rollback", "the files are forgotten", "undone documents are in no file", divergedTwice,
       onRollback<UndoneSaved>(savesNothing)},
      {"rollback", "the rollback id stays", "under the rollback id under which it was read", divergedTwice,
       onRollback<UndoneSaved>(keepsItsId)},
      {"rollback", "the rollback id is not durable before the log is cut", "point to which n1 is cut", divergedTwice,
       onRollback<UndoneSaved>(movesItsIdInMemory)},
      {"rollback", "the log is not replayed", "no way to", divergedTwice,
       onRollback<StorageRolledBack>(forgetsToReplay)},
      {"rollback", "a failure is passed over", "no way to", divergedTwice,
       onRollback<RollbackFailed>(passesOverAFailure)},
  };
}

}  // namespace troupe::model
