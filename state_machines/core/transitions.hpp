#pragma once
#include <functional>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "messaging/description/description.hpp"
#include "state_machines/core/step.hpp"

namespace troupe::machines {

struct End {};
/// The target of transitions that finish the machine.
inline constexpr End kEnd{};

/// Where a transition may lead: a phase, or the end.
template <class Phase>
struct Target {
  std::optional<Phase> phase;    ///< absent: the end
  Target(Phase p) : phase(p) {}  // NOLINT: `{Phase::kDraining, kEnd}`
  Target(End) {}                 // NOLINT
};

/// One row of a machine's table.
template <class M>
struct Transition {
  std::optional<typename M::Phase> from;  ///< absent: any phase
  size_t event = 0;                       ///< which alternative of M::Event
  const char* eventName = "";
  std::vector<Target<typename M::Phase>> targets;  ///< besides staying
  std::function<Step<M>(const Snapshot<M>&, const typename M::Event&)> decide;
};

namespace detail {
template <class T, class Variant>
struct IndexIn;
template <class T, class... Rest>
struct IndexIn<T, std::variant<T, Rest...>> {
  static constexpr size_t value = 0;
};
template <class T, class First, class... Rest>
struct IndexIn<T, std::variant<First, Rest...>> {
  static constexpr size_t value = 1 + IndexIn<T, std::variant<Rest...>>::value;
};

/// Calls an author's function in the form it has: (document, event), (document, memory, event) or (snapshot, event).
template <class M, class E, class F>
Step<M> decideWith(const F& function, const Snapshot<M>& now, const E& event) {
  if constexpr (std::is_invocable_v<const F&, const typename M::Document&, const E&>)
    return function(now.document, event);
  else if constexpr (std::is_invocable_v<const F&, const typename M::Document&, const machines::MemoryOf<M>&, const E&>)
    return function(now.document, now.memory, event);
  else return function(now, event);
}

template <class M, class E, class F>
Transition<M> transition(std::optional<typename M::Phase> from,
                         std::initializer_list<Target<typename M::Phase>> targets, F function) {
  auto decide = [function = std::move(function)](const Snapshot<M>& now, const typename M::Event& event) -> Step<M> {
    return decideWith<M, E>(function, now, std::get<E>(event));
  };
  return {from, IndexIn<E, typename M::Event>::value, typeName<E>().data(), targets, std::move(decide)};
}
}  // namespace detail

/// All that a machine may do: rows by phase and event. An event without a row for the current phase changes nothing.
template <class M>
class Transitions {
 public:
  Transitions(std::initializer_list<Transition<M>> rows) : rows_(rows) {}
  explicit Transitions(std::vector<Transition<M>> rows) : rows_(std::move(rows)) {}

  /// The row for that phase and event, or else the one for that event in any phase, or null.
  const Transition<M>* find(typename M::Phase phase, size_t event) const {
    const Transition<M>* general = nullptr;
    for (const auto& row : rows_) {
      if (row.event != event) continue;
      if (row.from == phase) return &row;
      if (!row.from) general = &row;
    }
    return general;
  }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  size_t size() const { return rows_.size(); }
  const Transition<M>& operator[](size_t index) const { return rows_[index]; }

 private:
  std::vector<Transition<M>> rows_;
};

}  // namespace troupe::machines
