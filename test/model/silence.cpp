#include "test/model/silence.hpp"

#include <unordered_set>

namespace troupe::model {

namespace {

/// Once something beyond the bounds was met, so many more states are looked at for a way within them.
constexpr size_t kPatience = 300;

/// Collects the successors that are no faults.
struct Quiet final : Space::Visitor {
  Quiet(Reduction& reduction, std::vector<State>& queue, std::unordered_set<uint64_t>& met)
      : reduction(reduction), queue(queue), met(met) {}
  void next(const Action& action, const State& state) override {
    if (action.isFault()) return;
    State whole = state;
    reduction.apply(whole);
    if (met.insert(whole.hash()).second) queue.push_back(whole);
  }
  void cut(const Action& action) override { beyond |= !action.isFault(); }
  void broken(const Action&, const State&, const std::string&) override {}

  Reduction& reduction;
  std::vector<State>& queue;
  std::unordered_set<uint64_t>& met;
  bool beyond = false;
};

}  // namespace

void Silence::note(uint32_t number, const State& state, bool isGoal) {
  const uint64_t key = space_.silentKey(state);
  if (known_.find(key) != FlatMap::kNone) return;
  known_.insert(key, static_cast<uint32_t>(isGoal ? Way::kSure : Way::kNone));
  if (isGoal) return;
  words_.push_back(number);
  for (uint32_t at = 0; at < space_.flightsBegin(); ++at) words_.push_back(state[at]);
}

uint32_t Silence::search() {
  const uint32_t size = space_.flightsBegin();
  for (size_t at = 0; at < words_.size(); at += size + 1) {
    State state;
    state.resize(size);
    for (uint32_t word = 0; word < size; ++word) state[word] = words_[at + 1 + word];
    const Way way = wayFrom(state);
    known_.replace(space_.silentKey(state), static_cast<uint32_t>(way));
    if (way == Way::kNone) return words_[at];
    beyond_ += way == Way::kBeyond;
  }
  return FlatMap::kNone;
}

Silence::Way Silence::wayFrom(const State& from) {
  std::unordered_set<uint64_t> met;
  Quiet quiet(reduction_, queue_, met);
  queue_.clear();
  quiet.next({Action::What::kAskAgain}, from);
  for (size_t at = 0; at < queue_.size() && !(quiet.beyond && at > kPatience); ++at) {
    const State state = queue_[at];
    const uint32_t known = known_.find(space_.silentKey(state));
    if (known == static_cast<uint32_t>(Way::kSure) || space_.model().goal()(space_.world(state))) return Way::kSure;
    quiet.beyond |= known == static_cast<uint32_t>(Way::kBeyond);
    space_.successors(state, quiet);
  }
  return quiet.beyond ? Way::kBeyond : Way::kNone;
}

}  // namespace troupe::model
