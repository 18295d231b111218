#include "state_machines/replication/turn.hpp"

namespace troupe::replication {

MemberView* Turn::view(const NodeName& host) {
  for (MemberView& v : mem.members)
    if (v.host == host) return &v;
  return nullptr;
}

void Turn::conclude(OpenCommand command, Status outcome) {
  if (answering != command) {
    perform(Conclude{command, std::move(outcome)});
    return;
  }
  answering.reset();
  if (outcome.isOK()) done();
  else effects.push_back(Topology::refuse(std::move(outcome)));
}

Step<Topology> Turn::step() && {
  const Snapshot<Topology> after = now();
  Step<Topology> step = Topology::stay();
  if (stateOf(after) != stateOf(before) || isWritable(after) != isWritable(before))
    step.effects.push_back(Topology::perform(AnnounceRole{stateOf(after), isWritable(after), mem.term, why}));
  for (auto& effect : effects) step.effects.push_back(std::move(effect));
  if (doc != before.document) step.document = std::move(doc);
  if (mem != before.memory) step.memory = std::move(mem);
  return step;
}

}  // namespace troupe::replication
