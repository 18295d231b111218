#include "test/model/space.hpp"

#include <algorithm>
#include <stdexcept>

#include "state_machines/core/refusal.hpp"

namespace troupe::model {

using What = Action::What;
using Life = Local::Life;

Space::Space(const Model& model) : model_(model), locals_(model), isSet_(model.network == Network::kEverlasting) {
  factsAt_ = static_cast<uint32_t>(model.slots().size());
  countersAt_ = factsAt_ + 1;
  netAt_ = countersAt_ + (clientByte(model.clients().size()) + 3) / 4;
  if (netAt_ + static_cast<uint32_t>(model.bounds.inFlight) + 1 > State::kMost)
    throw std::invalid_argument("too many machines, clients and messages for one model");
  facts_.emplace_back();
  factBits_.emplace_back();
  factNumbers_.emplace("", 0);
}

State Space::initial(std::string& why) {
  State state;
  state.resize(netAt_);
  for (uint8_t slot = 0; slot < model_.slots().size(); ++slot) state[slot] = locals_.first(slot);
  for (uint8_t slot = 0; slot < model_.slots().size() && why.empty(); ++slot) {
    if (model_.slots()[slot].start != Model::Start::kAtOnce) continue;
    const StepResult& result = locals_.resume(state[slot]);
    why = result.broken;
    state[slot] = result.next;
    if (!sendOutputs(state, slot, result, result.outputs.size(), kNoNumber))
      throw std::invalid_argument("more messages under way at the beginning than the bounds allow");
    if (why.empty()) stateFacts(state, slot, why);
  }
  return state;
}

void Space::successors(const State& state, Visitor& visitor) {
  deliveries(state, visitor);
  for (uint8_t slot = 0; slot < model_.slots().size(); ++slot) ownEvents(state, slot, visitor);
  for (uint8_t node = 0; node < model_.nodes().size(); ++node) faultsOf(state, node, visitor);
}

void Space::deliveries(const State& state, Visitor& visitor) {
  eachFlight(state, [&](FlightId id) {
    const Flight& flight = locals_.flight(id);
    if (isSet_ && flight.toSlot != Flight::kNobody && isIdle(state, id)) return;  // saturated: it says nothing new
    const bool isAnswer = flight.what == Flight::What::kAnswer || flight.what == Flight::What::kRefusal;
    const bool runs = flight.toSlot != Flight::kNobody && locals_[state[flight.toSlot]].life == Life::kRunning;
    Action action{What::kDeliver, flight.toSlot, flight.toNode, id, flight.event};
    deliver(state, action, visitor);
    if (isSet_) return;
    if (runs && !isAnswer && left(state, duplicationByte(), model_.faults.duplications)) {
      action.again = true;
      deliver(state, action, visitor);
    }
    if (left(state, lossByte(), model_.faults.losses)) {
      State next = state;
      remove(next, id);
      use(next, lossByte(), model_.faults.losses);
      visitor.next({What::kLose, Flight::kNobody, flight.toNode, id}, next);
    }
  });
}

void Space::deliver(const State& state, const Action& action, Visitor& visitor) {
  State base = state;
  if (action.again) use(base, duplicationByte(), model_.faults.duplications);
  else if (!isSet_) remove(base, action.flight);
  const Flight& flight = locals_.flight(action.flight);
  if (flight.toSlot == Flight::kNobody) return deliverToNobody(base, action, visitor);
  if (locals_[state[flight.toSlot]].life != Life::kRunning) return visitor.next(action, base);
  FlightId asked = kNoNumber;
  if (flight.what == Flight::What::kAsk) asked = action.flight;
  if (flight.what == Flight::What::kAnswer || flight.what == Flight::What::kRefusal) {
    if (!locals_.hasAsked(base[flight.toSlot], flight.question) && model_.hostBug != HostBug::kAnswersLate)
      return visitor.next(action, base);
    if (flight.event == kNoNumber) return visitor.next(action, base);  // a refusal that means: ask again
    base[flight.toSlot] = locals_.answered(base[flight.toSlot], flight.question);
  }
  stepped(base, action, locals_.step(base[flight.toSlot], flight.event), asked, visitor);
}

void Space::deliverToNobody(const State& base, const Action& action, Visitor& visitor) {
  const Flight flight = locals_.flight(action.flight);
  const Values& values = model_.values();
  const Model::Choices* answers = model_.answersTo(values.type(flight.value));
  if (!answers) ++untaken_[std::string(values.name(flight.value))];
  if (!answers || flight.what != Flight::What::kAsk) return visitor.next(action, base);
  for (const ValueId value : (*answers)(model_.nodes()[flight.toNode], values.data(flight.value))) {
    Action answered = action;
    answered.value = value;
    State next = base;
    const Flight answer{Flight::What::kAnswer, flight.toNode, Flight::kNobody, flight.fromNode,
                        flight.fromSlot,       value,         flight.question};
    if (send(next, locals_.number(answer))) visitor.next(answered, next);
    else visitor.cut(answered);
  }
}

void Space::ownEvents(const State& state, uint8_t slot, Visitor& visitor) {
  const uint8_t node = model_.slots()[slot].node;
  const Local& local = locals_[state[slot]];
  if (local.life == Life::kUnborn && model_.slots()[slot].start == Model::Start::kAnyTime && !isDown(state, node))
    stepped(state, {What::kStart, slot, node}, locals_.resume(state[slot]), kNoNumber, visitor);
  if (local.life != Life::kRunning) return;
  auto step = [&](const Action& action, const State& base) {
    stepped(base, action, locals_.step(base[slot], action.value), kNoNumber, visitor);
  };
  for (const auto& timer : local.timers) {
    if (!locals_.mayFire(local, timer)) continue;
    State base = state;
    base[slot] = locals_.fired(state[slot], timer.event);
    step({What::kTimer, slot, node, kNoNumber, timer.event}, base);
  }
  for (const ValueId action : local.actions) {
    State base = state;
    base[slot] = locals_.performed(state[slot], action);
    const Values& values = model_.values();
    const auto& events = *model_.outcomesOf(locals_.kind(slot).type(), values.type(action));
    for (const ValueId event : events(model_.nodes()[node], values.data(action)))
      step({What::kOutcome, slot, node, kNoNumber, event, action}, base);
  }
  for (const Question& question : local.asked) {
    const auto concerns = [&](FlightId id) {
      const Flight& f = locals_.flight(id);
      if (f.what == Flight::What::kAsk) return f.fromSlot == slot && f.question == question;
      return f.what != Flight::What::kTell && f.toSlot == slot && f.question == question;
    };
    bool underWay = false;
    eachFlight(state, [&](FlightId id) { underWay |= concerns(id); });
    if (underWay) continue;
    const FlightId flight = locals_.asking(slot, question);
    State next = state;
    const Action action{What::kAskAgain, Flight::kNobody, node, flight};
    if (send(next, flight)) visitor.next(action, next);
    else visitor.cut(action);
  }
  for (uint32_t client = 0; client < model_.clients().size(); ++client) {
    const auto& row = model_.clients()[client];
    if (row.slot != slot || !left(state, clientByte(client), row.times)) continue;
    State base = state;
    use(base, clientByte(client), row.times);
    step({What::kClient, slot, node, kNoNumber, row.event, client}, base);
  }
}

void Space::faultsOf(const State& state, uint8_t node, Visitor& visitor) {
  if (isDown(state, node)) return restart(state, node, visitor);
  if (!left(state, nodeByte(node), model_.faults.crashes)) return;
  State kept = state, undone = state;
  crashNode(kept, node, false);
  crashNode(undone, node, true);
  visitor.next({What::kCrash, Flight::kNobody, node}, kept);
  Action undoing{What::kCrash, Flight::kNobody, node};
  undoing.undone = true;
  if (!(undone == kept)) visitor.next(undoing, undone);
}

void Space::restart(const State& state, uint8_t node, Visitor& visitor) {
  State base = state;
  addTo(base, nodeByte(node), static_cast<uint32_t>(-0x80));
  for (uint8_t slot = 0; slot < model_.slots().size(); ++slot) {
    if (model_.slots()[slot].node != node || locals_[base[slot]].life != Life::kDown) continue;
    const Action action{What::kRestart, slot, node};
    const StepResult& result = locals_.resume(base[slot]);
    // All but the whole step of the last machine is a crash here; the others go on with what follows.
    struct Crashes final : Visitor {
      explicit Crashes(Visitor& out) : out(out) {}
      void next(const Action& a, const State& s) override {
        if (a.done == Action::kWhole) (whole = s, ok = true);
        else out.next(a, s);
      }
      void cut(const Action& a) override { out.cut(a); }
      void broken(const Action& a, const State& s, const std::string& why) override { out.broken(a, s, why); }
      Visitor& out;
      State whole;
      bool ok = false;
    } crashes(visitor);
    stepped(base, action, result, kNoNumber, crashes);
    if (!crashes.ok) return;
    base = crashes.whole;
  }
  visitor.next({What::kRestart, Flight::kNobody, node}, base);
}

void Space::saturate(State& state, std::vector<Happening>* told) {
  if (!isSet_) return;
  while (saturateOnce(state, told)) {
  }
}

void Space::listen(uint8_t slot, LocalId local, FlightId id, Talk& talk) {
  const uint32_t word = id / 32, bit = 1u << (id % 32);
  if (word >= talk.tried.size()) (talk.tried.resize(word + 1), talk.idle.resize(word + 1));
  talk.tried[word] |= bit;
  const Flight flight = locals_.flight(id);
  const bool asks = flight.what == Flight::What::kAsk;
  if (flight.toSlot != slot || (!asks && flight.what != Flight::What::kTell) || locals_[local].life != Life::kRunning)
    return;
  const StepResult& result = locals_.step(local, flight.event);
  if (result.next != local || !result.broken.empty()) return;
  talk.idle[word] |= bit;
  std::vector<FlightId> said;
  appendOutputs(said, slot, result, result.outputs.size(), asks ? id : kNoNumber);
  if (!said.empty()) talk.said.emplace_back(id, std::move(said));
}

const Space::Talk& Space::talkOf(const State& state, uint8_t slot) {
  const LocalId local = state[slot];
  if (local >= talks_.size()) talks_.resize(locals_.localCount());
  Talk& talk = talks_[local];
  for (uint32_t at = netAt_; at < state.size(); ++at) {
    const uint32_t word = at - netAt_;
    for (uint32_t bits = state[at] & ~(word < talk.tried.size() ? talk.tried[word] : 0); bits; bits &= bits - 1)
      listen(slot, local, word * 32 + static_cast<uint32_t>(std::countr_zero(bits)), talk);
  }
  return talk;
}

bool Space::saturateOnce(State& state, std::vector<Happening>* told) {
  bool changed = false;
  for (uint8_t slot = 0; slot < model_.slots().size(); ++slot) {
    for (const auto& [id, said] : talkOf(state, slot).said) {
      if (!isUnderWay(state, id)) continue;
      State was;
      if (told) was = state;
      bool isNew = false;
      for (const FlightId flight : said) {
        isNew |= !isUnderWay(state, flight);
        send(state, flight);
      }
      changed |= isNew;
      if (isNew && told)
        told->push_back({was, {What::kDeliver, slot, model_.slots()[slot].node, id, locals_.flight(id).event}, state});
    }
  }
  return saturateTimers(state, told) || changed;
}

bool Space::saturateTimers(State& state, std::vector<Happening>* told) {
  bool changed = false;
  for (uint8_t slot = 0; slot < model_.slots().size(); ++slot) {
    const LocalId now = state[slot];
    if (locals_[now].life != Life::kRunning) continue;
    for (const auto& timer : locals_[now].timers) {
      if (!locals_.mayFire(locals_[now], timer)) continue;
      const StepResult& result = locals_.step(locals_.fired(now, timer.event), timer.event);
      if (result.next != now || !result.broken.empty() || result.outputs.empty()) continue;
      const State was = state;
      sendOutputs(state, slot, result, result.outputs.size(), kNoNumber);
      if (was == state) continue;
      changed = true;
      if (told) told->push_back({was, {What::kTimer, slot, model_.slots()[slot].node, kNoNumber, timer.event}, state});
    }
  }
  return changed;
}

void Space::stepped(const State& base, const Action& action, const StepResult& result, FlightId asked,
                    Visitor& visitor) {
  if (!result.broken.empty()) return visitor.broken(action, base, result.broken);
  if (!result.within) return visitor.cut(action);
  const uint8_t slot = action.slot;
  State next = base;
  next[slot] = result.next;
  std::string why;
  if (result.asksChanged) forgetAnswers(next, slot);
  if (!sendOutputs(next, slot, result, result.outputs.size(), asked)) visitor.cut(action);
  else if (!stateFacts(next, slot, why)) visitor.broken(action, base, why);
  else visitor.next(action, next);

  // On an everlasting network a crash within the step is no more than one after it: there are only more messages then.
  if (isSet_ && model_.hostBug == HostBug::kNone) return;
  if (result.crashes.empty() || !left(base, nodeByte(action.node), model_.faults.crashes)) return;
  for (const auto& point : result.crashes) {
    Action crash = action;
    crash.done = point.done;
    crash.undone = point.undone;
    State down = base;
    down[slot] = result.next;
    if (!sendOutputs(down, slot, result, point.done, asked)) {
      visitor.cut(crash);
      continue;
    }
    down[slot] = point.local;
    crashNode(down, action.node, point.undone);
    visitor.next(crash, down);
  }
}

bool Space::send(State& state, FlightId flight) const {
  if (isSet_) {
    const uint32_t word = netAt_ + flight / 32;
    if (word >= State::kMost) throw std::length_error("more different messages than an everlasting network can hold");
    if (word >= state.size()) state.resize(word + 1);
    state[word] |= 1u << (flight % 32);
    return true;
  }
  const uint32_t* begin = state.data() + netAt_;
  const uint32_t* end = state.data() + state.size();
  const uint32_t* at = std::lower_bound(begin, end, flight);
  if (model_.bounds.mergeEqual && at != end && *at == flight) return true;
  if (end - begin >= model_.bounds.inFlight) return false;
  state.insertAt(static_cast<uint32_t>(at - state.data()), flight);
  return true;
}

void Space::remove(State& state, FlightId flight) const {
  if (isSet_) {
    state[netAt_ + flight / 32] &= ~(1u << (flight % 32));
    state.trim(netAt_);
  } else {
    state.removeAt(static_cast<uint32_t>(std::lower_bound(state.data() + netAt_, state.data() + state.size(), flight) -
                                         state.data()));
  }
}

void Space::appendOutputs(std::vector<FlightId>& out, uint8_t slot, const StepResult& result, size_t count,
                          FlightId asked) {
  using Effect = AnyEffect::What;
  for (size_t i = 0; i < count; ++i) {
    const auto& output = result.outputs[i];
    FlightId flight = output.flight;
    if (output.what == Effect::kReply || output.what == Effect::kRefuse) {
      if (asked == kNoNumber) continue;  // nobody waits for it
      const Flight question = locals_.flight(asked);
      Flight answer{Flight::What::kAnswer, question.toNode,  slot, question.fromNode, question.fromSlot,
                    output.value,          question.question};
      if (output.what == Effect::kRefuse) {
        answer.what = Flight::What::kRefusal;
        answer.value = kNoNumber;
        if (!machines::isFailureOfTheWay(output.why))
          answer.value =
              locals_.kind(question.fromSlot).refused(model_.nodes()[question.toNode], output.why).value_or(kNoNumber);
      }
      flight = locals_.number(answer);
    }
    if (flight != kNoNumber) out.push_back(flight);
  }
}

bool Space::sendOutputs(State& state, uint8_t slot, const StepResult& result, size_t count, FlightId asked) {
  outgoing_.clear();
  appendOutputs(outgoing_, slot, result, count, asked);
  for (const FlightId flight : outgoing_)
    if (!send(state, flight)) return false;
  return true;
}

void Space::forgetAnswers(State& state, uint8_t slot) {
  const State before = state;
  eachFlight(before, [&](FlightId id) {
    const Flight& flight = locals_.flight(id);
    const bool asks = flight.what == Flight::What::kAsk && flight.fromSlot == slot;
    const bool answers =
        (flight.what == Flight::What::kAnswer || flight.what == Flight::What::kRefusal) && flight.toSlot == slot;
    if ((!asks && !answers) || locals_.hasAsked(state[slot], flight.question)) return;
    if (answers && model_.hostBug == HostBug::kAnswersLate) return;
    const auto copies = isSet_ ? 1 : std::count(before.data() + netAt_, before.data() + before.size(), id);
    for (auto i = copies; i > 0; --i) remove(state, id);
    if (!asks) return;
    Flight orphan = flight;
    orphan.what = Flight::What::kTell;
    orphan.question = {};
    const FlightId orphanId = locals_.number(orphan);
    for (auto i = copies; i > 0; --i) send(state, orphanId);
  });
}

void Space::crashNode(State& state, uint8_t node, bool undone) {
  for (uint8_t slot = 0; slot < model_.slots().size(); ++slot) {
    if (model_.slots()[slot].node != node) continue;
    state[slot] = locals_.crashed(state[slot], undone);
    forgetAnswers(state, slot);
  }
  addTo(state, nodeByte(node), 0x80);
  use(state, nodeByte(node), model_.faults.crashes);
}

const StepResult* Space::resultOf(const State& before, const Action& action) {
  if (action.slot == Flight::kNobody) return nullptr;
  LocalId local = before[action.slot];
  switch (action.what) {
    case What::kStart:
    case What::kRestart: return &locals_.resume(local);
    case What::kTimer: return &locals_.step(locals_.fired(local, action.value), action.value);
    case What::kOutcome: return &locals_.step(locals_.performed(local, action.cause), action.value);
    case What::kClient: return &locals_.step(local, action.value);
    case What::kDeliver: break;
    default: return nullptr;
  }
  const Flight& flight = locals_.flight(action.flight);
  const bool isAnswer = flight.what == Flight::What::kAnswer || flight.what == Flight::What::kRefusal;
  if (locals_[local].life != Life::kRunning || flight.event == kNoNumber) return nullptr;
  if (isAnswer && !locals_.hasAsked(local, flight.question) && model_.hostBug != HostBug::kAnswersLate) return nullptr;
  if (isAnswer) local = locals_.answered(local, flight.question);
  return &locals_.step(local, flight.event);
}

machines::World Space::world(const State& state) const {
  machines::World world;
  for (uint8_t slot = 0; slot < model_.slots().size(); ++slot) {
    const Local& local = locals_[state[slot]];
    if (local.life != Life::kRunning && local.life != Life::kDown) continue;
    const auto& row = model_.slots()[slot];
    row.kind->addTo(world, model_.nodes()[row.node], local.life == Life::kRunning, local.now);
  }
  return world;
}

uint64_t Space::worldKey(const State& state) const {
  uint64_t key = 0;
  for (uint8_t slot = 0; slot < model_.slots().size(); ++slot) key = mixed(key ^ state[slot], slot + 1);
  return key;
}

int Space::limitOf(uint32_t byte) const {
  if (byte >= clientByte(0))
    return byte < clientByte(model_.clients().size()) ? model_.clients()[byte - clientByte(0)].times : 0;
  if (byte >= nodeByte(0)) return model_.faults.crashes;
  return byte == lossByte() ? model_.faults.losses : model_.faults.duplications;
}

uint64_t Space::placeKey(const State& state) const {
  uint64_t key = state.hash(factsAt_);
  for (uint8_t node = 0; node < model_.nodes().size(); ++node) key = mixed(key, isDown(state, node) ? node + 1 : 0);
  return key;
}

void Space::assets(const State& state, std::vector<uint32_t>& out) const {
  out.clear();
  for (uint32_t at = countersAt_; at < netAt_; ++at) {
    uint32_t left = 0;
    for (uint32_t byte = (at - countersAt_) * 4, shift = 0; shift < 32; ++byte, shift += 8) {
      const int remaining = limitOf(byte) - (byteOf(state, byte) & 0x7f);
      left |= (remaining <= 0 ? 0u : remaining >= 8 ? 0xffu : (1u << remaining) - 1) << shift;
    }
    out.push_back(left);
  }
  const auto& facts = factBits_[state[factsAt_]];
  out.insert(out.end(), facts.begin(), facts.end());
  out.insert(out.end(), state.data() + netAt_, state.data() + state.size());
}

uint64_t Space::silentKey(const State& state) const {
  uint64_t key = placeKey(state);
  for (size_t client = 0; client < model_.clients().size(); ++client)
    key = mixed(key, byteOf(state, clientByte(client)));
  return key;
}

}  // namespace troupe::model
