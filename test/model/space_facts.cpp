// The facts that the machines of a space state of each other: numbered, and carried along from state to state.
#include <algorithm>
#include <stdexcept>

#include "test/model/space.hpp"

namespace troupe::model {

using Life = Local::Life;

namespace {
constexpr uint32_t kBrokenFacts = 0x80000000u;  // the number of the contradictory facts, with this bit
}

bool Space::stateFacts(State& state, uint8_t slot, std::string& why) {
  const uint32_t after = factsAfter(state[factsAt_], state[slot]);
  if (after & kBrokenFacts) {
    why = facts_[after & ~kBrokenFacts].contradiction();
    return false;
  }
  state[factsAt_] = after;
  return true;
}

uint32_t Space::factsAfter(uint32_t facts, LocalId local) {
  const uint64_t key = static_cast<uint64_t>(facts) << 32 | local;
  if (const uint32_t known = factSteps_.find(key); known != FlatMap::kNone) return known;
  machines::Facts after = facts_[facts], told;
  const Local& now = locals_[local];
  if (now.life == Life::kRunning)
    locals_.kind(now.slot).stateFacts(model_.nodes()[model_.slots()[now.slot].node], now.now, told);
  for (const auto& [subject, value] : told.all())
    if (model_.remembers(subject)) after.state(subject, value);
  const uint32_t number = numberOf(std::move(after));
  factSteps_.insert(key, number);
  return number;
}

uint32_t Space::numberOf(machines::Facts after) {
  std::string text = after.contradiction();
  for (const auto& [subject, value] : after.all()) text += '\n' + subject + '\t' + value;
  const auto [at, isNew] = factNumbers_.try_emplace(text, static_cast<uint32_t>(facts_.size()));
  const uint32_t number = at->second | (after.contradiction().empty() ? 0 : kBrokenFacts);
  if (isNew) {
    auto& bits = factBits_.emplace_back();
    for (const auto& fact : after.all()) {
      const auto alone =
          static_cast<uint32_t>(factNumbersAlone_.try_emplace(fact, factNumbersAlone_.size()).first->second);
      if (alone >= kFactWords * 32) throw std::length_error("more different facts than a model can hold");
      bits[alone / 32] |= 1u << (alone % 32);
    }
    facts_.push_back(std::move(after));
  }
  return number;
}

uint32_t Space::factsRenamed(uint32_t facts, const Renaming& renaming) {
  const auto renamed = [&](const std::string& text) {
    std::string out;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(' ', begin), text.size());
      out += renaming(text.substr(begin, end - begin));
      if (end < text.size()) out += ' ';
      begin = end + 1;
    }
    return out;
  };
  machines::Facts out;
  for (const auto& [subject, value] : facts_[facts].all()) out.state(renamed(subject), renamed(value));
  return numberOf(std::move(out));
}

}  // namespace troupe::model
