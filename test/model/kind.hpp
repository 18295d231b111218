#pragma once
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "state_machines/core/machine.hpp"
#include "test/model/values.hpp"

namespace troupe::model {

using machines::Durability;
using machines::Millis;
using machines::NodeName;
using SnapshotId = uint32_t;

/// An effect of a machine of any type.
struct AnyEffect {
  enum class What : uint8_t { kSend, kAsk, kReply, kRefuse, kArm, kDisarm, kDo, kCancel };
  What what;
  NodeName to;        ///< of kSend and kAsk
  ValueId value = 0;  ///< the message, the timer's event, or the action; of kRefuse nothing
  Millis delay{};     ///< of kArm
  Millis spread{};
  Status why;  ///< of kRefuse
};

/// Decision of a machine of any type.
struct Reaction {
  SnapshotId next = 0;
  bool persist = false;
  bool phaseLeft = false;
  Durability durability = Durability::kLocal;
  std::optional<Status> finished;
  int row = -1;  ///< of its table; negative: none applies, or it resumed
  std::vector<AnyEffect> effects;
  std::string broken;  ///< not empty: the machine threw
};

/// A machine's type, with the type taken away: its snapshots by number, its step as a function of numbers.
class Kind {
 public:
  virtual ~Kind() = default;
  virtual const char* name() const = 0;
  virtual std::type_index type() const = 0;
  /// Whether values of that type are events of this machine.
  virtual bool takes(std::type_index type) const = 0;
  virtual Reaction react(SnapshotId now, ValueId event) = 0;
  /// Its first step when it is found with that document. `keepMemory`: as if a crash left the memory as it was.
  virtual Reaction resume(SnapshotId found, bool keepMemory = false) = 0;
  /// The same document with a new memory: what a crash leaves.
  virtual SnapshotId withoutMemory(SnapshotId id) = 0;
  /// The same with the nodes called differently.
  virtual SnapshotId renamed(SnapshotId id, const Renaming& renaming) = 0;
  /// The event that a refused ask comes as, if the machine knows it.
  virtual std::optional<ValueId> refused(const NodeName& from, const Status& why) = 0;
  virtual void addTo(machines::World& world, const NodeName& node, bool alive, SnapshotId id) const = 0;
  virtual void stateFacts(const NodeName& node, SnapshotId id, machines::Facts& facts) const = 0;
  virtual std::vector<machines::Invariant> invariants() const = 0;
  virtual bool within(SnapshotId id) const = 0;
  virtual const char* phase(SnapshotId id) const = 0;
  virtual std::string documentText(SnapshotId id) const = 0;
  virtual std::string memoryText(SnapshotId id) const = 0;
  virtual std::vector<std::string> phases() const = 0;
  /// "offering: Accepted" for each row of the table.
  virtual std::vector<std::string> rows() const = 0;
};

template <class T, class Variant>
inline constexpr bool kIsAlternative = false;
template <class T, class... All>
inline constexpr bool kIsAlternative<T, std::variant<All...>> = (std::is_same_v<T, All> || ...);

template <machines::MachineType M>
class KindOf final : public Kind {
 public:
  using Snapshot = machines::Snapshot<M>;
  using Event = typename M::Event;

  explicit KindOf(Values& values) : values_(values) { fillEvents(static_cast<Event*>(nullptr)); }

  SnapshotId add(Snapshot snapshot) {
    for (const auto& change : simplifications_) change(snapshot);
    std::string key;
    machines::appendFingerprint(key, snapshot.document);
    if constexpr (kHasMemory) machines::appendFingerprint(key, snapshot.memory);
    const auto [at, isNew] = numbers_.try_emplace(std::move(key), static_cast<SnapshotId>(snapshots_.size()));
    if (isNew) snapshots_.push_back(std::move(snapshot));
    return at->second;
  }
  /// Changes every snapshot before it is looked at.
  void simplify(std::function<void(Snapshot&)> change) { simplifications_.push_back(std::move(change)); }
  const Snapshot& operator[](SnapshotId id) const { return snapshots_[id]; }
  /// Snapshots for which this is false are not looked at.
  void limit(std::function<bool(const Snapshot&)> within) { limits_.push_back(std::move(within)); }

  const char* name() const override { return M::kName; }
  std::type_index type() const override { return typeid(M); }
  bool takes(std::type_index type) const override { return events_.contains(type); }

  Reaction react(SnapshotId now, ValueId event) override {
    return guarded([&] {
      const Snapshot before = snapshots_[now];
      return reaction(before, machines::advance<M>(before, events_.at(values_.type(event))(values_.data(event))));
    });
  }
  Reaction resume(SnapshotId found, bool keepMemory) override {
    return guarded([&] {
      const Snapshot before = snapshots_[found];
      auto outcome = machines::resumed<M>(before.document);
      if (keepMemory) outcome.next.memory = before.memory;
      return reaction(before, std::move(outcome));
    });
  }
  SnapshotId withoutMemory(SnapshotId id) override {
    if constexpr (!kHasMemory) return id;
    else return add({snapshots_[id].document, {}});
  }
  SnapshotId renamed(SnapshotId id, const Renaming& renaming) override {
    Snapshot snapshot = snapshots_[id];
    if (rename_) rename_(snapshot, renaming);
    return add(std::move(snapshot));
  }
  void renames(std::function<void(Snapshot&, const Renaming&)> change) { rename_ = std::move(change); }
  std::optional<ValueId> refused(const NodeName& from, const Status& why) override {
    if constexpr (kIsAlternative<machines::Refused, Event>) return values_.add(machines::Refused{from, why});
    else return std::nullopt;
  }
  void addTo(machines::World& world, const NodeName& node, bool alive, SnapshotId id) const override {
    world.add<M>(node, alive, &snapshots_[id]);
  }
  void stateFacts(const NodeName& node, SnapshotId id, machines::Facts& facts) const override {
    if constexpr (requires { M::facts(node, snapshots_[id], facts); }) M::facts(node, snapshots_[id], facts);
  }
  std::vector<machines::Invariant> invariants() const override { return M::invariants(); }
  bool within(SnapshotId id) const override {
    for (const auto& limit : limits_)
      if (!limit(snapshots_[id])) return false;
    return true;
  }
  const char* phase(SnapshotId id) const override { return machines::phaseName<M>(snapshots_[id]); }
  std::string documentText(SnapshotId id) const override { return machines::toText(snapshots_[id].document); }
  std::string memoryText(SnapshotId id) const override {
    if constexpr (kHasMemory) return machines::toText(snapshots_[id].memory);
    else return {};
  }
  std::vector<std::string> phases() const override {
    std::vector<std::string> out;
    for (const auto& row : M::kPhases) out.push_back(row.name);
    return out;
  }
  std::vector<std::string> rows() const override {
    std::vector<std::string> out;
    for (const auto& row : M::transitions())
      out.push_back(std::string(row.from ? M::kPhases[*row.from].name : "any phase") + ": " +
                    std::string(row.eventName));
    return out;
  }

 private:
  static constexpr bool kHasMemory = requires { typename M::Memory; };

  template <class... E>
  void fillEvents(std::variant<E...>*) {
    (events_.emplace(typeid(E), [](const void* data) { return Event(*static_cast<const E*>(data)); }), ...);
  }

  template <class F>
  static Reaction guarded(F&& decide) {
    try {
      return decide();
    } catch (const std::exception& error) {
      Reaction out;
      out.broken = error.what();
      return out;
    }
  }

  Reaction reaction(const Snapshot& before, machines::Outcome<M> outcome) {
    Reaction out;
    out.persist = outcome.persist;
    out.phaseLeft = machines::phaseOf<M>(before) != machines::phaseOf<M>(outcome.next) || outcome.finished;
    out.durability = outcome.durability;
    out.finished = std::move(outcome.finished);
    if (outcome.row) out.row = static_cast<int>(outcome.row - &M::transitions()[0]);
    for (const auto& effect : outcome.effects)
      std::visit([&](const auto& e) { out.effects.push_back(any(e)); }, effect);
    out.next = add(std::move(outcome.next));
    return out;
  }

  /// A machine without messages or actions has no numbers for them.
  template <class V>
  ValueId number(const V& variant) {
    if constexpr (std::is_same_v<V, std::variant<machines::Nothing>>) return 0;
    else return values_.add(variant);
  }

  using What = AnyEffect::What;
  AnyEffect any(const machines::Send<M>& e) { return {What::kSend, e.to, number(e.message)}; }
  AnyEffect any(const machines::Ask<M>& e) { return {What::kAsk, e.to, number(e.message)}; }
  AnyEffect any(const machines::Reply<M>& e) { return {What::kReply, {}, number(e.message)}; }
  AnyEffect any(const machines::Refuse& e) { return {What::kRefuse, {}, 0, {}, {}, e.why}; }
  AnyEffect any(const machines::Arm<M>& e) { return {What::kArm, {}, values_.add(e.event), e.delay, e.spread}; }
  AnyEffect any(const machines::Disarm<M>& e) { return {What::kDisarm, {}, values_.add(e.event)}; }
  AnyEffect any(const machines::Do<M>& e) { return {What::kDo, {}, number(e.action)}; }
  AnyEffect any(const machines::Cancel<M>& e) { return {What::kCancel, {}, number(e.action)}; }

  Values& values_;
  std::deque<Snapshot> snapshots_;
  std::unordered_map<std::string, SnapshotId> numbers_;
  std::unordered_map<std::type_index, Event (*)(const void*)> events_;
  std::vector<std::function<bool(const Snapshot&)>> limits_;
  std::vector<std::function<void(Snapshot&)>> simplifications_;
  std::function<void(Snapshot&, const Renaming&)> rename_;
};

}  // namespace troupe::model
