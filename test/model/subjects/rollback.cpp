#include "test/model/subjects/rollback.hpp"

namespace troupe::model {

using namespace replication;
using Event = Rollback::Event;
using Events = std::vector<Event>;

namespace {

template <class Action>
void work(Model& model, const Event& done, bool fails) {
  model.comesOf<Rollback, Action>([done, fails](const NodeName&, const Action&) {
    Events events{done};
    if (fails) events.push_back(RollbackFailed{"it was planted"});
    return events;
  });
}

}  // namespace

CommonPointFound commonPointAt(uint32_t common, uint32_t newest, uint32_t committed) {
  return {{1, {common, 1}}, {1, {newest, 1}}, {1, {committed, 1}}, newest - common};
}

Model rollbacks(RollbackAnswers answers, int times) {
  Model model;
  model.machine<Rollback>("n1", {});
  model.client<Rollback>("n1", Diverged{"n2"}, times);
  if (answers.comparing.empty()) answers.comparing = {commonPointAt(6, 9, 4), commonPointAt(7, 9, 4), SourceFailed{}};
  model.comesOf<Rollback, StopFollowing>([answers](const NodeName&, const StopFollowing&) {
    Events events{FollowingStopped{}};
    if (answers.fails) events.push_back(SourceFailed{});
    return events;
  });
  model.comesOf<Rollback, FindCommonPoint>(
      [events = answers.comparing](const NodeName&, const FindCommonPoint&) { return events; });
  model.comesOf<Rollback, EnterRollback>([answers](const NodeName&, const EnterRollback&) {
    Events events{OperationsEnded{}};
    if (answers.fails) events.push_back(RollbackFailed{"it was planted"});
    if (answers.isTaken) events.push_back(RoleTaken{});
    return events;
  });
  work<SaveUndone>(model, UndoneSaved{}, answers.fails);
  work<TakeStorageDown>(model, StorageTakenDown{}, answers.fails);
  work<RollStorageBack>(model, StorageRolledBack{}, answers.fails);
  work<ReplayLog>(model, LogReplayed{}, answers.fails);
  work<EndRollback>(model, RollbackOver{}, answers.fails);
  model.goal("it follows again, or has given up", [](const machines::World& world) {
    return world.count<Rollback>([](const auto& now) {
      return now.memory.phase == Rollback::Phase::kFollowing || now.memory.phase == Rollback::Phase::kFailed;
    }) == 1;
  });
  return model;
}

}  // namespace troupe::model
