#include "test/model/inert.hpp"

#include <bit>

namespace troupe::model {

bool Inert::isInert(LocalId id, FlightId number) {
  const Flight& flight = space_.locals_.flight(number);
  const Local& local = space_.locals_[id];
  if (flight.toSlot != local.slot || flight.what != Flight::What::kTell) return false;
  if (local.life != Local::Life::kRunning && local.life != Local::Life::kDown) return false;
  const auto* condition =
      space_.model_.inertCondition(space_.locals_.kind(local.slot).type(), space_.model_.values().type(flight.event));
  return condition && (*condition)(local.now, space_.model_.values().data(flight.event));
}

void Inert::strip(State& state) {
  if (!space_.model_.hasInert()) return;
  for (uint8_t slot = 0; slot < space_.model_.slots().size(); ++slot) {
    const LocalId local = state[slot];
    if (local >= known_.size()) known_.resize(space_.locals_.localCount());
    Known& known = known_[local];
    for (uint32_t at = space_.netAt_; at < state.size(); ++at) {
      const uint32_t word = at - space_.netAt_;
      if (word >= known.tried.size()) (known.tried.resize(word + 1), known.inert.resize(word + 1));
      for (uint32_t bits = state[at] & ~known.tried[word]; bits; bits &= bits - 1) {
        const uint32_t bit = bits & -bits;
        known.tried[word] |= bit;
        if (isInert(local, word * 32 + static_cast<uint32_t>(std::countr_zero(bits)))) known.inert[word] |= bit;
      }
      state[at] &= ~known.inert[word];
    }
  }
  state.trim(space_.netAt_);
}

std::string Inert::contradictionOf(LocalId local, LocalId next, const char* how) {
  if (next == local || space_.locals_[next].life == Local::Life::kEnded) return {};
  for (FlightId flight = 0; flight < space_.locals_.flightCount(); ++flight) {
    if (!isInert(local, flight) || isInert(next, flight)) continue;
    return space_.model_.values().text(space_.locals_.flight(flight).event) +
           " is not inert for ever: it is no longer after " + how;
  }
  return {};
}

std::string Inert::contradiction() {
  if (!space_.model_.hasInert()) return {};
  Locals& locals = space_.locals_;
  const size_t steps = locals.stepCount();
  const auto count = static_cast<LocalId>(locals.localCount());
  for (size_t step = 0; step < steps; ++step) {
    const auto [local, event] = locals.stepAt(step);
    const StepResult& result = locals.step(local, event);
    if (!result.broken.empty() || !result.within) continue;
    const LocalId next = result.next;
    if (auto why = contradictionOf(local, next, "a step"); !why.empty()) return why;
  }
  for (LocalId local = 0; local < count; ++local) {
    if (locals[local].life != Local::Life::kRunning) continue;
    for (const bool undone : {false, true})
      if (auto why = contradictionOf(local, locals.crashed(local, undone), "a crash"); !why.empty()) return why;
    for (FlightId flight = 0; flight < locals.flightCount(); ++flight) {
      if (!isInert(local, flight)) continue;
      const StepResult& result = locals.step(local, locals.flight(flight).event);
      if (result.next != local || !result.outputs.empty() || !result.broken.empty())
        return space_.model_.values().text(locals.flight(flight).event) + " is not inert: it does something";
    }
  }
  return {};
}

}  // namespace troupe::model
