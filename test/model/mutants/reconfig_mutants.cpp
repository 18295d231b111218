#include <utility>

#include "test/model/mutants/mutant.hpp"
#include "test/model/subjects/reconfig.hpp"

namespace troupe::model::reconfig {

using namespace replication;

namespace {

using Bug = Mutation<Topology>;
using Real = Bug::Decide;
using Now = Snapshot<Topology>;

/// The members that are added are behind, and two of them are a majority in the end.
Model oneBecomesThree(int writes) {
  return reconfigs({.changes = inTurn({{"a:1"}, {"a:1", "b:1"}, {"a:1", "b:1", "c:1"}}),
                    .writes = writes,
                    .standing = {"b:1"},
                    .hasGoal = false});
}

/// The two that are removed were a majority.
Model threeBecomeOne(const std::vector<Hosts>& configs) {
  return reconfigs(
      {.changes = inTurn(configs), .writes = 0, .isClaimed = true, .standing = {"a:1", "b:1"}, .hasGoal = false});
}

/// The primary of term 1 adds a member, and that of term 2, who knows nothing of it, removes the first one.
Model twoPrimariesChangeOneConfig() {
  const Hosts four{"a:1", "b:1", "c:1", "d:1"};
  return reconfigs({.changes = {{four, {"a:1", "b:1", "c:1", "d:1", "e:1"}}, {four, {"b:1", "c:1", "d:1"}}},
                    .writes = 0,
                    .isClaimed = true,
                    .standing = {"b:1"},
                    .hasGoal = false});
}

/// It takes the newest entry that it knows of for the newest that an earlier config commits, and does not wait until
/// entries are counted by the present one.
Step<Topology> isInUseAtOnce(const Real& real, const Now& now, const Topology::Event& e) {
  Step<Topology> step = real(now, e);
  auto& after = step.memory;
  if (after && leads(after->phase) && !after->inUseFrom) after->inUseFrom = after->applied;
  return step;
}

/// What a change waits for stays what it was by the config before, which had other members.
Step<Topology> keepsWhatWasInUse(const Real& real, const Now& now, const Topology::Event& e) {
  Step<Topology> step = real(now, e);
  auto& after = step.memory;
  if (after && leads(after->phase) && !after->inUseFrom) after->inUseFrom = now.memory.inUseFrom;
  return step;
}

Step<Topology> forgetsWhatWasCommitted(const Real& real, const Now& now, const ConfigInUse& e) {
  return real(now, ConfigInUse{e.config, OpTime{}});
}

Step<Topology> believesThatAllHoldTheConfig(const Real& real, const Now& now, const Topology::Event& e) {
  Now changed = now;
  if (leads(now.memory.phase))
    for (MemberView& view : changed.memory.members) view.config = now.document.config->configVersion();
  return real(changed, e);
}

Step<Topology> claimsNothing(const Real& real, const Now& now, const Reconfig& e) {
  Now changed = now;
  changed.document.config->term = now.memory.term;
  return real(changed, e);
}

/// The next config is compared with itself.
Step<Topology> takesAnyNumberOfVoters(const Real& real, const Now& now, const Reconfig& e) {
  Now changed = now;
  changed.document.config->members = e.config.members;
  return real(changed, e);
}

template <class E>
std::function<std::shared_ptr<void>()> on(Step<Topology> (*change)(const Real&, const Now&, const E&)) {
  return [change] { return planted(Bug::on<E>(change)); };
}
std::function<std::shared_ptr<void>()> onAll(Step<Topology> (*change)(const Real&, const Now&,
                                                                      const Topology::Event&)) {
  return [change] { return planted(Bug::onAll(change)); };
}

std::vector<Mutant> mutants() {
  constexpr const char* kLacks = "a primary lacks what was committed";
  constexpr const char* kApart = "two configs could elect whose majorities need not meet";
  const auto growing = [](int writes) { return [writes] { return oneBecomesThree(writes); }; };
  const auto shrinking = [](std::vector<Hosts> configs) { return [configs] { return threeBecomeOne(configs); }; };
  const Hosts three{"a:1", "b:1", "c:1"}, two{"a:1", "b:1"}, one{"a:1"};
  return {
      {"reconfigs", "a second change comes before the first config is in use", kLacks, growing(2),
       onAll(isInUseAtOnce)},
      {"reconfigs", "a second change waits for what the config before the present one had to wait for", kLacks,
       growing(2), onAll(keepsWhatWasInUse)},
      {"reconfigs", "a second change does not wait for what was committed", kLacks, growing(1),
       on(forgetsWhatWasCommitted)},
      {"reconfigs", "a second change comes before a majority holds the first", kApart, shrinking({three, two, one}),
       onAll(believesThatAllHoldTheConfig)},
      {"reconfigs", "two voters are removed at once", kApart, shrinking({three, one}), on(takesAnyNumberOfVoters)},
      {"reconfigs", "a new primary does not claim its config", kApart, twoPrimariesChangeOneConfig, on(claimsNothing)},
  };
}

}  // namespace

}  // namespace troupe::model::reconfig

namespace troupe::model {

std::vector<Mutant> reconfigMutants() { return reconfig::mutants(); }

}  // namespace troupe::model
