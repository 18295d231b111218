#pragma once
// The members of MachineHost; included by machine_host.hpp.
#include <algorithm>
#include <stdexcept>

#include "actors/kernel/actor_cell.hpp"
#include "actors/machines/machine_host.hpp"
#include "state_machines/core/refusal.hpp"

namespace troupe::machines {

namespace detail {
inline const FaultSite kHostCrashes("machines.host.crash", 0.001, "a host fails while it handles an event");
inline const FaultSite kHostCrashesBeforeEffects("machines.host.crash-before-effects", 0.01,
                                                 "a host fails when its document is safe and nothing is done yet");
inline const FaultSite kHostSlow("machines.host.slow", 0.02, "a host takes up to 100 ms before it handles an event");
inline const FaultSite kAnswerLate("machines.host.answer-late", 0.1,
                                   "the answer to a question comes when nobody waits any more");
inline const FaultSite kOutcomeLost("machines.host.outcome-lost", 0.05,
                                    "an action is done, and what came of it is lost");
}  // namespace detail

template <MachineType M>
Behaviour MachineHost<M>::behaviour() {
  Behaviour handlers;
  [&]<size_t... I>(std::index_sequence<I...>) { (addHandler<I>(handlers), ...); }
  (std::make_index_sequence<std::variant_size_v<Event>>());
  handlers.add(on<AwaitEnd>([this](const AwaitEnd&, Context& context) { awaitingEnd_.push_back(std::move(context)); }));
  handlers.add(on<StartMachine<M>>([this](const StartMachine<M>& wanted, Context& context) {
    if (wanted.untilEnd) awaitingEnd_.push_back(std::move(context));
    else if (isStarting_ && revision_ == 0) awaitingStart_.push_back(std::move(context));
    else context.reply(local(MachineStarted{self()}));
  }));
  handlers.add(on<DocumentRemoved>([this](const DocumentRemoved&) {
    if (leaving_ || (isNew_ && revision_ == 0)) return;
    stop(Status(ErrorCode::kInterrupted, "its document was removed"));
  }));
  handlers.add(on<NewValue<Event>>([this](const NewValue<Event>& progress) {
    if (!isDoing(*progress.source)) return;
    if (auto event = progress.source->take()) take(std::move(*event));
  }));
  return handlers;
}

template <MachineType M>
template <size_t I>
void MachineHost<M>::addHandler(Behaviour& behaviour) {
  using T = std::variant_alternative_t<I, Event>;
  auto handle = [this](Context& context) {
    auto event = fromMessage<Event>(context.payload());
    if (!event.isOK()) return context.fail(event.status());
    if (*event) take(Waiting{std::move(**event), std::move(context)});
  };
  behaviour.add({payloadTypeOf<T>(), std::move(handle)});
}

template <MachineType M>
const MachineOutline* MachineHost<M>::outline() const {
  static const MachineOutline drawn = outlineOf<M>();
  return &drawn;
}

template <MachineType M>
void MachineHost<M>::onStart() {
  showPhase();
  start(begin());
}

/// A new document is written before anything is done for it. One that was found may have been written by a host that
/// failed before it was safe: what followed from it would be done for a document that a crash, or the next primary,
/// takes back.
template <MachineType M>
Task<void> MachineHost<M>::begin() {
  Outcome<M> first{now_, true, Durability::kMajority, {}, {}, nullptr};
  bool isSafe = false;
  if (isNew_) isSafe = co_await save(first);
  else isSafe = co_await settle();
  if (!isSafe) co_return;
  revision_ = 1;
  setDocument(name_, revision_);
  for (Context& context : awaitingStart_) context.reply(local(MachineStarted{self()}));
  awaitingStart_.clear();
  Outcome<M> outcome = resumed<M>(now_.document, resume());
  if (outcome.persist) {
    const bool safe = co_await save(outcome);
    if (!safe) co_return;
  }
  adopt(std::move(outcome), nullptr);
  isStarting_ = false;
  drain();
}

/// A timer that fires while a decision waits for its document may have been taken back by it: then it waits, to mean
/// nothing once that is done. Any other event keeps its place among those that come.
template <MachineType M>
bool MachineHost<M>::canHear(const Waiting& waiting) const {
  if (isStarting_ || isAdopting_ || isSlow_ || leaving_) return false;
  return decided_.size() < kMostDecided && (waiting.timer.empty() || !isTakenBack(waiting.timer));
}

template <MachineType M>
bool MachineHost<M>::isTakenBack(const std::string& timer) const {
  const auto concerns = [&timer](const Effect<M>& effect) {
    std::string key;
    if (const auto* arm = std::get_if<Arm<M>>(&effect)) appendFingerprint(key, arm->event);
    else if (const auto* disarm = std::get_if<Disarm<M>>(&effect)) appendFingerprint(key, disarm->event);
    return !key.empty() && key == timer;
  };
  return std::ranges::any_of(
      decided_, [&](const Decided& decided) { return std::ranges::any_of(decided.outcome.effects, concerns); });
}

template <MachineType M>
void MachineHost<M>::take(Waiting waiting) {
  const bool hears = canHear(waiting);
  if (hears && !environment().fires(detail::kHostSlow)) {
    process(std::move(waiting));
    return drain();
  }
  waiting_.push_back(std::move(waiting));
  if (!hears) return;
  isSlow_ = true;
  after(std::chrono::milliseconds(environment().random() % 100), [this] {
    isSlow_ = false;
    drain();
  });
}

template <MachineType M>
void MachineHost<M>::drain() {
  for (;;) {
    const auto next = std::find_if(waiting_.begin(), waiting_.end(), [this](const Waiting& w) { return canHear(w); });
    if (next == waiting_.end()) return;
    Waiting heard = std::move(*next);
    waiting_.erase(next);
    process(std::move(heard));
  }
}

/// Asked where the event is decided, not where it arrives: it may have waited, and decisions whose document is not safe
/// yet count as well.
template <MachineType M>
bool MachineHost<M>::isCurrent(const Waiting& waiting) {
  if (!waiting.timer.empty()) {
    const auto timer = timers_.find(waiting.timer);
    if (timer == timers_.end() || timer->second != 0) return false;
    timers_.erase(timer);
  }
  if (!waiting.question) return true;
  return asked_.erase(*waiting.question) > 0 && waiting.question->phaseCount == newestPhaseCount();
}

template <MachineType M>
void MachineHost<M>::process(Waiting waiting) {
  if (environment().fires(detail::kHostCrashes)) throw std::runtime_error("fails on purpose");
  if (!isCurrent(waiting)) return;
  Outcome<M> outcome = advance<M>(newest(), waiting.event);
  if (outcome.finished) leaving_ = true;
  if (decided_.empty() && !outcome.persist) {
    // What an effect brings at once comes after its transition: the asker of this one is not noted yet.
    isAdopting_ = true;
    adopt(std::move(outcome), &waiting);
    isAdopting_ = false;
    return;
  }
  const uint64_t phaseCount = newestPhaseCount() + (phaseOf(outcome.next) != phaseOf(newest()) ? 1 : 0);
  decided_.push_back({std::move(outcome), std::move(waiting), phaseCount});
  if (!std::exchange(isWriting_, true)) start(writeDecided());
}

/// The newest document stands for all decisions before it. A crash that finds it and none of their effects is one that
/// lost their messages, which every machine has to bear anyway.
template <MachineType M>
Task<void> MachineHost<M>::writeDecided() {
  while (!decided_.empty()) {
    const size_t count = decided_.size();
    Outcome<M> written{now_, false, Durability::kLocal, {}, {}, nullptr};
    for (const Decided& decided : decided_) {
      if (!decided.outcome.persist) continue;
      written.persist = true;
      written.next = decided.outcome.next;
      written.finished = decided.outcome.finished;
      written.durability = std::max(written.durability, decided.outcome.durability);
    }
    if (written.persist) {
      const bool safe = co_await save(written);
      if (!safe) co_return;
      if (environment().fires(detail::kHostCrashesBeforeEffects)) throw std::runtime_error("fails on purpose");
    }
    isAdopting_ = true;
    for (size_t i = 0; i < count; ++i) {
      Decided decided = std::move(decided_.front());
      decided_.pop_front();
      adopt(std::move(decided.outcome), &decided.cause);
    }
    isAdopting_ = false;
    if (decided_.empty()) drain();
  }
  isWriting_ = false;
  drain();
}

/// False if it cannot be written: the host ends.
template <MachineType M>
Task<bool> MachineHost<M>::save(const Outcome<M>& outcome) {
  if (outcome.finished) leaving_ = true;
  return untilDone([this, &outcome] {
    if (outcome.finished) return store_->remove(keyOf<M>(outcome.next.document), outcome.durability);
    return store_->put(outcome.next.document, unknown_, outcome.durability);
  });
}

/// Waits until the document found at the start is as safe as a new one. False when the store cannot say so: the host
/// ends.
template <MachineType M>
Task<bool> MachineHost<M>::settle() {
  return untilDone([this] { return store_->settle(); });
}

/// Tries until the store has done it; false if trying again is of no use: the host ends.
template <MachineType M>
Task<bool> MachineHost<M>::untilDone(std::function<Task<Status>()> attempt) {
  for (RetryPause pause;;) {
    const Status status = co_await attempt();
    if (status.isOK()) co_return true;
    cell().row()->setError(status.toString());
    if (!isWorthRetrying(status)) {
      stop(status);
      co_return false;
    }
    co_await sleepFor(pause.next(environment()));
  }
}

/// The document is safe: the new state holds, and its effects are performed.
template <MachineType M>
void MachineHost<M>::adopt(Outcome<M> outcome, Waiting* cause) {
  Context* asker = cause && cause->asker ? &*cause->asker : nullptr;
  const bool moved = phaseOf(outcome.next) != phaseOf(now_);
  record(outcome, cause);
  now_ = std::move(outcome.next);
  if (moved) {
    ++phaseCount_;
    std::erase_if(asked_, [this](const Question& question) { return question.phaseCount != phaseCount_; });
    showPhase();
  }
  if (outcome.persist) setDocument(name_, ++revision_);
  adopted();
  for (auto& effect : outcome.effects) perform(effect, asker);
  if (asker && asker->expectsReply()) unanswered(cause->event, std::move(*asker));
  transitioned(outcome);
  if (options_.observe) options_.observe(now_, outcome);
  if (outcome.finished) finish(*outcome.finished);
}

template <MachineType M>
TransitionRecord MachineHost<M>::newRecord() const {
  TransitionRecord record;
  record.at = bson::Date{std::chrono::duration_cast<Millis>(environment().wallNow().time_since_epoch()).count()};
  record.path = self().path();
  record.machine = M::kName;
  record.instance = name_;
  return record;
}

/// Its document stays, and another host takes the machine up where it is: after a failure, or on the next primary.
template <MachineType M>
void MachineHost<M>::recordStop(const Status& reason) const {
  TransitionRecord record = newRecord();
  record.event = "stopped";
  record.from = record.to = phaseName<M>(now_);
  if (!reason.isOK()) record.outcome = reason.toString();
  node().transitions().add(std::move(record));
}

template <MachineType M>
void MachineHost<M>::record(const Outcome<M>& outcome, const Waiting* cause) const {
  if (cause && !outcome.row) return;  // the event means nothing in this phase
  TransitionRecord record = newRecord();
  record.event = cause ? outcome.row->eventName : "resumed";
  if (cause && cause->asker && cause->asker->sender()) record.cause = cause->asker->sender().toString();
  record.from = cause ? phaseName<M>(now_) : "";
  if (!outcome.finished) record.to = phaseName<M>(outcome.next);
  else if (!outcome.finished->isOK()) record.outcome = outcome.finished->toString();
  if (outcome.persist && !outcome.finished) record.revision = revision_ + 1;
  record.effects = textsOf<M>(outcome.effects);
  node().transitions().add(std::move(record));
}

template <MachineType M>
void MachineHost<M>::finish(const Status& outcome) {
  for (Context& context : awaitingEnd_) {
    if (outcome.isOK()) context.reply(local(MachineEnded{}));
    else context.fail(outcome);
  }
  awaitingEnd_.clear();
  leaving_ = true;
  stop();
}

/// Actions that go on elsewhere would report to the next host of the name, and keep from others what they hold.
template <MachineType M>
void MachineHost<M>::onStop(const Status& reason) {
  if (!leaving_) recordStop(reason);
  for (const auto& [key, doing] : std::exchange(doing_, {})) doing.cancel();
  const Status why =
      reason.isOK() ? Status(ErrorCode::kInterruptedDueToReplStateChange, "the service was stopped") : reason;
  for (auto* waiters : {&awaitingStart_, &awaitingEnd_})
    for (Context& context : *waiters) context.fail(why);
}

template <MachineType M>
void MachineHost<M>::showPhase() {
  const auto& phase = M::kPhases[phaseOf(now_)];
  setPhase(phase.name, phase.meaning);
}

template <MachineType M>
void MachineHost<M>::perform(Effect<M>& effect, Context* asker) {
  std::visit([&](auto& one) { perform(one, asker); }, effect);
}

template <MachineType M>
Address MachineHost<M>::receiver(const NodeName& node, const MessageOf<M>& message) const {
  return std::visit(
      [&]<class T>(const T&) {
        if constexpr (requires { T::kReceiver; }) return Address(node, T::kReceiver);
        else return Address(node, self().path());
      },
      message);
}

namespace detail {
template <class Message>
Payload messageOf(const Message& message) {
  return std::visit([](const auto& one) { return toMessage(one); }, message);
}
}  // namespace detail

template <MachineType M>
void MachineHost<M>::perform(Send<M>& effect, Context*) {
  sending(effect.message);
  tell(receiver(effect.to, effect.message), detail::messageOf(effect.message));
}

/// An equal question that is open in the phase is not asked twice: its one answer would be heard twice.
template <MachineType M>
void MachineHost<M>::perform(Ask<M>& effect, Context*) {
  std::string key;
  appendFingerprint(key, effect.to);
  appendFingerprint(key, effect.message);
  const Question question{phaseCount_, std::move(key)};
  if (!asked_.insert(question).second) return;
  start(askUntilAnswered(receiver(effect.to, effect.message), detail::messageOf(effect.message), question));
}

template <MachineType M>
Task<void> MachineHost<M>::askUntilAnswered(Address to, Payload message, Question question) {
  for (RetryPause pause; question.phaseCount == phaseCount_;) {
    Answer answer = co_await ask(to, message, options_.askTimeout);
    if (question.phaseCount != phaseCount_) co_return;
    if (environment().fires(detail::kAnswerLate))
      answer = Status(ErrorCode::kExceededTimeLimit, to.toString() + " answered too late");
    if (answer.isOK()) {
      auto event = fromMessage<Event>(*answer);
      if (event.isOK() && *event) {
        take(Waiting{std::move(**event), std::nullopt, {}, std::move(question)});
        co_return;
      }
      cell().row()->setError(to.toString() + " answered with " + answer->typeName());
    } else if (!isFailureOfTheWay(answer.status())) {
      if constexpr (kIsOneOf<Refused, Event>) {
        take(Waiting{Refused{to.node(), answer.status()}, std::nullopt, {}, std::move(question)});
        co_return;
      }
    }
    if (!answer.isOK()) cell().row()->setError(answer.status().toString());
    co_await sleepFor(pause.next(environment()));
  }
}

template <MachineType M>
void MachineHost<M>::perform(Reply<M>& effect, Context* asker) {
  if (asker) asker->reply(detail::messageOf(effect.message));
}

template <MachineType M>
void MachineHost<M>::perform(Refuse& effect, Context* asker) {
  if (asker) asker->fail(effect.why);
}

template <MachineType M>
void MachineHost<M>::perform(Arm<M>& effect, Context*) {
  std::string key;
  appendFingerprint(key, effect.event);
  disarm(key);
  const auto spread = std::chrono::duration<double, std::milli>(static_cast<double>(effect.spread.count()) *
                                                                environment().randomShare());
  const Duration delay = effect.delay + std::chrono::duration_cast<Duration>(spread);
  auto fire = [this, key, event = effect.event] {
    timers_[key] = 0;
    take(Waiting{event, std::nullopt, key});
  };
  timers_[key] = after(delay, std::move(fire));
}

template <MachineType M>
void MachineHost<M>::perform(Disarm<M>& effect, Context*) {
  std::string key;
  appendFingerprint(key, effect.event);
  disarm(key);
}

template <MachineType M>
void MachineHost<M>::disarm(const std::string& key) {
  const auto known = timers_.find(key);
  if (known == timers_.end()) return;
  if (known->second != 0) cancelTimer(known->second);
  timers_.erase(known);
}

template <MachineType M>
void MachineHost<M>::perform(Do<M>& effect, Context*) {
  if (!options_.perform) throw BrokenMachine(std::string(M::kName) + " has actions, and its host performs none");
  std::string key;
  appendFingerprint(key, effect.action);
  const Doing<Event> doing(std::make_shared<typename Doing<Event>::State>(node(), self()));
  doing_.emplace(std::move(key), doing);
  start(actUntilDone(std::move(effect.action), doing, phaseCount_));
}

template <MachineType M>
void MachineHost<M>::perform(Cancel<M>& effect, Context*) {
  std::string key;
  appendFingerprint(key, effect.action);
  const auto [first, last] = doing_.equal_range(key);
  std::vector<Doing<Event>> cancelled;
  for (auto at = first; at != last; ++at) cancelled.push_back(at->second);
  doing_.erase(first, last);
  for (const auto& doing : cancelled) doing.cancel();
}

/// Not of one that an earlier host of the name began, and not of one that is over or cancelled.
template <MachineType M>
bool MachineHost<M>::isDoing(const LatestValue<Event>& progress) const {
  return std::ranges::any_of(doing_, [&](const auto& entry) { return entry.second.reportsTo(progress); });
}

template <MachineType M>
Task<void> MachineHost<M>::actUntilDone(ActionOf<M> action, Doing<Event> doing, uint64_t phaseCount) {
  for (RetryPause pause; phaseCount == phaseCount_ && !doing.isCancelled();) {
    auto outcome = co_await options_.perform(*this, action, doing);
    if (doing.isCancelled()) co_return;
    if (environment().fires(detail::kOutcomeLost))
      outcome = Status(ErrorCode::kInterrupted, "what came of an action was lost");
    if (outcome.isOK()) {
      // News of its progress may still be on the way, and would be that of an action which is over.
      if (auto last = doing.takeProgress()) take(std::move(*last));
      std::erase_if(doing_, [&](const auto& entry) { return entry.second == doing; });
      if (*outcome) take(std::move(**outcome));
      co_return;
    }
    cell().row()->setError(outcome.status().toString());
    if (!isWorthRetrying(outcome.status())) {
      stop(outcome.status());
      co_return;
    }
    co_await sleepFor(pause.next(environment()));
  }
  std::erase_if(doing_, [&](const auto& entry) { return entry.second == doing; });
}

}  // namespace troupe::machines
