#pragma once
#include <compare>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "test/model/flat_map.hpp"
#include "test/model/model.hpp"

namespace troupe::model {

using LocalId = uint32_t;
using FlightId = uint32_t;
inline constexpr uint32_t kNoNumber = UINT32_MAX;

/// An open ask of a machine to a node.
struct Question {
  uint8_t node;
  ValueId message;
  auto operator<=>(const Question&) const = default;
};
struct ArmedTimer {
  ValueId event;
  uint32_t earliest, latest;  ///< of its delay; 0 unless timers are in order
  auto operator<=>(const ArmedTimer&) const = default;
};

/// One machine of the model at one moment, with what its host knows about it.
struct Local {
  enum class Life : uint8_t { kUnborn, kRunning, kDown, kEnded };
  uint8_t slot = 0;
  Life life = Life::kUnborn;
  SnapshotId now = 0;
  SnapshotId safe = 0;             ///< the document that no crash undoes; kNoNumber: that it has ended
  std::vector<Question> asked;     ///< sorted
  std::vector<ArmedTimer> timers;  ///< in the order in which they were armed if that matters, else sorted
  std::vector<ValueId> actions;    ///< begun, and nothing has come of them; sorted
  uint32_t outcome = 0;            ///< of an ended machine
};

/// A message under way.
struct Flight {
  enum class What : uint8_t { kTell, kAsk, kAnswer, kRefusal };
  static constexpr uint8_t kNobody = 255;
  What what;
  uint8_t fromNode, fromSlot;  ///< fromSlot is kNobody for answers of nodes without a machine
  uint8_t toNode, toSlot;      ///< toSlot is kNobody if no machine takes it
  ValueId value;               ///< kNoNumber: a refusal that makes the asker ask again
  Question question{};         ///< of kAsk, kAnswer and kRefusal
  ValueId event = kNoNumber;   ///< as what toSlot's machine takes it; set by Locals::number
};

/// Effects of an event on one machine and on those around it.
struct StepResult {
  struct Output {
    AnyEffect::What what;
    FlightId flight = kNoNumber;  ///< of sends and asks; kNoNumber: to a node that is not in the model
    ValueId value = 0;            ///< of replies
    Status why;                   ///< of refusals
  };
  struct CrashPoint {
    uint16_t done;  ///< so many outputs were performed
    LocalId local;  ///< down
    bool undone;    ///< what was persisted has been undone
  };
  LocalId next = 0;
  std::vector<Output> outputs;
  std::vector<CrashPoint> crashes;
  bool asksChanged = false;
  bool within = true;
  bool persist = false;
  Durability durability = Durability::kLocal;
  std::optional<Status> finished;
  int row = -1;
  std::string broken;
};

/// The machines' side of a model: local states and messages by number, and each machine's step remembered, so that a
/// pair of state and event is computed once. One thread.
class Locals {
 public:
  explicit Locals(const Model& model);

  LocalId first(uint8_t slot);
  const Local& operator[](LocalId id) const { return locals_[id]; }
  const Flight& flight(FlightId id) const { return flights_[id]; }
  FlightId number(const Flight& flight);
  Kind& kind(uint8_t slot) const { return *model_.slots()[slot].kind; }

  /// The step of a running machine.
  const StepResult& step(LocalId local, ValueId event);
  /// The first step of a machine that begins, or that is found again.
  const StepResult& resume(LocalId local) { return step(local, kNoNumber); }
  /// After the answer to that question came; the same if it isn't open.
  LocalId answered(LocalId local, const Question& question);
  /// After that timer was taken from the armed ones.
  LocalId fired(LocalId local, ValueId timer);
  /// After something came of that action.
  LocalId performed(LocalId local, ValueId action);
  /// Down: with what was persisted, or with what no crash undoes.
  LocalId crashed(LocalId local, bool undone);
  /// The message in which that machine asks it.
  FlightId asking(uint8_t slot, const Question& question) {
    return flightTo(slot, AnyEffect::What::kAsk, question.node, question.message);
  }
  bool hasAsked(LocalId local, const Question& question) const;
  /// False if timers are in order and another has to fire before this one.
  bool mayFire(const Local& local, const ArmedTimer& timer) const;

  /// How often which row of which kind was taken: by distinct states.
  const std::vector<std::vector<uint64_t>>& rowsTaken() const { return rowsTaken_; }
  size_t localCount() const { return locals_.size(); }
  size_t flightCount() const { return flights_.size(); }
  size_t stepCount() const { return results_.size(); }
  /// The state and the event (or kNoNumber) of a step that was computed.
  std::pair<LocalId, ValueId> stepAt(size_t number) const { return stepKeys_[number]; }
  LocalId intern(const Local& local);
  const std::vector<std::string>& outcomes() const { return outcomes_; }

 private:
  StepResult computed(LocalId id, ValueId event);
  void perform(const Local& before, const AnyEffect& effect, Local& next, StepResult& out);
  void addCrashes(const Local& before, const Local& after, StepResult& out);
  template <class Change>
  LocalId changed(FlatMap& known, LocalId local, uint32_t what, Change change);
  FlightId flightTo(uint8_t fromSlot, AnyEffect::What what, uint8_t node, ValueId message);
  size_t kindNumber(const Kind* kind) const;

  const Model& model_;
  std::deque<Local> locals_;
  std::unordered_map<std::string, LocalId> localNumbers_;
  std::deque<Flight> flights_;
  std::unordered_map<std::string, FlightId> flightNumbers_;
  std::deque<StepResult> results_;
  std::deque<std::pair<LocalId, ValueId>> stepKeys_;
  FlatMap steps_, answered_, fired_, performed_, crashed_;
  std::vector<std::vector<uint64_t>> rowsTaken_;
  std::vector<std::string> outcomes_;
};

}  // namespace troupe::model
