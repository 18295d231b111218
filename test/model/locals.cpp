#include "test/model/locals.hpp"

#include <algorithm>

namespace troupe::model {

namespace {

template <class T>
void append(std::string& key, const T& number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <class T>
void insertSorted(std::vector<T>& all, const T& one) {
  const auto at = std::lower_bound(all.begin(), all.end(), one);
  if (at == all.end() || *at != one) all.insert(at, one);
}

uint64_t pairOf(uint32_t a, uint32_t b) { return static_cast<uint64_t>(a) << 32 | b; }

}  // namespace

Locals::Locals(const Model& model) : model_(model) {
  for (const auto& kind : model.kinds()) rowsTaken_.emplace_back(kind->rows().size(), 0);
  outcomes_.push_back("");
}

LocalId Locals::first(uint8_t slot) {
  Local local;
  local.slot = slot;
  local.now = local.safe = model_.slots()[slot].first;
  return intern(local);
}

LocalId Locals::intern(const Local& local) {
  std::string key;
  append(key, local.slot);
  append(key, local.life);
  append(key, local.now);
  append(key, local.safe);
  append(key, local.outcome);
  append(key, local.asked.size());
  for (const auto& question : local.asked) (append(key, question.node), append(key, question.message));
  append(key, local.timers.size());
  for (const auto& timer : local.timers)
    (append(key, timer.event), append(key, timer.earliest), append(key, timer.latest));
  for (const ValueId action : local.actions) append(key, action);
  const auto [at, isNew] = localNumbers_.try_emplace(std::move(key), static_cast<LocalId>(locals_.size()));
  if (isNew) locals_.push_back(local);
  return at->second;
}

FlightId Locals::number(const Flight& flight) {
  std::string key;
  for (const uint8_t byte : {static_cast<uint8_t>(flight.what), flight.fromNode, flight.fromSlot, flight.toNode,
                             flight.toSlot, flight.question.node})
    append(key, byte);
  append(key, flight.value);
  append(key, flight.question.message);
  const auto [at, isNew] = flightNumbers_.try_emplace(std::move(key), static_cast<FlightId>(flights_.size()));
  if (isNew) {
    flights_.push_back(flight);
    const Values& values = model_.values();
    if (flight.toSlot != Flight::kNobody && flight.value != kNoNumber) {
      const auto* translate = model_.translation(kind(flight.toSlot).type(), values.type(flight.value));
      const NodeName& from = model_.nodes()[flight.fromNode];
      flights_.back().event = translate ? (*translate)(from, values.data(flight.value)) : flight.value;
    }
  }
  return at->second;
}

const StepResult& Locals::step(LocalId local, ValueId event) {
  const uint64_t key = pairOf(local, event);
  uint32_t at = steps_.find(key);
  if (at == FlatMap::kNone) {
    at = static_cast<uint32_t>(results_.size());
    results_.push_back(computed(local, event));
    stepKeys_.emplace_back(local, event);
    steps_.insert(key, at);
  }
  return results_[at];
}

StepResult Locals::computed(LocalId id, ValueId event) {
  const Local before = locals_[id];
  Kind& kind = this->kind(before.slot);
  const bool resumes = event == kNoNumber;
  Reaction reaction =
      resumes ? kind.resume(before.now, model_.hostBug == HostBug::kMemorySurvives) : kind.react(before.now, event);
  StepResult out;
  out.broken = reaction.broken;
  if (!out.broken.empty()) {
    out.next = id;
    return out;
  }
  out.row = reaction.row;
  if (reaction.row >= 0) ++rowsTaken_[kindNumber(&kind)][static_cast<size_t>(reaction.row)];
  out.persist = reaction.persist;
  out.durability = reaction.durability;
  out.finished = reaction.finished;
  out.within = kind.within(reaction.next);

  Local next = before;
  next.life = Local::Life::kRunning;
  next.now = reaction.next;
  if (reaction.phaseLeft) next.asked.clear();
  for (const auto& effect : reaction.effects) perform(before, effect, next, out);
  if (reaction.persist && reaction.durability >= model_.slots()[before.slot].survives)
    next.safe = kind.withoutMemory(reaction.next);
  if (reaction.finished) {
    const bool isSafe = reaction.durability >= model_.slots()[before.slot].survives;
    next = {.slot = before.slot, .life = Local::Life::kEnded, .now = kind.withoutMemory(reaction.next)};
    next.safe = isSafe ? kNoNumber : before.safe;
    outcomes_.push_back(reaction.finished->isOK() ? "done" : reaction.finished->toString());
    const auto known = std::find(outcomes_.begin(), outcomes_.end() - 1, outcomes_.back());
    next.outcome = static_cast<uint32_t>(known - outcomes_.begin());
    if (known != outcomes_.end() - 1) outcomes_.pop_back();
  }
  out.asksChanged = next.asked != before.asked;
  out.next = intern(next);
  addCrashes(before, next, out);
  return out;
}

void Locals::perform(const Local& before, const AnyEffect& effect, Local& next, StepResult& out) {
  using What = AnyEffect::What;
  switch (effect.what) {
    case What::kAsk:
    case What::kSend:
      if (const int found = model_.findNode(effect.to);
          found >= 0 && !model_.isLost(model_.values().type(effect.value))) {
        const auto node = static_cast<uint8_t>(found);
        if (effect.what == What::kAsk) insertSorted(next.asked, Question{node, effect.value});
        out.outputs.push_back({effect.what, flightTo(before.slot, effect.what, node, effect.value)});
      }
      break;
    case What::kReply:
      if (model_.isLost(model_.values().type(effect.value))) break;
      [[fallthrough]];
    case What::kRefuse: out.outputs.push_back({effect.what, kNoNumber, effect.value, effect.why}); break;
    case What::kArm: {
      if (model_.neverFires(kind(before.slot).type(), model_.values().type(effect.value))) break;
      std::erase_if(next.timers, [&](const ArmedTimer& timer) { return timer.event == effect.value; });
      const auto earliest = static_cast<uint32_t>(effect.delay.count());
      const auto latest = earliest + static_cast<uint32_t>(effect.spread.count());
      if (model_.bounds.timersInOrder) next.timers.push_back({effect.value, earliest, latest});
      else insertSorted(next.timers, ArmedTimer{effect.value, 0, 0});
      break;
    }
    case What::kDisarm:
      std::erase_if(next.timers, [&](const ArmedTimer& timer) { return timer.event == effect.value; });
      break;
    case What::kDo:
      if (model_.outcomesOf(kind(before.slot).type(), model_.values().type(effect.value)))
        insertSorted(next.actions, effect.value);
      break;
    case What::kCancel: std::erase(next.actions, effect.value); break;
  }
}

FlightId Locals::flightTo(uint8_t fromSlot, AnyEffect::What what, uint8_t node, ValueId message) {
  const bool asks = what == AnyEffect::What::kAsk;
  const auto& slots = model_.slots();
  Flight flight{
      asks ? Flight::What::kAsk : Flight::What::kTell, slots[fromSlot].node, fromSlot, node, Flight::kNobody, message};
  if (asks) flight.question = {node, message};
  const std::type_index type = model_.values().type(message);
  for (size_t i = 0; i < slots.size() && flight.toSlot == Flight::kNobody; ++i)
    if (slots[i].node == node && (slots[i].kind->takes(type) || model_.translation(slots[i].kind->type(), type)))
      flight.toSlot = static_cast<uint8_t>(i);
  return number(flight);
}

/// Every point at which the node may die within this step, as far as it differs from dying before or after it.
void Locals::addCrashes(const Local& before, const Local& after, StepResult& out) {
  const auto outputs = static_cast<uint16_t>(out.outputs.size());
  const bool mayUndo = after.life == Local::Life::kEnded ? after.safe != kNoNumber
                                                         : after.safe != kind(after.slot).withoutMemory(after.now);
  for (uint16_t done = out.persist ? 0 : 1; done < outputs; ++done) {
    out.crashes.push_back({done, crashed(out.next, false), false});
    if (out.persist && mayUndo) out.crashes.push_back({done, crashed(out.next, true), true});
  }
  if (model_.hostBug == HostBug::kEffectsBeforePersist && out.persist)
    for (uint16_t done = 1; done <= outputs; ++done)
      out.crashes.push_back({done, crashed(intern(before), false), true});
}

LocalId Locals::crashed(LocalId local, bool undone) {
  return changed(crashed_, local, undone, [&](Local& l) {
    if (l.life == Local::Life::kUnborn || l.life == Local::Life::kDown) return;
    if (l.life == Local::Life::kEnded && (!undone || l.safe == kNoNumber)) return;
    const bool keeps = model_.hostBug == HostBug::kMemorySurvives;
    const SnapshotId found = undone ? l.safe : keeps ? l.now : kind(l.slot).withoutMemory(l.now);
    // A document found after a crash is on the disk: no later crash undoes it.
    l = {.slot = l.slot, .life = Local::Life::kDown, .now = found, .safe = kind(l.slot).withoutMemory(found)};
  });
}

template <class Change>
LocalId Locals::changed(FlatMap& known, LocalId local, uint32_t what, Change change) {
  const uint64_t key = pairOf(local, what);
  if (const uint32_t id = known.find(key); id != FlatMap::kNone) return id;
  Local next = locals_[local];
  change(next);
  const LocalId id = intern(next);
  known.insert(key, id);
  return id;
}

LocalId Locals::answered(LocalId local, const Question& question) {
  return changed(answered_, local, question.message << 8 | question.node,
                 [&](Local& l) { std::erase(l.asked, question); });
}

LocalId Locals::fired(LocalId local, ValueId timer) {
  return changed(fired_, local, timer, [&](Local& l) {
    std::erase_if(l.timers, [&](const ArmedTimer& armed) { return armed.event == timer; });
  });
}

LocalId Locals::performed(LocalId local, ValueId action) {
  return changed(performed_, local, action, [&](Local& l) { std::erase(l.actions, action); });
}

bool Locals::hasAsked(LocalId local, const Question& question) const {
  const auto& asked = locals_[local].asked;
  return std::find(asked.begin(), asked.end(), question) != asked.end();
}

bool Locals::mayFire(const Local& local, const ArmedTimer& timer) const {
  const Values& values = model_.values();
  const auto* condition = model_.conditionOf(kind(local.slot).type(), values.type(timer.event));
  if (condition && !(*condition)(local.now, values.data(timer.event))) return false;
  if (!model_.bounds.timersInOrder) return true;
  for (const auto& earlier : local.timers) {
    if (earlier.event == timer.event) return true;
    if (earlier.latest < timer.earliest) return false;
  }
  return true;
}

size_t Locals::kindNumber(const Kind* kind) const {
  size_t at = 0;
  while (model_.kinds()[at].get() != kind) ++at;
  return at;
}

}  // namespace troupe::model
