#pragma once
#include <chrono>
#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "messaging/description/description.hpp"
#include "messaging/envelope/primary_of.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::machines {

/// A node of the cluster, "host:port"; or `primaryOf(set)` for the node that is the primary of a replica set when a
/// message is sent.
using NodeName = std::string;
using Millis = std::chrono::milliseconds;

/// How safe a document must be before the effects of its transition are performed.
enum class Durability {
  kLocal,      ///< committed on this node; a crash may undo it
  kJournaled,  ///< survives a crash of this node
  kMajority,   ///< survives any failover; the same as journaled on a node that is its set's only one
};

/// Placeholder for a machine without memory, messages or actions.
struct Nothing {};

namespace detail {
template <class M>
struct MemoryOf {
  using Type = Nothing;
};
template <class M>
requires requires { typename M::Memory; }
struct MemoryOf<M> {
  using Type = typename M::Memory;
};
template <class M>
struct MessageOf {
  using Type = std::variant<Nothing>;
};
template <class M>
requires requires { typename M::Message; }
struct MessageOf<M> {
  using Type = typename M::Message;
};
template <class M>
struct ActionOf {
  using Type = std::variant<Nothing>;
};
template <class M>
requires requires { typename M::Action; }
struct ActionOf<M> {
  using Type = typename M::Action;
};
}  // namespace detail

/// State of a machine that is lost when its node ends.
template <class M>
using MemoryOf = typename detail::MemoryOf<M>::Type;
/// Its messages to others: a variant of described structs.
template <class M>
using MessageOf = typename detail::MessageOf<M>::Type;
/// Its actions, carried out on its own node by the actor around it: a variant of described structs.
template <class M>
using ActionOf = typename detail::ActionOf<M>::Type;

/// All that a machine is at one moment. After a crash the document is there and the memory is a new one.
template <class M>
struct Snapshot {
  typename M::Document document;
  MemoryOf<M> memory{};
};

// Effects: what is to be done once the document is safe. Each may be performed again after a crash: its receiver must
// not mind.

/// Tells a node's actor, once; it may get lost.
template <class M>
struct Send {
  NodeName to;
  MessageOf<M> message;
};
/// Asks a node's actor until it answers, or until the machine has left the phase in which it asked. The answer comes as
/// an event, once: not after that phase was left, and an equal question that is open in the phase is not asked beside
/// it. A refusal comes as `Refused` if the machine knows that event; else, and if it failed on its way
/// (`isFailureOfTheWay`), the question is asked again.
template <class M>
struct Ask {
  NodeName to;
  MessageOf<M> message;
};
/// Replies to the ask that brought the event being handled.
template <class M>
struct Reply {
  MessageOf<M> message;
};
/// Replies with a failure to the ask that brought the event being handled.
struct Refuse {
  Status why;
};
/// Brings `event` after `delay` and a random part of `spread`. There is one timer per event value: arming again
/// replaces.
template <class M>
struct Arm {
  typename M::Event event;
  Millis delay{};
  Millis spread{};
};
/// Takes the timer of that event back.
template <class M>
struct Disarm {
  typename M::Event event;
};
/// Has something done on this node by the actor around the machine; what comes of it comes as an event, and so does its
/// progress.
template <class M>
struct Do {
  ActionOf<M> action;
};

/// Gives up an action that is under way, if it is: it is told to end, and what comes of it is not heard.
template <class M>
struct Cancel {
  ActionOf<M> action;
};

template <class M>
using Effect = std::variant<Send<M>, Ask<M>, Reply<M>, Refuse, Arm<M>, Disarm<M>, Do<M>, Cancel<M>>;

/// An event that machines may have: a receiver answered an ask with a failure of its own.
struct Refused {
  NodeName from;
  Status why;
};

/// Decision of a machine about one event. Built by the helpers of `Machine`.
template <class M>
struct [[nodiscard]] Step {
  std::optional<typename M::Phase> phase;        ///< where it goes; absent: it stays
  std::optional<typename M::Document> document;  ///< its fields from now on; absent: unchanged
  std::optional<MemoryOf<M>> memory;             ///< absent: unchanged
  std::optional<Status> finished;                ///< the end: the document goes, and waiting askers get this
  Durability durability = Durability::kJournaled;
  std::vector<Effect<M>> effects;

  /// These fields from now on (persisted before the effects).
  Step&& with(typename M::Document changed) && {
    document = std::move(changed);
    return std::move(*this);
  }
  /// This memory from now on (not persisted).
  Step&& remembering(MemoryOf<M> changed) && {
    memory = std::move(changed);
    return std::move(*this);
  }
  /// To be done once the document is safe, in this order. Takes effects and vectors of effects.
  template <class... More>
  Step&& then(More&&... more) && {
    (add(std::forward<More>(more)), ...);
    return std::move(*this);
  }

 private:
  void add(std::vector<Effect<M>> more) {
    for (auto& effect : more) effects.push_back(std::move(effect));
  }
  template <class E>
  requires std::constructible_from<Effect<M>, E>
  void add(E&& effect) { effects.push_back(Effect<M>(std::forward<E>(effect))); }
};

}  // namespace troupe::machines

TROUPE_DESCRIBE(troupe::machines::Nothing, 0)
TROUPE_DESCRIBE(troupe::machines::Refused, 0, from, why)
