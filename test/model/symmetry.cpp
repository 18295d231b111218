#include "test/model/symmetry.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace troupe::model {

namespace {

uint32_t& at(std::vector<uint32_t>& known, uint32_t number) {
  if (number >= known.size()) known.resize(std::max<size_t>(number + 1, known.size() * 2), kNoNumber);
  return known[number];
}

/// Where each machine of a node lies when the node is another one: its machine of the same kind.
uint8_t slotOn(const Model& model, uint8_t slot, uint8_t node) {
  const auto& slots = model.slots();
  const auto place =
      std::count_if(slots.begin(), slots.begin() + slot, [&](const auto& s) { return s.node == slots[slot].node; });
  int64_t passed = 0;
  for (size_t other = 0; other < slots.size(); ++other) {
    if (slots[other].node != node || passed++ != place) continue;
    if (slots[other].kind != slots[slot].kind) break;
    return static_cast<uint8_t>(other);
  }
  throw std::invalid_argument("interchangeable nodes have the same kinds of machines, in the same order");
}

}  // namespace

Symmetry::Symmetry(Space& space) : space_(space) {
  const Model& model = space.model_;
  std::vector<uint8_t> members;
  for (const NodeName& name : model.interchangeable()) members.push_back(static_cast<uint8_t>(model.findNode(name)));
  std::sort(members.begin(), members.end());
  if (members.size() > 1 && !model.clients().empty()) throw std::invalid_argument("clients make nodes differ");
  for (std::vector<uint8_t> order = members; std::next_permutation(order.begin(), order.end());) {
    Way way;
    way.node.resize(model.nodes().size());
    std::iota(way.node.begin(), way.node.end(), uint8_t{0});
    for (size_t i = 0; i < members.size(); ++i) way.node[members[i]] = order[i];
    for (uint8_t slot = 0; slot < model.slots().size(); ++slot)
      way.slot.push_back(slotOn(model, slot, way.node[model.slots()[slot].node]));
    way.rename = [&model, node = way.node](const NodeName& name) {
      const int found = model.findNode(name);
      return found < 0 ? name : model.nodes()[node[static_cast<size_t>(found)]];
    };
    ways_.push_back(std::move(way));
  }
}

ValueId Symmetry::renamed(const Way& way, ValueId value) const {
  return value == kNoNumber ? value : space_.model_.values().renamed(value, way.rename);
}

Question Symmetry::renamed(const Way& way, const Question& question) const {
  return {way.node[question.node], renamed(way, question.message)};
}

LocalId Symmetry::localOf(Way& way, LocalId id) {
  if (const uint32_t known = at(way.locals, id); known != kNoNumber) return known;
  Local local = space_.locals_[id];
  Kind& kind = space_.locals_.kind(local.slot);
  const bool neverEnded = local.safe != kNoNumber;
  local.slot = way.slot[local.slot];
  local.now = kind.renamed(local.now, way.rename);
  if (neverEnded) local.safe = kind.renamed(local.safe, way.rename);
  for (Question& question : local.asked) question = renamed(way, question);
  for (ArmedTimer& timer : local.timers) timer.event = renamed(way, timer.event);
  for (ValueId& action : local.actions) action = renamed(way, action);
  std::sort(local.asked.begin(), local.asked.end());
  if (!space_.model_.bounds.timersInOrder) std::sort(local.timers.begin(), local.timers.end());
  std::sort(local.actions.begin(), local.actions.end());
  const LocalId found = space_.locals_.intern(local);
  return at(way.locals, id) = found;
}

FlightId Symmetry::flightOf(Way& way, FlightId id) {
  if (const uint32_t known = at(way.flights, id); known != kNoNumber) return known;
  Flight flight = space_.locals_.flight(id);
  const auto slotOf = [&](uint8_t slot) { return slot == Flight::kNobody ? slot : way.slot[slot]; };
  flight.fromSlot = slotOf(flight.fromSlot);
  flight.toSlot = slotOf(flight.toSlot);
  flight.fromNode = way.node[flight.fromNode];
  flight.toNode = way.node[flight.toNode];
  flight.value = renamed(way, flight.value);
  if (flight.what != Flight::What::kTell) flight.question = renamed(way, flight.question);
  flight.event = kNoNumber;
  const FlightId found = space_.locals_.number(flight);
  return at(way.flights, id) = found;
}

uint32_t Symmetry::factsOf(Way& way, uint32_t facts) {
  if (const uint32_t known = at(way.facts, facts); known != kNoNumber) return known;
  const uint32_t found = space_.factsRenamed(facts, way.rename);
  return at(way.facts, facts) = found;
}

void Symmetry::key(Way& way, const State& state, uint32_t* out) {
  const auto slots = static_cast<uint8_t>(space_.model_.slots().size());
  for (uint8_t slot = 0; slot < slots; ++slot) out[way.slot[slot]] = localOf(way, state[slot]);
  for (uint8_t node = 0; node < way.node.size(); ++node)
    out[slots + way.node[node]] = space_.byteOf(state, space_.nodeByte(node));
}

State Symmetry::applied(Way& way, const State& state) {
  State out = state;
  out.clear(space_.netAt_);
  for (uint8_t slot = 0; slot < space_.model_.slots().size(); ++slot) out[way.slot[slot]] = localOf(way, state[slot]);
  out[space_.factsAt_] = factsOf(way, state[space_.factsAt_]);
  for (uint8_t node = 0; node < way.node.size(); ++node) {
    const uint32_t byte = space_.nodeByte(way.node[node]), shift = byte % 4 * 8;
    uint32_t& word = out[space_.countersAt_ + byte / 4];
    word = (word & ~(0xffu << shift)) | static_cast<uint32_t>(space_.byteOf(state, space_.nodeByte(node))) << shift;
  }
  space_.eachFlight(state, [&](FlightId id) { space_.send(out, flightOf(way, id)); });
  return out;
}

void Symmetry::canonical(State& state) {
  if (ways_.empty()) return;
  uint32_t best[State::kMost], candidate[State::kMost];
  const size_t size = space_.model_.slots().size() + space_.model_.nodes().size();
  for (size_t slot = 0; slot < space_.model_.slots().size(); ++slot) best[slot] = state[static_cast<uint32_t>(slot)];
  for (uint8_t node = 0; node < space_.model_.nodes().size(); ++node)
    best[space_.model_.slots().size() + node] = space_.byteOf(state, space_.nodeByte(node));
  std::vector<Way*>& equals = equals_;  // of the least; null: the state as it is
  equals.assign(1, nullptr);
  for (Way& way : ways_) {
    key(way, state, candidate);
    const auto order = std::lexicographical_compare_three_way(candidate, candidate + size, best, best + size);
    if (order > 0) continue;
    if (order < 0) {
      equals.clear();
      std::copy_n(candidate, size, best);
    }
    equals.push_back(&way);
  }
  State least = equals[0] ? applied(*equals[0], state) : state;
  for (size_t i = 1; i < equals.size(); ++i) {
    const State other = applied(*equals[i], state);
    if (std::lexicographical_compare(other.data(), other.data() + other.size(), least.data(),
                                     least.data() + least.size()))
      least = other;
  }
  state = least;
}

bool Symmetry::isSame(Way& way, const StepResult& result, const StepResult& other) {
  if (result.broken.empty() != other.broken.empty()) return false;
  if (!result.broken.empty()) return true;
  std::vector<std::pair<uint32_t, uint32_t>> here, there;
  for (const auto& output : result.outputs)
    here.emplace_back(output.flight == kNoNumber ? kNoNumber : flightOf(way, output.flight),
                      renamed(way, output.value));
  for (const auto& output : other.outputs) there.emplace_back(output.flight, output.value);
  std::sort(here.begin(), here.end());
  std::sort(there.begin(), there.end());
  return localOf(way, result.next) == other.next && here == there && result.within == other.within &&
         result.persist == other.persist && result.durability == other.durability &&
         result.finished.has_value() == other.finished.has_value();
}

std::string Symmetry::contradiction() {
  if (ways_.empty()) return {};
  Locals& locals = space_.locals_;
  const size_t steps = locals.stepCount();
  for (size_t step = 0; step < steps; ++step) {
    const auto [local, event] = locals.stepAt(step);
    const StepResult result = locals.step(local, event);
    for (Way& way : ways_) {
      if (isSame(way, result, locals.step(localOf(way, local), renamed(way, event)))) continue;
      const Kind& kind = locals.kind(locals[local].slot);
      return std::string(kind.name()) +
             " is not symmetric: " + (event == kNoNumber ? "it resumes" : space_.model_.values().text(event)) +
             " with " + kind.memoryText(locals[local].now);
    }
  }
  return {};
}

}  // namespace troupe::model
