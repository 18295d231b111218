#pragma once
#include <source_location>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "messaging/description/text.hpp"
#include "state_machines/core/machine.hpp"

/// Tests of what a machine decides, without an actor around it:
///
///     given<LeaseHandoff>({.id = "L", .from = "a", .to = "b"})
///         .when(Accepted{})
///         .then(movesTo(Phase::kDraining, Durability::kMajority), asks("a", Drain{"L"}))
///         .when(Drained{})
///         .then(movesTo(Phase::kGranted, Durability::kMajority), tells("b", Grant{"L"}));
///
/// All that came of the event has to be named, a line each, in the order in which it happens: the document, the memory,
/// the effects, the end. A failure shows both lists as a difference.
namespace troupe::probe {

using machines::Durability;
using machines::MachineType;
using machines::Millis;
using machines::NodeName;
using machines::Snapshot;

/// One thing that comes of an event, as it is read in failures.
struct Line {
  std::string text;
};
/// The same document, but in that phase.
template <class Phase>
struct MovesTo {
  Phase phase;
  Durability durability;
};

template <class Phase>
MovesTo<Phase> movesTo(Phase phase, Durability durability = Durability::kJournaled) {
  return {phase, durability};
}
/// That document is persisted.
template <class Document>
Line becomes(const Document& document, Durability durability = Durability::kJournaled);
template <class Memory>
Line remembers(const Memory& memory) {
  return {"remembers " + machines::toText(memory)};
}
/// The machine finishes: its document goes.
Line ends(const Status& outcome = Status::OK(), Durability durability = Durability::kMajority);
template <class Message>
Line tells(const NodeName& to, const Message& message) {
  return {"tells " + to + " " + machines::toText(message)};
}
template <class Message>
Line asks(const NodeName& to, const Message& message) {
  return {"asks " + to + " " + machines::toText(message)};
}
template <class Message>
Line replies(const Message& message) {
  return {"replies " + machines::toText(message)};
}
inline Line refuses(const Status& why) { return {"refuses with " + machines::toText(why)}; }
template <class Event>
Line arms(Millis delay, const Event& event, Millis spread = Millis(0));
template <class Event>
Line disarms(const Event& event) {
  return {"disarms " + machines::toText(event)};
}
template <class Action>
Line performs(const Action& action) {
  return {"performs " + machines::toText(action)};
}
template <class Action>
Line givesUp(const Action& action) {
  return {"gives up " + machines::toText(action)};
}

/// A machine at one moment.
template <MachineType M>
class Given {
 public:
  /// Results of an event, to be compared.
  class Came {
   public:
    /// All that has come, and nothing else. The machine as it is then.
    template <class... Expected>
    Given then(const Expected&... expected) const {
      return compared({lineOf(expected)...});
    }
    /// The event changes nothing.
    Given thenNothing() const { return compared({}); }

   private:
    friend class Given;
    Came(const Given& before, std::string what, std::source_location at)
        : before_(before), what_(std::move(what)), at_(at) {}
    Given compared(std::vector<std::string> expected) const;
    static std::string lineOf(const Line& line) { return line.text; }
    template <class Phase>
    std::string lineOf(const MovesTo<Phase>& move) const;

    Given before_;
    std::string what_;
    std::source_location at_;
    Snapshot<M> next_{};
    std::vector<std::string> came_;
  };

  explicit Given(Snapshot<M> now) : now_(std::move(now)) {}
  template <class Event>
  Came when(Event event, std::source_location at = std::source_location::current()) const {
    std::string what = machines::toText(event);
    return came("when " + std::move(what), at,
                [&] { return machines::advance<M>(now_, typename M::Event(std::move(event))); });
  }
  /// The document is found after a crash, or by a new primary: the memory is a new one.
  Came whenResumed(std::source_location at = std::source_location::current()) const {
    return came("when it resumes", at, [&] { return machines::resumed<M>(now_.document); });
  }
  const Snapshot<M>& snapshot() const { return now_; }

 private:
  template <class F>
  Came came(std::string what, const std::source_location& at, F decide) const;

  Snapshot<M> now_;
};

template <MachineType M>
Given<M> given(typename M::Document document, machines::MemoryOf<M> memory = {}) {
  return Given<M>({std::move(document), std::move(memory)});
}

namespace detail {

/// "(majority)" and so on.
std::string safety(Durability durability);
/// A failure of the test at `at`, unless both are the same.
void compareLines(const std::vector<std::string>& expected, const std::vector<std::string>& came,
                  const std::string& story, const std::source_location& at);

template <class M>
Line lineOf(const machines::Send<M>& effect) {
  return std::visit([&](const auto& message) { return tells(effect.to, message); }, effect.message);
}
template <class M>
Line lineOf(const machines::Ask<M>& effect) {
  return std::visit([&](const auto& message) { return asks(effect.to, message); }, effect.message);
}
template <class M>
Line lineOf(const machines::Reply<M>& effect) {
  return std::visit([](const auto& message) { return replies(message); }, effect.message);
}
inline Line lineOf(const machines::Refuse& effect) { return refuses(effect.why); }
template <class M>
Line lineOf(const machines::Arm<M>& effect) {
  return std::visit([&](const auto& event) { return arms(effect.delay, event, effect.spread); }, effect.event);
}
template <class M>
Line lineOf(const machines::Disarm<M>& effect) {
  return std::visit([](const auto& event) { return disarms(event); }, effect.event);
}
template <class M>
Line lineOf(const machines::Do<M>& effect) {
  return std::visit([](const auto& action) { return performs(action); }, effect.action);
}
template <class M>
Line lineOf(const machines::Cancel<M>& effect) {
  return std::visit([](const auto& action) { return givesUp(action); }, effect.action);
}

template <class M>
std::vector<std::string> linesOf(const Snapshot<M>& before, const machines::Outcome<M>& outcome) {
  std::vector<std::string> lines;
  if (outcome.persist && !outcome.finished) lines.push_back(becomes(outcome.next.document, outcome.durability).text);
  if (machines::toText(outcome.next.memory) != machines::toText(before.memory))
    lines.push_back(remembers(outcome.next.memory).text);
  for (const auto& effect : outcome.effects)
    lines.push_back(std::visit([](const auto& one) { return lineOf(one); }, effect).text);
  if (outcome.finished) lines.push_back(ends(*outcome.finished, outcome.durability).text);
  return lines;
}

}  // namespace detail

template <class Document>
Line becomes(const Document& document, Durability durability) {
  return {"becomes " + machines::toText(document) + detail::safety(durability)};
}

template <class Event>
Line arms(Millis delay, const Event& event, Millis spread) {
  std::string when = std::to_string(delay.count()) + " ms";
  if (spread.count() != 0) when += " and up to " + std::to_string(spread.count()) + " ms more";
  return {"arms " + machines::toText(event) + " in " + when};
}

template <MachineType M>
template <class Phase>
std::string Given<M>::Came::lineOf(const MovesTo<Phase>& move) const {
  Snapshot<M> moved = before_.now_;
  if constexpr (machines::kPhaseIsPersisted<M>) {
    moved.document.phase = move.phase;
    return becomes(moved.document, move.durability).text;
  } else {
    moved.memory.phase = move.phase;
    return remembers(moved.memory).text;
  }
}

template <MachineType M>
Given<M> Given<M>::Came::compared(std::vector<std::string> expected) const {
  std::string story = std::string(M::kName) + ", given " + machines::toText(before_.now_.document);
  if constexpr (requires { typename M::Memory; }) story += " with " + machines::toText(before_.now_.memory);
  detail::compareLines(expected, came_, story + ", " + what_, at_);
  return Given(next_);
}

template <MachineType M>
template <class F>
typename Given<M>::Came Given<M>::came(std::string what, const std::source_location& at, F decide) const {
  Came came(*this, std::move(what), at);
  came.next_ = now_;
  try {
    const machines::Outcome<M> outcome = decide();
    came.next_ = outcome.next;
    came.came_ = detail::linesOf<M>(now_, outcome);
  } catch (const machines::BrokenMachine& broken) {
    came.came_ = {std::string("breaks: ") + broken.what()};
  }
  return came;
}

}  // namespace troupe::probe
