#include "actors/kernel/actor_cell.hpp"

#include <kj/exception.h>
#include <spdlog/spdlog.h>

#include "actors/kernel/ask.hpp"
#include "messaging/schemas/supervision.capnp.h"

namespace troupe {

namespace {

constexpr size_t kRemembered = 16;

const FaultSite kTimerLate("kernel.timer.late", 0.02, "an actor's timer fires up to 200 ms late");

/// Keeps a cell alive in a timer's action.
class CellReference {
 public:
  explicit CellReference(ActorCell* cell) : cell_(cell) { cell_->retain(); }
  CellReference(const CellReference& other) : CellReference(other.cell_) {}
  CellReference& operator=(const CellReference&) = delete;
  ~CellReference() { cell_->release(); }
  ActorCell* operator->() const { return cell_; }

 private:
  ActorCell* cell_;
};

}  // namespace

void ActorCell::Ring::add(const char* name, Address peer, uint32_t atMs) {
  if (entries_.size() < kRemembered) {
    entries_.push_back({name, std::move(peer), atMs});
    return;
  }
  entries_[oldest_] = {name, std::move(peer), atMs};
  oldest_ = (oldest_ + 1) % kRemembered;
}

std::vector<MessageTrace> ActorCell::Ring::list(Environment& environment) const {
  const auto nowMs = ageStamp(environment.coarseNow());
  const auto wall = environment.wallNow();
  std::vector<MessageTrace> out;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const auto& entry = entries_[(oldest_ + i) % entries_.size()];
    out.push_back({entry.name, entry.peer, wall - std::chrono::milliseconds(nowMs - entry.atMs)});
  }
  return out;
}

ActorCell::ActorCell(Node& node, Address self, std::unique_ptr<Actor> actor, const SpawnOptions& options)
    : TaskHost(false), node_(node), self_(std::move(self)), parent_(options.parent), actor_(std::move(actor)) {
  actor_->cell_ = this;
  const char* type = options.type;
  if (!type) {
    const Actor& made = *actor_;
    type = detail::payloadTypeName(typeid(made));
  }
  row_ = node.registry().enter(self_, type, parent_, options.strategy);
}

ActorCell::~ActorCell() = default;

template <class F>
void ActorCell::guarded(F&& body) noexcept {
  try {
    body();
  } catch (const kj::Exception& failure) {
    crash(failure.getDescription().cStr());
  } catch (const std::exception& failure) {
    crash(failure.what());
  } catch (...) {
    crash("an exception of an unknown type");
  }
}

void ActorCell::onStarted() noexcept {
  guarded([this] {
    behaviour_ = actor_->behaviour();
    actor_->onStart();
  });
  if (!readyDeferred_ && !ending_) ready();
}

void ActorCell::ready() {
  if (std::exchange(readyTold_, true) || !parent_) return;
  Envelope envelope;
  envelope.to = parent_;
  envelope.payload = local(ChildReady{self_});
  send(std::move(envelope));
}

void ActorCell::send(Envelope envelope) {
  envelope.from = self_;
  activity().sent.add(envelope.payload.typeName(), envelope.to, ageStamp(environment().coarseNow()));
  node_.postOffice().send(std::move(envelope));
}

Future<Answer> ActorCell::ask(Envelope envelope, Duration timeout) {
  envelope.from = self_;
  activity().sent.add(envelope.payload.typeName(), envelope.to, ageStamp(environment().coarseNow()));
  return sendAsk(node_.postOffice(), environment(), std::move(envelope), timeout, row_);
}

void ActorCell::onEnvelope(Envelope envelope) noexcept {
  row_->oldestAtMs.store(envelope.enqueuedAtMs, std::memory_order_relaxed);
  row_->dequeued.fetch_add(1, std::memory_order_relaxed);
  if (envelope.payload.is<Inspect>()) return inspect(std::move(envelope));  // being looked at leaves no trace
  row_->handled.fetch_add(1, std::memory_order_relaxed);
  row_->lastMessage.store(envelope.payload.typeName(), std::memory_order_relaxed);
  if (envelope.deadline != kNoDeadline && environment().now() >= envelope.deadline) {
    node_.postOffice().countDead(DeadLetter::kExpired);
    envelope.reply.complete(
        Status(ErrorCode::kExceededTimeLimit, "the deadline passed before the message was handled"));
    return;
  }
  activity().received.add(envelope.payload.typeName(), envelope.from, envelope.enqueuedAtMs);
  if (traced_)
    spdlog::info("{} received {} from {}", self_.path(), envelope.payload.summary(), envelope.from.toString());
  Context context(*actor_, std::move(envelope));
  guarded([&] { dispatch(context); });
  if (ending_ && !ending_->isOK()) context.fail(*ending_);
}

void ActorCell::inspect(Envelope envelope) noexcept {
  guarded([&] {
    envelope.reply.complete(local(Inspection{actor_->describe(), activity().received.list(environment()),
                                             activity().sent.list(environment()), actor_->outline()}));
  });
}

void ActorCell::dispatch(Context& context) {
  // Never the behaviour's: an actor that takes every message (a hosted CAF actor, say) is traced as any other.
  const bool isTrace = context.payload().is<schema::SetTrace>();
  const auto* handler = isTrace ? nullptr : behaviour_.find(context.payload().type());
  if (!handler && !isTrace) {
    // Watchers that have no use for the news beyond being awake.
    if (context.payload().is<Down>() || context.payload().is<ChildReady>()) return;
    node_.postOffice().countDead(DeadLetter::kUnknownType);
    context.fail(
        Status(ErrorCode::kCommandNotFound, self_.path() + " does not understand " + context.payload().typeName()));
    return;
  }
  // A payload whose reading fails is the sender's fault, not a crash of the actor. Only words from outside can be
  // damaged, and those carry no type name of ours.
  try {
    if (isTrace) setTrace(context);
    else (*handler)(context);
  } catch (const kj::Exception& damage) {
    node_.postOffice().countDead(DeadLetter::kMalformed);
    context.fail(
        Status(ErrorCode::kProtocolError, std::string("a malformed message: ") + damage.getDescription().cStr()));
  }
}

void ActorCell::setTrace(Context& context) {
  traced_ = context.payload().read<schema::SetTrace>()->getEnabled();
  context.reply<schema::TraceSet>([this](schema::TraceSet::Builder out) { out.setEnabled(traced_); });
}

TimerId ActorCell::startTimer(Duration delay, Duration period, std::function<void()> action) {
  const TimerId id = ++activity().lastTimer;
  if (environment().fires(kTimerLate)) delay += std::chrono::milliseconds(environment().random() % 200);
  auto& timer = activity().timers[id];
  timer = {std::move(action), period, environment().now() + delay, 0};
  arm(id, timer);
  return id;
}

void ActorCell::arm(TimerId id, Timer& timer) {
  timer.armed = environment().schedule(timer.due, [cell = CellReference(this), id] { cell->fireTimer(id); });
}

void ActorCell::cancelTimer(TimerId id) {
  auto& timers = activity().timers;
  const auto found = timers.find(id);
  if (found == timers.end()) return;
  environment().cancel(found->second.armed);
  timers.erase(found);
}

void ActorCell::onTimer(TimerId id) noexcept {
  auto& timers = activity().timers;
  const auto found = timers.find(id);
  if (found == timers.end()) return;  // cancelled after it became due
  auto action = found->second.action;
  if (found->second.period > Duration::zero()) {
    auto& timer = found->second;
    const auto now = environment().now();
    timer.due += timer.period;
    if (timer.due <= now) timer.due += (now - timer.due) / timer.period * timer.period + timer.period;
    arm(id, timer);
  } else {
    timers.erase(found);
  }
  guarded(action);
}

void ActorCell::onEnd(bool inOrder, const Status& reason) noexcept {
  if (inOrder) guarded([this] { actor_->onStopRequested(); });
  else stop(reason);
}

void ActorCell::taskFailed(std::exception_ptr failure) noexcept {
  guarded([&] { std::rethrow_exception(failure); });
}

Status ActorCell::ended() noexcept {
  const Status reason = ending_.value_or(Status(ErrorCode::kInterruptedAtShutdown, "the node is shutting down"));
  if (std::exchange(over_, true)) return reason;
  destroyTasks();
  if (activity_)
    for (const auto& [id, timer] : activity_->timers) environment().cancel(timer.armed);
  activity_.reset();
  try {
    actor_->onStop(reason);
  } catch (const std::exception& failure) {
    spdlog::error("{} failed while stopping: {}", self_.path(), failure.what());
  }
  behaviour_ = Behaviour();
  actor_.reset();
  const bool failed = !reason.isOK() && !(reason == ErrorCode::kInterruptedAtShutdown);
  // The name is free, and the row left, before the watchers hear of it: they may start the next incarnation at once.
  node_.registry().leave(row_, failed ? reason.toString() : "");
  node_.postOffice().remove(self_, this, reason);
  return reason;
}

}  // namespace troupe
