#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "state_machines/core/machine.hpp"

namespace troupe::model {

/// A planted bug: as long as it lives, rows of a machine's table decide otherwise, in this whole process: in the model
/// checker, in the simulator, in a live host. Production code knows nothing of it. To be made and destroyed while no
/// machine of that type runs; mutations of one machine are destroyed in reverse order.
///
///     Mutation<Voter> bug = Mutation<Voter>::on<RequestVote>(
///         [](const auto& real, const Snapshot<Voter>& now, const RequestVote& e) -> Step<Voter> {
///           Step<Voter> step = real(now, e);
///           step.document.reset();                       // the vote is not persisted
///           return step;
///         });
template <machines::MachineType M>
class Mutation {
 public:
  using Snapshot = machines::Snapshot<M>;
  using Step = machines::Step<M>;
  using Event = typename M::Event;
  using Decide = std::function<Step(const Snapshot&, const Event&)>;
  /// Gets what the machine decides in truth, to be called or not.
  using Change = std::function<Step(const Decide& real, const Snapshot& now, const Event& event)>;

  /// All rows for event E.
  template <class E>
  static Mutation on(std::function<Step(const Decide& real, const Snapshot& now, const E& event)> change) {
    return Mutation(machines::detail::IndexIn<E, Event>::value,
                    [change](const Decide& real, const Snapshot& now, const Event& event) {
                      return change(real, now, std::get<E>(event));
                    });
  }
  /// All rows.
  static Mutation onAll(Change change) { return Mutation(std::nullopt, std::move(change)); }

  Mutation(Mutation&& other) noexcept : saved_(std::exchange(other.saved_, {})) {}
  Mutation& operator=(Mutation&&) = delete;
  ~Mutation() {
    for (auto& [row, was] : saved_) *row = std::move(was);
  }

 private:
  using Row = machines::Transition<M>;

  Mutation(std::optional<size_t> event, const Change& change) {
    for (size_t at = 0; at < M::transitions().size(); ++at) {
      // The table is const for everybody else; its rows are ordinary objects.
      Row& row = const_cast<Row&>(M::transitions()[at]);
      if (event && row.event != *event) continue;
      saved_.emplace_back(&row, row);
      row.decide = [change, real = row.decide](const Snapshot& now, const Event& e) { return change(real, now, e); };
      // A bug has to be caught by an invariant, not by the table of phases.
      row.targets = {machines::kEnd};
      for (const auto& phase : M::kPhases) row.targets.push_back(phase.phase);
    }
  }

  std::vector<std::pair<Row*, Row>> saved_;
};

}  // namespace troupe::model
