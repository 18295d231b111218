#include "test/model/walker.hpp"

namespace troupe::model {

namespace {

using What = Action::What;

struct Collector final : Space::Visitor {
  explicit Collector(const State& before) : before(before) {}
  void next(const Action& action, const State& state) override { all.push_back({before, action, state}); }
  void cut(const Action&) override {}
  void broken(const Action& action, const State&, const std::string& why) override {
    throw machines::BrokenMachine("step of slot " + std::to_string(action.slot) + ": " + why);
  }
  const State& before;
  std::vector<Happening> all;
};

/// The order of what usually happens; -1: not without a fault.
int rank(const Action& action) {
  if (action.isFault()) return -1;
  switch (action.what) {
    case What::kRestart: return 0;
    case What::kDeliver: return 1;
    case What::kOutcome: return 2;
    case What::kStart: return 3;
    case What::kClient: return 4;
    case What::kAskAgain: return 5;
    case What::kTimer: return 6;
    default: return -1;
  }
}

}  // namespace

Walker::Walker(const Model& model) : space_(model), invariants_(model.invariants()) {
  std::string why;
  first_ = now_ = space_.initial(why);
  if (!why.empty()) throw machines::BrokenMachine(why);
}

std::vector<Happening> Walker::possible() {
  Collector collector(now_);
  space_.successors(now_, collector);
  return std::move(collector.all);
}

const Happening& Walker::take(const Happening& happening) {
  way_.push_back(happening);
  now_ = happening.after;
  const machines::World world = space_.world(now_);
  for (const auto& invariant : invariants_)
    if (invariant.broken(world)) throw machines::BrokenMachine("broken: " + invariant.name);
  return way_.back();
}

std::optional<Happening> Walker::usual(bool timers) {
  std::optional<Happening> best;
  for (const auto& happening : possible()) {
    const int its = rank(happening.action);
    if (its < 0 || (its == 6 && !timers)) continue;
    if (!best || its < rank(best->action)) best = happening;
  }
  return best;
}

}  // namespace troupe::model
