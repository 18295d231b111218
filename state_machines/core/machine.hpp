#pragma once
#include <concepts>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "state_machines/core/phases.hpp"
#include "state_machines/core/step.hpp"
#include "state_machines/core/transitions.hpp"
#include "state_machines/core/world.hpp"

namespace troupe::machines {

/// The base of a machine M: a type of which no object is made, which says all that a protocol decides.
///
///     struct LeaseHandoff : Machine<LeaseHandoff> {
///       static constexpr const char* kName = "lease-handoff";
///       enum class Phase { ... };
///       static constexpr auto kPhases = phases<Phase>({{Phase::kOffering, "offering", "..."}, ...});
///       struct Document { bson::Uuid id; ...; Phase phase = Phase::kOffering; };  // persisted, described
///       struct Memory { ... };                                          // optional: lost in a crash, described
///       using Event = std::variant<...>;                                // described structs
///       using Message = std::variant<...>;                              // optional: what it sends
///       using Action = std::variant<...>;                               // optional: what its actor does for it
///       static const Transitions<LeaseHandoff>& transitions();          // the table
///       static Step<LeaseHandoff> resume(const Document& document);     // what to do (again) when it is found
///       static std::vector<Invariant> invariants();                     // what must never be
///       static void facts(const NodeName&, const Snapshot<LeaseHandoff>&, Facts&);  // optional: what must not change
///     };
///     TROUPE_MACHINE(LeaseHandoff, 1, id, ..., phase)                   // at global scope
///
/// `phase` lives in the document, or in the memory if it need not outlive the node. A new machine is its first document
/// and `resume`. A machine knows no clock, no chance, no I/O and no actor; the helpers below only build values.
template <class M>
struct Machine {
  template <class Phase>
  static Step<M> to(Phase phase, Durability durability = Durability::kJournaled) {
    Step<M> step;
    step.phase = phase;
    step.durability = durability;
    return step;
  }
  /// In the same phase; `stay().with(changedDocument)` persists a change.
  static Step<M> stay(Durability durability = Durability::kJournaled) {
    Step<M> step;
    step.durability = durability;
    return step;
  }
  static Step<M> finish(Status outcome = Status::OK(), Durability durability = Durability::kMajority) {
    Step<M> step;
    step.finished = std::move(outcome);
    step.durability = durability;
    return step;
  }

  template <class Message>
  static auto send(NodeName to, Message message) {
    return Send<M>{std::move(to), std::move(message)};
  }
  template <class Message>
  static auto ask(NodeName to, Message message) {
    return Ask<M>{std::move(to), std::move(message)};
  }
  template <class Message>
  static auto reply(Message message) {
    return Reply<M>{std::move(message)};
  }
  static Refuse refuse(Status why) { return {std::move(why)}; }
  template <class Event>
  static auto after(Millis delay, Event event, Millis spread = Millis(0)) {
    return Arm<M>{std::move(event), delay, spread};
  }
  template <class Event>
  static auto cancel(Event event) {
    return Disarm<M>{std::move(event)};
  }
  template <class Action>
  static auto perform(Action action) {
    return Do<M>{std::move(action)};
  }
  template <class Action>
  static auto giveUp(Action action) {
    return Cancel<M>{std::move(action)};
  }

  /// `row<Accepted>(Phase::kOffering, {Phase::kDraining}, [](const Document& d, const Accepted& e) { ... })`.
  /// The targets are where it may go besides staying; `kEnd` is among them if it may finish.
  template <class E, class Phase, class F>
  static auto row(Phase from, std::initializer_list<Target<std::type_identity_t<Phase>>> targets, F decide) {
    return detail::transition<M, E>(from, targets, std::move(decide));
  }
  /// The same for an event that is handled alike in all phases that have no row of their own for it.
  template <class E, class F, class N = M>
  static auto anywhere(std::initializer_list<Target<typename N::Phase>> targets, F decide) {
    return detail::transition<N, E>(std::nullopt, targets, std::move(decide));
  }
};

template <class M>
concept MachineType = requires(const typename M::Document& document) {
  typename M::Phase;
  typename M::Event;
  { M::kName } -> std::convertible_to<const char*>;
  M::kPhases[typename M::Phase{}];
  { M::transitions() } -> std::convertible_to<const Transitions<M>&>;
  { M::resume(document) } -> std::same_as<Step<M>>;
  { M::invariants() } -> std::convertible_to<std::vector<Invariant>>;
};

/// True if the phase is part of the document, and so outlives a crash.
template <class M>
inline constexpr bool kPhaseIsPersisted = requires(typename M::Document d) {
  d.phase;
};

template <class M>
typename M::Phase phaseOf(const Snapshot<M>& now) {
  if constexpr (kPhaseIsPersisted<M>) return now.document.phase;
  else return now.memory.phase;
}
template <class M>
const char* phaseName(const Snapshot<M>& now) {
  return M::kPhases[phaseOf(now)].name;
}

/// A machine did what its table doesn't allow.
class BrokenMachine : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Outcome of an event: the new state, the durability needed before the effects, and the effects.
template <class M>
struct Outcome {
  Snapshot<M> next;
  bool persist = false;  ///< the document changed, or goes (if finished): before the effects
  Durability durability = Durability::kJournaled;
  std::vector<Effect<M>> effects;
  std::optional<Status> finished;
  const Transition<M>* row = nullptr;  ///< null: the event means nothing in this phase, and nothing changed
};

namespace detail {
template <class M>
Outcome<M> applied(const Snapshot<M>& now, Step<M> step) {
  Outcome<M> out{now, false, step.durability, std::move(step.effects), std::move(step.finished), nullptr};
  out.persist = step.document.has_value() || out.finished.has_value();
  if (step.document) out.next.document = std::move(*step.document);
  if (step.memory) out.next.memory = std::move(*step.memory);
  if (step.phase) {
    if constexpr (kPhaseIsPersisted<M>) {
      out.persist = true;
      out.next.document.phase = *step.phase;
    } else {
      out.next.memory.phase = *step.phase;
    }
  }
  return out;
}

template <class M>
bool allowed(const Transition<M>& row, const Snapshot<M>& before, const Outcome<M>& out) {
  const bool ends = out.finished.has_value();
  if (!ends && phaseOf<M>(out.next) == phaseOf<M>(before)) return true;
  for (const auto& target : row.targets)
    if (ends ? !target.phase : target.phase == phaseOf<M>(out.next)) return true;
  return false;
}
}  // namespace detail

/// One step of a machine. Pure. Throws BrokenMachine if it goes where its table doesn't say.
template <MachineType M>
Outcome<M> advance(const Snapshot<M>& now, const typename M::Event& event) {
  const Transition<M>* row = M::transitions().find(phaseOf<M>(now), event.index());
  if (!row) return {now, false, Durability::kLocal, {}, {}, nullptr};
  Outcome<M> out = detail::applied<M>(now, row->decide(now, event));
  out.row = row;
  if (!detail::allowed<M>(*row, now, out))
    throw BrokenMachine(std::string(M::kName) + ": " + row->eventName + " in phase " + phaseName<M>(now) + " led to " +
                        (out.finished ? "the end" : phaseName<M>(out.next)) + ", which its table does not say");
  return out;
}

/// The state after a first step that the machine's host has asked for.
template <MachineType M>
Outcome<M> resumed(typename M::Document document, Step<M> step) {
  return detail::applied<M>(Snapshot<M>{std::move(document), MemoryOf<M>{}}, std::move(step));
}
/// First step of a machine: with a new document, with one found after a crash, or when its node becomes primary.
template <MachineType M>
Outcome<M> resumed(typename M::Document document) {
  Step<M> step = M::resume(document);
  return resumed<M>(std::move(document), std::move(step));
}

}  // namespace troupe::machines

/// At global scope, after the machine: its document's version and fields, and the names of its phases.
#define TROUPE_MACHINE(Type, version, ...)              \
  TROUPE_DESCRIBE(Type::Document, version, __VA_ARGS__) \
  TROUPE_PHASE_NAMES(Type)
/// At global scope: the phases of a machine by their names in documents.
#define TROUPE_PHASE_NAMES(Type)                                                                        \
  template <>                                                                                           \
  struct troupe::machines::EnumNames<Type::Phase> {                                                     \
    static std::string_view name(Type::Phase phase) { return Type::kPhases[phase].name; }               \
    static std::optional<Type::Phase> parse(std::string_view name) { return Type::kPhases.find(name); } \
  };
