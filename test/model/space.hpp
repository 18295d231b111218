#pragma once
#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "test/model/locals.hpp"

namespace troupe::model {

/// All of a model at one moment, as a short row of numbers: a local state for each machine, the facts, what has been
/// used up of the faults, and the messages under way: in ascending order, or, on an everlasting network, as a set of
/// bits.
class State {
 public:
  static constexpr uint32_t kMost = 96;
  State() = default;
  State(const uint32_t* words, uint32_t size) : size_(size) { std::memcpy(words_, words, size * sizeof *words); }
  State(const State& other) : State(other.words_, other.size_) {}
  State& operator=(const State& other) {
    size_ = other.size_;
    std::memcpy(words_, other.words_, size_ * sizeof *words_);
    return *this;
  }
  uint32_t size() const { return size_; }
  const uint32_t* data() const { return words_; }
  uint32_t operator[](uint32_t at) const { return words_[at]; }
  uint32_t& operator[](uint32_t at) { return words_[at]; }
  void resize(uint32_t size) {  // new words are 0
    for (uint32_t at = size_; at < size; ++at) words_[at] = 0;
    size_ = size;
  }
  void clear(uint32_t from) { size_ = from; }
  void trim(uint32_t from) {
    while (size_ > from && words_[size_ - 1] == 0) --size_;
  }
  void insertAt(uint32_t at, uint32_t word) {
    std::memmove(words_ + at + 1, words_ + at, (size_ - at) * sizeof word);
    words_[at] = word;
    ++size_;
  }
  void removeAt(uint32_t at) {
    --size_;
    std::memmove(words_ + at, words_ + at + 1, (size_ - at) * sizeof *words_);
  }
  uint64_t hash() const { return hash(size_); }
  /// Of the first words.
  uint64_t hash(uint32_t size) const {
    uint64_t hash = size;
    for (uint32_t at = 0; at < size; at += 2)
      hash = mixed(hash ^ words_[at], at + 1 < size ? static_cast<uint64_t>(words_[at + 1]) << 32 | (at + 1) : at);
    return hash;
  }
  bool operator==(const State& other) const {
    return size_ == other.size_ && std::memcmp(words_, other.words_, size_ * sizeof *words_) == 0;
  }

 private:
  uint32_t size_ = 0;
  uint32_t words_[kMost];
};

/// One thing that may happen next.
struct Action {
  enum class What : uint8_t { kDeliver, kLose, kAskAgain, kTimer, kOutcome, kClient, kStart, kCrash, kRestart };
  static constexpr int kWhole = -1;
  What what;
  uint8_t slot = Flight::kNobody;  ///< the machine that steps, if one does
  uint8_t node = 0;
  uint32_t flight = kNoNumber;  ///< of kDeliver, kLose and kAskAgain
  uint32_t value = kNoNumber;   ///< the event, and of kOutcome
  uint32_t cause = kNoNumber;   ///< the action of kOutcome; the client's number of kClient
  bool again = false;           ///< delivered, and still under way
  int done = kWhole;            ///< the node crashes after so many outputs of the step
  bool undone = false;          ///< the crash undoes what wasn't safe

  bool isFault() const { return what == What::kLose || what == What::kCrash || again || done != kWhole; }
};

/// One step of a history.
struct Happening {
  State before;
  Action action;
  State after;
};

/// Transitions of a model: for each state, each possible next one. One thread.
class Space {
 public:
  class Visitor {
   public:
    virtual void next(const Action& action, const State& state) = 0;
    /// It leads beyond the model's bounds.
    virtual void cut(const Action& action) = 0;
    /// A machine broke its table, or a fact was contradicted; `state` is the one before.
    virtual void broken(const Action& action, const State& state, const std::string& why) = 0;

   protected:
    ~Visitor() = default;
  };

  explicit Space(const Model& model);

  /// All machines that start at once have begun; empty `why` unless one of them is broken.
  State initial(std::string& why);
  /// In an order that depends on the state alone.
  void successors(const State& state, Visitor& visitor);

  /// On an everlasting network: adds every message that machines would send without becoming anything else, again and
  /// again. Events possible with fewer messages are possible with more, so none is missed. `told` gets the deliveries.
  void saturate(State& state, std::vector<Happening>* told = nullptr);

  /// Facts with the nodes called differently.
  uint32_t factsRenamed(uint32_t facts, const Renaming& renaming);

  const Model& model() const { return model_; }
  Locals& locals() { return locals_; }
  const Locals& locals() const { return locals_; }
  LocalId local(const State& state, uint8_t slot) const { return state[slot]; }
  bool isDown(const State& state, uint8_t node) const { return (byteOf(state, nodeByte(node)) & 0x80) != 0; }
  uint32_t countersBegin() const { return countersAt_; }
  /// Where the messages begin among the words.
  uint32_t flightsBegin() const { return netAt_; }
  /// Calls `look(id)` for each different message under way, in ascending order.
  template <class F>
  void eachFlight(const State& state, F&& look) const {
    if (!isSet_) {
      for (uint32_t at = netAt_; at < state.size(); ++at)
        if (at == netAt_ || state[at] != state[at - 1]) look(state[at]);
      return;
    }
    for (uint32_t at = netAt_; at < state.size(); ++at)
      for (uint32_t bits = state[at]; bits; bits &= bits - 1)
        look((at - netAt_) * 32 + static_cast<uint32_t>(std::countr_zero(bits)));
  }
  machines::World world(const State& state) const;
  /// The same for states with the same machines, regardless of messages under way.
  uint64_t worldKey(const State& state) const;
  /// On an everlasting network: the same for states of which one may stand for the other. The one with more `assets`
  /// does.
  uint64_t placeKey(const State& state) const;
  /// Assets that only add possibilities, as bits: faults and client events left, facts that may be contradicted,
  /// messages.
  void assets(const State& state, std::vector<uint32_t>& out) const;
  /// The same for states from which the same may happen without faults and messages.
  uint64_t silentKey(const State& state) const;
  const std::map<std::string, std::string>& facts(const State& state) const { return facts_[state[factsAt_]].all(); }
  /// The step that the action is, or null if no machine steps. (Of a restart: give each machine's slot.)
  const StepResult* resultOf(const State& before, const Action& action);
  /// Messages that no machine takes and for which the model has no answers, by type.
  const std::map<std::string, uint64_t>& untaken() const { return untaken_; }

 private:
  friend class Symmetry;
  friend class Inert;
  uint32_t lossByte() const { return 0; }
  uint32_t duplicationByte() const { return 1; }
  uint32_t nodeByte(uint8_t node) const { return 2u + node; }
  uint32_t clientByte(size_t client) const { return static_cast<uint32_t>(2 + model_.nodes().size() + client); }
  uint8_t byteOf(const State& state, uint32_t byte) const {
    return static_cast<uint8_t>(state[countersAt_ + byte / 4] >> (byte % 4 * 8));
  }
  void addTo(State& state, uint32_t byte, uint32_t amount) const {
    state[countersAt_ + byte / 4] += amount << (byte % 4 * 8);
  }
  bool left(const State& state, uint32_t byte, int limit) const {
    return limit == kAnyNumber || (byteOf(state, byte) & 0x7f) < limit;
  }
  void use(State& state, uint32_t byte, int limit) const {
    if (limit != kAnyNumber) addTo(state, byte, 1);
  }

  bool isUnderWay(const State& state, FlightId flight) const {  // of a set
    const uint32_t word = netAt_ + flight / 32;
    return word < state.size() && (state[word] >> (flight % 32) & 1);
  }
  /// Whether the message changes nothing in its machine, and what it says in return was said.
  bool isIdle(const State& state, FlightId flight) const {
    const LocalId local = state[locals_.flight(flight).toSlot];
    if (local >= talks_.size() || flight / 32 >= talks_[local].idle.size()) return false;
    return talks_[local].idle[flight / 32] >> (flight % 32) & 1;
  }
  void deliveries(const State& state, Visitor& visitor);
  void deliver(const State& state, const Action& action, Visitor& visitor);
  void deliverToNobody(const State& state, const Action& action, Visitor& visitor);
  void ownEvents(const State& state, uint8_t slot, Visitor& visitor);
  /// Messages tried on a machine that stays unchanged, and which of them had an effect: a bit for each.
  struct Talk {
    std::vector<uint32_t> tried, idle;                             ///< by words
    std::vector<std::pair<FlightId, std::vector<FlightId>>> said;  ///< what comes of idle ones
  };
  const Talk& talkOf(const State& state, uint8_t slot);
  void listen(uint8_t slot, LocalId local, FlightId flight, Talk& talk);
  bool saturateOnce(State& state, std::vector<Happening>* told);
  bool saturateTimers(State& state, std::vector<Happening>* told);
  void faultsOf(const State& state, uint8_t node, Visitor& visitor);
  void restart(const State& state, uint8_t node, Visitor& visitor);

  /// A machine's step from `base` (in which its cause is consumed), and each crash within it.
  void stepped(const State& base, const Action& action, const StepResult& result, FlightId asked, Visitor& visitor);
  /// False if the message doesn't fit into the bounds.
  bool send(State& state, FlightId flight) const;
  void remove(State& state, FlightId flight) const;
  void appendOutputs(std::vector<FlightId>& out, uint8_t slot, const StepResult& result, size_t count, FlightId asked);
  bool sendOutputs(State& state, uint8_t slot, const StepResult& result, size_t count, FlightId asked);
  /// Answers to machines that no longer wait are dropped.
  void forgetAnswers(State& state, uint8_t slot);
  void crashNode(State& state, uint8_t node, bool undone);
  bool stateFacts(State& state, uint8_t slot, std::string& why);
  int limitOf(uint32_t byte) const;
  uint32_t factsAfter(uint32_t facts, LocalId local);
  uint32_t numberOf(machines::Facts facts);

  const Model& model_;
  Locals locals_;
  const bool isSet_;  ///< the messages are a set of bits
  uint32_t factsAt_, countersAt_, netAt_;
  static constexpr uint32_t kFactWords = 4;
  std::deque<machines::Facts> facts_;
  std::deque<std::array<uint32_t, kFactWords>> factBits_;  ///< a bit for each fact
  std::map<std::pair<std::string, std::string>, uint32_t> factNumbersAlone_;
  std::unordered_map<std::string, uint32_t> factNumbers_;
  FlatMap factSteps_;
  std::vector<FlightId> outgoing_;
  std::deque<Talk> talks_;  ///< by local state; on an everlasting network
  std::map<std::string, uint64_t> untaken_;
};

}  // namespace troupe::model
