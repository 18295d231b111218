#include "actors/kernel/node.hpp"

#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <caf/actor.hpp>
#include <caf/actor_registry.hpp>

#include "actors/kernel/ask.hpp"
#include "actors/kernel/node_impl.hpp"

namespace troupe {

Node::Impl::Impl(NodeOptions given)
    : options(std::move(given)),
      environment(options.environment ? options.environment : makeRealEnvironment()),
      virtualTime(dynamic_cast<VirtualEnvironment*>(environment.get())),
      registry(options.name, *environment),
      office(options.name, *environment) {
  if (options.manual) {
    auto made = std::make_unique<ManualPool>();
    manual = made.get();
    pool = std::move(made);
  } else {
    const unsigned threads = options.threads ? options.threads : std::max(1U, std::thread::hardware_concurrency());
    auto made = std::make_unique<AsioPool>(threads, options.messagesPerTurn);
    asio = made.get();
    pool = std::move(made);
  }
  config.emplace(*pool, *environment);
  system.emplace(*config);
}

void Node::Impl::addCell(ActorCell* cell) {
  std::lock_guard lock(cellsMutex);
  cell->nextCell = firstCell;
  if (firstCell) firstCell->previousCell = cell;
  firstCell = cell;
  ++cellCount;
}

void Node::Impl::removeCell(ActorCell* cell) {
  std::lock_guard lock(cellsMutex);
  if (cell->previousCell) cell->previousCell->nextCell = cell->nextCell;
  else firstCell = cell->nextCell;
  if (cell->nextCell) cell->nextCell->previousCell = cell->previousCell;
  --cellCount;
  cellGone.notify_all();
}

void Node::Impl::killAll() {
  const Status reason(ErrorCode::kInterruptedAtShutdown, "the node is shutting down");
  std::vector<ActorCell*> cells;
  {
    std::lock_guard lock(cellsMutex);
    for (auto* cell = firstCell; cell; cell = cell->nextCell) {
      cell->retain();
      cells.push_back(cell);
    }
  }
  for (auto* cell : cells) {
    cell->requestEnd(false, reason);
    cell->release();
  }
}

Node::Node(NodeOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Node::~Node() { shutdown(); }

const std::string& Node::name() const { return impl_->office.node(); }
Environment& Node::environment() const { return *impl_->environment; }
Registry& Node::registry() const { return impl_->registry; }
TransitionLog& Node::transitions() const { return impl_->transitions; }
PostOffice& Node::postOffice() const { return impl_->office; }
boost::asio::io_context& Node::io() const { return impl_->asio ? impl_->asio->io() : impl_->manual->io(); }
bool Node::isManual() const { return impl_->manual != nullptr; }

Address Node::spawn(std::string_view path, std::unique_ptr<Actor> actor, SpawnOptions options) {
  Address self = address(path);
  if (path.empty() || path.front() != '/') throw std::invalid_argument("a path begins with /: " + std::string(path));
  if (impl_->office.exists(self)) throw std::invalid_argument("the path is taken: " + std::string(path));
  launchCell(*this, *impl_, self, std::move(actor), options);
  return self;
}

void Node::tell(const Address& to, Payload payload, Priority priority) {
  Envelope envelope;
  envelope.to = to;
  envelope.payload = std::move(payload);
  envelope.priority = priority;
  impl_->office.send(std::move(envelope));
}

Future<Answer> Node::ask(const Address& to, Payload payload, Duration timeout, Priority priority) {
  Envelope envelope;
  envelope.to = to;
  envelope.payload = std::move(payload);
  envelope.priority = priority;
  return sendAsk(impl_->office, *impl_->environment, std::move(envelope), timeout, nullptr);
}

void Node::requestStop(const Address& who) { impl_->office.requestEnd(who, true, Status::OK()); }
void Node::kill(const Address& who, Status reason) { impl_->office.requestEnd(who, false, std::move(reason)); }

Task<std::optional<ActorDetails>> Node::inspect(std::string path, Duration timeout) {
  auto row = registry().row(path);
  if (!row) co_return std::nullopt;
  ActorDetails details;
  details.row = std::move(*row);
  if (auto state = registry().describe(path)) {
    details.state = std::move(*state);
    co_return details;
  }
  Answer answer = co_await ask(address(path), local(Inspect{}), timeout, Priority::kHigh);
  if (answer.isOK() && answer->is<Inspection>()) {
    const auto& inspection = answer->local<Inspection>();
    details.state = inspection.state;
    details.received = inspection.received;
    details.sent = inspection.sent;
    details.machine = inspection.machine;
  }
  co_return details;
}

TaskHost& Node::pool() const { return *impl_->pool; }
void Node::start(Task<void> task) { impl_->pool->start(std::move(task)); }
void Node::runAsTurn(const std::function<void()>& action) { AsioPool::runAsTurn(action); }

void Node::post(std::function<void()> action) { impl_->pool->submit({nullptr, {}, std::move(action)}); }
Future<Done> Node::nextTurn() {
  auto promise = std::make_shared<Promise<Done>>();
  auto turn = promise->future();
  post([promise] { promise->set(Done{}); });
  return turn;
}
Future<Done> Node::sleepFor(Duration duration) { return sleepUntil(environment(), environment().now() + duration); }

caf::actor Node::handleOf(const Address& who) const {
  caf::actor handle;
  impl_->office.visit(who, [&handle](Mailbox& mailbox) { handle = handleOfCell(mailbox); });
  return handle;
}

caf::actor_system& Node::cafSystem() const { return *impl_->system; }

size_t Node::actorCount() const {
  std::lock_guard lock(impl_->cellsMutex);
  return impl_->cellCount;
}

namespace {

/// Where the thread that waits and the task that ends meet.
struct Waiting {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;
  std::exception_ptr failure;
};

Task<void> tellWhenDone(Task<void> task, std::shared_ptr<Waiting> waiting) {
  std::exception_ptr failure;
  try {
    co_await std::move(task);
  } catch (...) {
    failure = std::current_exception();
  }
  std::lock_guard lock(waiting->mutex);
  waiting->done = true;
  waiting->failure = failure;
  waiting->ended.notify_all();
}

}  // namespace

void Node::waitFor(Task<void> task) {
  auto waiting = std::make_shared<Waiting>();
  start(tellWhenDone(std::move(task), waiting));
  if (isManual()) {
    run();
    while (!waiting->done) {
      const auto next = impl_->virtualTime ? impl_->virtualTime->nextTimer() : std::nullopt;
      if (!next) throw std::logic_error("the task waits for something that will not happen");
      impl_->virtualTime->advanceTo(*next);
      run();
    }
  } else {
    std::unique_lock lock(waiting->mutex);
    waiting->ended.wait(lock, [&] { return waiting->done; });
  }
  if (waiting->failure) std::rethrow_exception(waiting->failure);
}

size_t Node::run(size_t limit) {
  size_t turns = 0;
  while (impl_->manual->step(0))
    if (++turns > limit) throw std::runtime_error("the node does not settle");
  return turns;
}

size_t Node::readyCount() const { return impl_->manual->readyCount(); }
bool Node::step(size_t index) { return impl_->manual->step(index); }

size_t Node::advance(Duration by) {
  auto& time = *impl_->virtualTime;
  const TimePoint end = time.now() + by;
  size_t turns = run();
  for (auto next = time.nextTimer(); next && *next <= end; next = time.nextTimer()) {
    time.advanceTo(*next);
    turns += run();
  }
  time.advanceTo(end);
  return turns + run();
}

void Node::shutdown() {
  if (std::exchange(impl_->over, true)) return;
  // Supervisors may still start children: repeat until nobody is left.
  while (actorCount() > 0) {
    impl_->killAll();
    if (isManual()) {
      run();
      continue;
    }
    std::unique_lock lock(impl_->cellsMutex);
    impl_->cellGone.wait_for(lock, std::chrono::milliseconds(20), [&] { return impl_->cellCount == 0; });
  }
  // All hosted CAF actors have been told to end; CAF's system waits for them, so the pool has to run them before.
  if (isManual()) run();
  else impl_->system->registry().await_running_count_equal(0);
  impl_->pool->stopThreads();
  impl_->pool->destroyTasks();
  impl_->system.reset();
  impl_->pool->destroyTasks();
  impl_->pool->awaitHolders();
}

}  // namespace troupe
