#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "supervisors/supervision/supervision_policy.hpp"

namespace troupe::supervisors {

struct ChildSpec;

/// A supervision tree, as data: a supervisor with its strategy and its children, in start order. Trees nest: a tree
/// is itself a child.
///   const Tree kStandalone = oneForOne("node",
///       restForOne("storage", permanent<Checkpointer>("checkpointer", engine), permanent<Reaper>("reaper", engine)),
///       oneForOne("front", permanent<Listener>("listener", options).park()));
struct Tree {
  std::string name;
  Strategy strategy = Strategy::kOneForOne;
  Intensity intensity;
  Backoff backoff;
  std::vector<ChildSpec> children;
  Restart restart = Restart::kPermanent;  ///< as a child of its parent

  Tree within(int limit, Duration window) &&;
  Tree pausing(Backoff b) &&;
};

/// Makes one life of a child. Called for every (re)start: the arguments given to `permanent<A>(...)` are copied into
/// it.
using ActorFactory = std::function<std::unique_ptr<Actor>()>;

/// A child of a supervisor: an actor, or a tree below it. A value; the modifiers return the changed specification.
struct ChildSpec {
  ChildRules rules;
  ActorFactory make;                 ///< empty for a tree
  bool detached = false;             ///< the actor gets its own thread
  bool failsFast = false;            ///< its failure before all of the tree is ready ends the start
  std::shared_ptr<const Tree> tree;  ///< null for an actor

  ChildSpec(ChildRules r, ActorFactory m) : rules(std::move(r)), make(std::move(m)) {}
  ChildSpec(Tree t);  // NOLINT: a tree is a child of its parent

  /// Own thread, for actors that block.
  ChildSpec onOwnThread() && {
    detached = true;
    return std::move(*this);
  }
  /// Started once all children of lower levels are ready.
  ChildSpec atLevel(int level) && {
    rules.level = level;
    return std::move(*this);
  }
  ChildSpec withGrace(Duration grace) && {
    rules.grace = grace;
    return std::move(*this);
  }
  /// Set aside when it fails too often, instead of failing the supervisor.
  ChildSpec park() && {
    rules.exhausted = OnExhausted::kPark;
    return std::move(*this);
  }
  /// For a child with .park() whose first failure says that an operator's configuration is wrong: it ends the start,
  /// which then tells so at once. Later it is set aside as others are.
  ChildSpec failFast() && {
    failsFast = true;
    return std::move(*this);
  }
};

// Here, where the type of the children is complete.
inline Tree Tree::within(int limit, Duration window) && {
  intensity = {limit, window};
  return std::move(*this);
}
inline Tree Tree::pausing(Backoff b) && {
  backoff = b;
  return std::move(*this);
}

namespace detail {
template <class A, class... Args>
ChildSpec child(std::string name, Restart restart, Args... args) {
  ChildRules rules;
  rules.name = std::move(name);
  rules.restart = restart;
  return ChildSpec(std::move(rules), [args...] { return std::make_unique<A>(args...); });
}
template <class... Children>
Tree tree(std::string name, Strategy strategy, Children&&... children) {
  Tree t;
  t.name = std::move(name);
  t.strategy = strategy;
  (t.children.push_back(ChildSpec(std::forward<Children>(children))), ...);
  return t;
}
}  // namespace detail

/// Started again whenever it ends.
template <class A, class... Args>
ChildSpec permanent(std::string name, Args... args) {
  return detail::child<A>(std::move(name), Restart::kPermanent, std::move(args)...);
}
/// Started again when it fails.
template <class A, class... Args>
ChildSpec transient(std::string name, Args... args) {
  return detail::child<A>(std::move(name), Restart::kTransient, std::move(args)...);
}
/// Never started again.
template <class A, class... Args>
ChildSpec temporary(std::string name, Args... args) {
  return detail::child<A>(std::move(name), Restart::kTemporary, std::move(args)...);
}

template <class... Children>
Tree oneForOne(std::string name, Children&&... children) {
  return detail::tree(std::move(name), Strategy::kOneForOne, std::forward<Children>(children)...);
}
template <class... Children>
Tree oneForAll(std::string name, Children&&... children) {
  return detail::tree(std::move(name), Strategy::kOneForAll, std::forward<Children>(children)...);
}
template <class... Children>
Tree restForOne(std::string name, Children&&... children) {
  return detail::tree(std::move(name), Strategy::kRestForOne, std::forward<Children>(children)...);
}

}  // namespace troupe::supervisors
