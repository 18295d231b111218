#include "actors/kernel/actor.hpp"

#include "actors/kernel/actor_cell.hpp"
#include "actors/kernel/ask.hpp"

namespace troupe {

const Address& Actor::self() const { return cell_->self(); }
Node& Actor::node() const { return cell_->node(); }
Environment& Actor::environment() const { return cell_->environment(); }

namespace {
Envelope envelope(const Address& to, Payload payload, Priority priority) {
  Envelope e;
  e.to = to;
  e.payload = std::move(payload);
  e.priority = priority;
  return e;
}
}  // namespace

void Actor::tell(const Address& to, Payload payload, Priority priority) {
  cell_->send(envelope(to, std::move(payload), priority));
}

Future<Answer> Actor::ask(const Address& to, Payload payload, Duration timeout, Priority priority) {
  return cell_->ask(envelope(to, std::move(payload), priority), timeout);
}

Status Actor::unexpectedAnswer(const Address& from, const Payload& answer) {
  return Status(ErrorCode::kProtocolError, from.toString() + " answered with an unexpected " + answer.typeName());
}

Address Actor::spawnChild(std::string_view path, std::unique_ptr<Actor> actor, SpawnOptions options) {
  options.parent = self();
  options.watched = true;
  return node().spawn(path, std::move(actor), options);
}

void Actor::watch(const Address& who) { node().postOffice().watch(self(), who); }
void Actor::unwatch(const Address& who) { node().postOffice().unwatch(self(), who); }

TimerId Actor::after(Duration delay, std::function<void()> action) {
  return cell_->startTimer(delay, Duration::zero(), std::move(action));
}
TimerId Actor::every(Duration period, std::function<void()> action) {
  return cell_->startTimer(period, period, std::move(action));
}
void Actor::cancelTimer(TimerId timer) { cell_->cancelTimer(timer); }
Future<Done> Actor::sleepFor(Duration duration) { return sleepUntil(environment(), environment().now() + duration); }

void Actor::start(Task<void> task) { cell_->start(std::move(task)); }
void Actor::stop(Status reason) { cell_->stop(std::move(reason)); }
void Actor::deferReady() { cell_->deferReady(); }
void Actor::ready() { cell_->ready(); }

void Actor::setPhase(const char* phase, const char* meaning) {
  node().registry().setPhase(*cell_->row(), phase, meaning);
}
void Actor::setDocument(std::string id, int64_t revision) { cell_->row()->setDocument(std::move(id), revision); }

void detail::startOnActor(Actor& actor, Task<void> task) { actor.cell().start(std::move(task)); }

void Context::forward(const Address& to) {
  Envelope onward = std::move(envelope_);
  envelope_ = Envelope();
  onward.to = to;
  actor_->node().postOffice().send(std::move(onward));
}

}  // namespace troupe
