#include "test/model/subjects/session_life.hpp"

namespace troupe::model {

using namespace sessions;

namespace {

using LifeEvents = std::vector<SessionLife::Event>;

}  // namespace

Model sessionFamily(const SessionWorld& world) {
  Model model;
  model.machine<SessionLife>("n1", {});
  for (size_t i = 0; i < world.operations.size(); ++i) {
    const SessionUse& use = world.operations[i];
    const auto operation = static_cast<int64_t>(i + 1);
    model.client<SessionLife>("n1", CheckOutWanted{operation, use.child, use.retryOf});
    model.client<SessionLife>("n1", GaveUp{operation});
  }
  if (world.kills != 0) model.client<SessionLife>("n1", Killed{}, world.kills);
  if (world.edits != 0) model.client<SessionLife>("n1", Invalidated{}, world.edits);
  if (world.reaps != 0) model.client<SessionLife>("n1", ReapWanted{1}, world.reaps);
  const auto useOf = [operations = world.operations](int64_t operation) {
    return operations.at(static_cast<size_t>(operation) - 1);
  };
  model.comesOf<SessionLife, Grant>([useOf](const NodeName&, const Grant& grant) {
    LifeEvents events;
    for (const int64_t term : useOf(grant.operation).terms) events.emplace_back(HistoryWanted{grant.operation, term});
    events.emplace_back(GaveUp{grant.operation});  // it went away in the same moment
    return events;
  });
  model.comesOf<SessionLife, ReadHistory>([](const NodeName&, const ReadHistory& read) {
    return LifeEvents{HistoryRead{read.operation}, CheckedIn{read.operation}};
  });
  model.comesOf<SessionLife, UseHistory>([useOf](const NodeName&, const UseHistory& use) {
    return LifeEvents{NumberBegun{use.operation, useOf(use.operation).number}, CheckedIn{use.operation}};
  });
  model.comesOf<SessionLife, BeginNumber>([](const NodeName&, const BeginNumber& begin) {
    return LifeEvents{CheckedIn{begin.operation, 0}, CheckedIn{begin.operation}};
  });
  model.comesOf<SessionLife, RefuseNumber>(
      [](const NodeName&, const RefuseNumber& refusal) { return LifeEvents{CheckedIn{refusal.operation}}; });
  model.comesOf<SessionLife, EndOperation>(
      [](const NodeName&, const EndOperation& end) { return LifeEvents{CheckedIn{end.operation}}; });
  model.goal("nobody has the session and nobody waits for it", [](const machines::World& all) {
    return all.count<SessionLife>([](const auto& now) {
      return now.memory.phase == SessionLife::Phase::kFree || now.memory.phase == SessionLife::Phase::kReaped;
    }) == 1;
  });
  return model;
}

SessionWorld parentAndChild() {
  return {.operations = {{.number = 1}, {.child = "u", .retryOf = 1, .number = 1}, {.number = 2}}};
}

}  // namespace troupe::model
