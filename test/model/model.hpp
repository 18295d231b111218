#pragma once
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "test/model/kind.hpp"

namespace troupe::model {

/// No limit; it then costs no states to count.
inline constexpr int kAnyNumber = -1;

/// Fate of a message after it was sent.
enum class Network {
  kFaulty,      ///< it arrives once, at any time; `Faults` says how many are lost or arrive once more
  kEverlasting  ///< it may arrive at any time, any number of times or never: all losses and duplications, uncounted.
                ///< Equal messages are one, and none ever goes away: there are fewer states than with bounded faults
};

/// The faults that may occur, and how often in one history.
struct Faults {
  int crashes = 0;       ///< of each node; each may be followed by a restart
  int losses = 0;        ///< messages that vanish, or kAnyNumber
  int duplications = 0;  ///< messages that arrive once more, or kAnyNumber
};

/// Bounds of the exploration. States beyond them are not explored; the report counts them.
struct Bounds {
  int inFlight = 12;        ///< messages under way at one moment
  bool mergeEqual = false;  ///< equal messages under way are one (a heartbeat sent twice)
  bool timersInOrder =
      false;           ///< a timer never fires before one armed earlier that is due earlier; else delays mean nothing
  uint32_t depth = 0;  ///< steps; 0: any number
  uint64_t states = 50'000'000;
};

/// Planted bugs of the host around the machines, for mutants.
enum class HostBug {
  kNone,
  kEffectsBeforePersist,  ///< effects are performed before the document is safe
  kMemorySurvives,        ///< a restarted machine finds the memory it had before the crash
  kAnswersLate,           ///< an answer reaches an asker that has left the phase in which it asked
};

/// A set of machines on nodes, joined by a network that reorders, loses and duplicates, with the faults that may befall
/// them, and what must hold. `check` (explorer.hpp) explores it; see docs/contributors/model-checking.md.
///
///     Model model;
///     model.machine<LeaseHandoff>("c", {.id = "L", .from = "a", .to = "b"});
///     model.machine<Holder>("a", ...);
///     model.faults = {.crashes = 1, .losses = 1, .duplications = 1};
///     model.never("two holders", [](const World& w) { return w.count<Holder>(holds) > 1; });
///     model.goal("the lease has moved", [](const World& w) { ... });
///     EXPECT_TRUE(check(model).clean());
///
/// A message reaches the first machine of the addressed node that has its type among its events, or for which
/// `delivered` says what event it is; else it is answered as `answers` says, or nobody takes it. Node names are short.
class Model {
 public:
  /// When a machine begins.
  enum class Start { kAtOnce, kAnyTime };

  Faults faults;
  Bounds bounds;
  Network network = Network::kFaulty;
  HostBug hostBug = HostBug::kNone;

  /// A machine with its first document. A write less durable than `survives` may be undone by a crash.
  template <machines::MachineType M>
  void machine(NodeName node, typename M::Document document, Start start = Start::kAtOnce,
               Durability survives = Durability::kJournaled) {
    KindOf<M>& kind = kindOf<M>();
    slots_.push_back({nodeNumber(node), &kind, kind.add({std::move(document), {}}), start, survives});
  }

  /// For all machines: what is persisted less safely may be undone by a crash.
  void survives(Durability durability) {
    for (Slot& slot : slots_) slot.survives = durability;
  }
  /// An event that may come to the machine of type M on that node, from outside, at any time.
  template <machines::MachineType M, class Event>
  void client(const NodeName& node, const Event& event, int times = 1) {
    clients_.push_back({slotOf(node, typeid(M)), values_->add(event), times});
  }
  /// The events that may come of an action: `(node, action) -> std::vector<M::Event>`, one of which comes. An action
  /// without this has no event.
  template <machines::MachineType M, class Action, class F>
  void comesOf(F events) {
    outcomes_[{typeid(M), typeid(Action)}] = [values = values_.get(), events](const NodeName& node,
                                                                              const void* action) {
      return numbers(*values, events(node, *static_cast<const Action*>(action)));
    };
  }
  /// The answers of nodes without a machine for such a message: `(node, message) -> std::vector<variant or struct>`.
  template <class Message, class F>
  void answers(F answers) {
    answers_[typeid(Message)] = [values = values_.get(), answers](const NodeName& node, const void* message) {
      return numbers(*values, answers(node, *static_cast<const Message*>(message)));
    };
  }
  /// The event that a message is to machines of type M: `(from, message) -> M::Event`.
  template <machines::MachineType M, class Message, class F>
  void delivered(F event) {
    translations_[{typeid(M), typeid(Message)}] = [values = values_.get(), event](const NodeName& from,
                                                                                  const void* message) {
      return values->add(event(from, *static_cast<const Message*>(message)));
    };
  }
  /// States in which a machine of type M is beyond this are not explored: `[](auto& now) { return now.document.term <=
  /// 2; }`.
  template <machines::MachineType M>
  void within(std::function<bool(const machines::Snapshot<M>&)> limit) {
    kindOf<M>().limit(std::move(limit));
  }
  /// Changes every state of such machines before it is looked at, so that states which differ only in that are one. Not
  /// everything that may happen is explored then, or not all of it is true: say so where the result is shown. Before
  /// the machines are added.
  template <machines::MachineType M>
  void simplify(std::function<void(machines::Snapshot<M>&)> change) {
    kindOf<M>().simplify(std::move(change));
  }
  /// The same for messages, events or actions: to leave out what is only for people.
  template <class T>
  void simplifyValue(std::function<void(T&)> change) {
    values_->simplify<T>(std::move(change));
  }
  /// Facts whose subjects don't begin like that are not kept: fewer states, but what only they would tell is not
  /// noticed.
  void rememberFactsOnly(std::string beginning) { factsOnly_ = std::move(beginning); }
  /// All messages of that type are lost. The explored histories remain possible ones; they are fewer.
  template <class Message>
  void loseAll() {
    lost_.insert(typeid(Message));
  }
  /// A timer fires only in machines of which this is true; absent a condition, never. Less is explored, nothing untrue.
  template <machines::MachineType M, class Timer>
  void firesOnlyIf(std::function<bool(const machines::Snapshot<M>&, const Timer&)> condition = {}) {
    if (!condition) {
      never_.insert({typeid(M), typeid(Timer)});
      return;
    }
    KindOf<M>& kind = kindOf<M>();
    conditions_[{typeid(M), typeid(Timer)}] = [&kind, condition](SnapshotId id, const void* timer) {
      return condition(kind[id], *static_cast<const Timer*>(timer));
    };
  }
  /// Nodes that may take each other's places: of states that differ only in which is which one is explored. Their
  /// machines begin alike, and the model says how their states and messages are renamed (`renames`). That the machines
  /// are symmetric is checked at the end, of each step that was computed; that the model's invariants and outcomes are
  /// is for its author to see.
  void interchangeable(std::vector<NodeName> nodes) { interchangeable_ = std::move(nodes); }
  template <machines::MachineType M>
  void renames(std::function<void(machines::Snapshot<M>&, const Renaming&)> change) {
    kindOf<M>().renames(std::move(change));
  }
  template <class T>
  void renamesValue(std::function<void(T&, const Renaming&)> change) {
    values_->renames<T>(std::move(change));
  }
  /// On an everlasting network: once this is true of a machine, the message does nothing to it any more in any
  /// continuation. Fewer states, and nothing is lost: the claim is checked at the end, for each state and step that was
  /// met.
  template <machines::MachineType M, class Message>
  void inertOnce(std::function<bool(const machines::Snapshot<M>&, const Message&)> condition) {
    KindOf<M>& kind = kindOf<M>();
    inert_[{typeid(M), typeid(Message)}] = [&kind, condition](SnapshotId id, const void* message) {
      return condition(kind[id], *static_cast<const Message*>(message));
    };
  }
  /// In addition to the invariants that the machines bring.
  void never(std::string name, std::function<bool(const machines::World&)> broken) {
    invariants_.push_back(machines::never(std::move(name), std::move(broken)));
  }
  /// Fields of that name are left out of stories: they say nothing in this model.
  void hide(std::vector<std::string> fields) { hidden_ = std::move(fields); }
  const std::vector<std::string>& hidden() const { return hidden_; }
  /// Looks only at the invariants whose names contain that. (Facts and the goal are looked at in any case.)
  void only(std::string name) { only_ = std::move(name); }
  /// From each state such a state can be reached without further faults.
  void goal(std::string name, std::function<bool(const machines::World&)> reached) {
    goalName_ = std::move(name);
    goal_ = std::move(reached);
  }

  // Interface for the explorer.
  struct Slot {
    uint8_t node;
    Kind* kind;
    SnapshotId first;
    Start start;
    Durability survives;
  };
  struct Client {
    uint8_t slot;
    ValueId event;
    int times;
  };
  using Choices = std::function<std::vector<ValueId>(const NodeName&, const void*)>;
  using Condition = std::function<bool(SnapshotId, const void*)>;
  using Translation = std::function<ValueId(const NodeName&, const void*)>;

  Values& values() const { return *values_; }
  const std::vector<NodeName>& nodes() const { return nodes_; }
  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<Client>& clients() const { return clients_; }
  const std::vector<std::unique_ptr<Kind>>& kinds() const { return kinds_; }
  /// Those of the machines, and those of the model.
  std::vector<machines::Invariant> invariants() const;
  const std::function<bool(const machines::World&)>& goal() const { return goal_; }
  const std::string& goalName() const { return goalName_; }
  const Choices* answersTo(std::type_index message) const;
  const Choices* outcomesOf(std::type_index machine, std::type_index action) const;
  const Translation* translation(std::type_index machine, std::type_index message) const;
  bool remembers(const std::string& subject) const { return subject.starts_with(factsOnly_); }
  bool isLost(std::type_index message) const { return lost_.contains(message); }
  bool neverFires(std::type_index machine, std::type_index timer) const { return never_.contains({machine, timer}); }
  const std::vector<NodeName>& interchangeable() const { return interchangeable_; }
  bool hasInert() const { return !inert_.empty() && network == Network::kEverlasting; }
  const Condition* inertCondition(std::type_index machine, std::type_index message) const {
    const auto at = inert_.find({machine, message});
    return at == inert_.end() ? nullptr : &at->second;
  }
  const Condition* conditionOf(std::type_index machine, std::type_index timer) const;
  /// -1 if there is no such node.
  int findNode(const NodeName& node) const;

 private:
  using Pair = std::pair<std::type_index, std::type_index>;

  template <class V>
  static std::vector<ValueId> numbers(Values& values, const std::vector<V>& all) {
    std::vector<ValueId> out;
    for (const auto& one : all) out.push_back(values.add(one));
    return out;
  }
  template <class M>
  KindOf<M>& kindOf() {
    for (const auto& kind : kinds_)
      if (kind->type() == typeid(M)) return static_cast<KindOf<M>&>(*kind);
    kinds_.push_back(std::make_unique<KindOf<M>>(*values_));
    return static_cast<KindOf<M>&>(*kinds_.back());
  }
  uint8_t nodeNumber(const NodeName& node);
  uint8_t slotOf(const NodeName& node, std::type_index machine) const;

  std::unique_ptr<Values> values_ = std::make_unique<Values>();
  std::vector<NodeName> nodes_;
  std::vector<std::unique_ptr<Kind>> kinds_;
  std::vector<Slot> slots_;
  std::vector<Client> clients_;
  std::map<std::type_index, Choices> answers_;
  std::map<Pair, Choices> outcomes_;
  std::map<Pair, Translation> translations_;
  std::map<Pair, Condition> conditions_, inert_;
  std::vector<NodeName> interchangeable_;
  std::set<std::type_index> lost_;
  std::set<Pair> never_;
  std::vector<std::string> hidden_;
  std::vector<machines::Invariant> invariants_;
  std::string only_, factsOnly_, goalName_;
  std::function<bool(const machines::World&)> goal_;
};

}  // namespace troupe::model
