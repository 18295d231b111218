#include "actors/machines/service_base.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "actors/kernel/actor_cell.hpp"
#include "actors/machines/instance_name.hpp"
#include "actors/machines/retry_pause.hpp"

namespace troupe::machines {

namespace {

const FaultSite kServiceCrashes("machines.service.crash", 0.002,
                                "a primary-only service fails while it takes a request");

Status notPrimary() { return {ErrorCode::kNotWritablePrimary, "not primary: this service runs on the primary only"}; }
const Status& stepDown() {
  static const Status status(ErrorCode::kInterruptedDueToReplStateChange,
                             "interrupted: this node is no longer primary");
  return status;
}

}  // namespace

Behaviour PrimaryOnlyServiceBase::behaviour() {
  return {on<Down>([this](const Down& down) { ended(down); }),
          on<ChildReady>([](const ChildReady&) {}),
          on<BecomePrimary>([this](const BecomePrimary& wanted, Context& context) {
            // The step-down between two terms went unheard: instances of the earlier one end first.
            if (runsInstances() && term_ != 0 && wanted.term != 0 && wanted.term != term_) interrupt();
            awaitingRebuild_.push_back(std::move(context));
            become(wanted.term);
          }),
          on<StepDown>([this](const StepDown&, Context& context) {
            if (state_ == State::kStandingBy) return context.reply(local(ServiceInterrupted{}));
            awaitingInterrupt_.push_back(std::move(context));
            interrupt();
          }),
          on<DocumentRemoved>([this](const DocumentRemoved& document) { removed(document); }),
          on<schema::ControlChild>(
              [this](schema::ControlChild::Reader wanted, Context& context) { control(wanted, context); })};
}

void PrimaryOnlyServiceBase::onStart() {
  store_->reportRemovals(self());
  enter(State::kStandingBy);
  endOrphans();
  if (const auto term = limits_.term ? limits_.term() : 0) become(*term);
}

void PrimaryOnlyServiceBase::onStopRequested() {
  stopping_ = true;
  interrupt();
}

/// Its instances go with it, also when it has failed.
void PrimaryOnlyServiceBase::onStop(const Status&) {
  for (const auto& [name, instance] : instances_) {
    if (instance.running) node().kill(self().child(name), Status(ErrorCode::kInterrupted, "its service has ended"));
    if (instance.row) node().registry().unkeep(self().child(name).path());
  }
}

/// Hosts that the service's last life has left behind end first, as if this one had become primary before: there are
/// never two hosts of one document.
void PrimaryOnlyServiceBase::endOrphans() {
  RowFilter below;
  below.under = self().path();
  for (const ActorRow& row : node().registry().rows(below)) {
    const Address child = node().address(row.path);
    if (row.path == self().path() || !node().postOffice().exists(child)) continue;
    instances_[row.path.substr(self().path().size() + 1)].running = true;
    ++running_;
    watch(child);
    node().kill(child, Status(ErrorCode::kInterrupted, "its service was started again"));
  }
  if (!instances_.empty()) enter(State::kInterrupting);
}

bson::Document PrimaryOnlyServiceBase::describe() const {
  return bson::doc("machine", machineName(), "term", term_, "instances", static_cast<int64_t>(instances_.size()),
                   "parked", static_cast<int64_t>(parkedCount()), "held", static_cast<int64_t>(held_.size()));
}

void PrimaryOnlyServiceBase::enter(State state) {
  state_ = state;
  switch (state) {
    case State::kStandingBy: return setPhase("standing by", "not primary: the instances run elsewhere");
    case State::kRebuilding: return setPhase("rebuilding", "starting an instance for each document");
    case State::kServing: return setPhase("serving", "every document has its instance");
    case State::kInterrupting: return setPhase("interrupting", "no longer primary: ending the instances");
  }
}

void PrimaryOnlyServiceBase::become(int64_t term) {
  term_ = term;
  wantsPrimary_ = true;
  if (state_ == State::kInterrupting) return;  // begins when the last instance of the older term has ended
  if (term_ > 0) store_->serveIn(term_);
  if (state_ == State::kServing) {
    for (Context& context : awaitingRebuild_) context.reply(local(ServiceRebuilt{instances_.size(), parkedCount()}));
    awaitingRebuild_.clear();
    return;
  }
  if (state_ == State::kRebuilding) return;
  enter(State::kRebuilding);
  start(rebuild(++epoch_));
}

/// A batch a turn, so that the service answers in between, however many there are.
Task<void> PrimaryOnlyServiceBase::rebuild(uint64_t epoch) {
  RetryPause pause;
  for (int64_t from = 0;;) {
    auto batch = co_await store_->load(from, limits_.batch);
    if (epoch != epoch_) co_return;
    if (!batch.isOK()) {
      cell().row()->setError(batch.status().toString());
      co_await sleepFor(pause.next(environment()));
      if (epoch != epoch_) co_return;
      continue;
    }
    for (const bson::Document& document : batch->documents) {
      const std::string name = instanceNameOf(document);
      Instance& instance = instances_[name];
      instance.key = keyOfDocument(document, machineName());
      if (const Status status = run(name, document, false); !status.isOK()) park(name, instance, status);
    }
    if (batch->last) break;
    from = batch->next;
    co_await node().nextTurn();
    if (epoch != epoch_) co_return;
  }
  enter(State::kServing);
  for (Context& context : awaitingRebuild_) context.reply(local(ServiceRebuilt{instances_.size(), parkedCount()}));
  awaitingRebuild_.clear();
  for (auto& [context, then] : std::exchange(held_, {})) then(std::move(context));
}

void PrimaryOnlyServiceBase::interrupt() {
  wantsPrimary_ = false;
  ++epoch_;
  enter(State::kInterrupting);
  for (Context& context : awaitingRebuild_) context.fail(stepDown());
  awaitingRebuild_.clear();
  for (auto& [context, then] : std::exchange(held_, {})) refuse(context);
  start(endHosts(epoch_));
}

/// A batch a turn, as in a rebuild.
Task<void> PrimaryOnlyServiceBase::endHosts(uint64_t epoch) {
  std::string from;
  for (;;) {
    auto next = instances_.lower_bound(from);
    for (size_t left = limits_.batch; next != instances_.end() && left > 0; ++next, --left)
      if (next->second.running) node().kill(self().child(next->first), stepDown());
    if (next == instances_.end()) break;
    from = next->first;
    co_await node().nextTurn();
    if (epoch != epoch_ || state_ != State::kInterrupting) co_return;
  }
  interrupted();
}

/// Goes on once the last instance has ended.
void PrimaryOnlyServiceBase::interrupted() {
  if (running_ > 0) return;
  while (!instances_.empty()) erase(instances_.begin()->first);
  for (Context& context : awaitingInterrupt_) context.reply(local(ServiceInterrupted{}));
  awaitingInterrupt_.clear();
  enter(State::kStandingBy);
  if (stopping_) stop();
  else if (wantsPrimary_) become(term_);
}

void PrimaryOnlyServiceBase::whenServing(Context context, std::function<void(Context)> then) {
  if (environment().fires(kServiceCrashes)) throw std::runtime_error("fails on purpose");
  if (state_ == State::kServing) return then(std::move(context));
  if (state_ == State::kRebuilding && held_.size() < limits_.maxHeld) {
    held_.emplace_back(std::move(context), std::move(then));
    return;
  }
  refuse(context);
}

void PrimaryOnlyServiceBase::refuse(Context& context) const { context.fail(notPrimary()); }

Address PrimaryOnlyServiceBase::hostOf(const std::string& name) const {
  const auto found = instances_.find(name);
  return found != instances_.end() && found->second.running ? self().child(name) : Address();
}

StatusWith<Address> PrimaryOnlyServiceBase::begin(const std::string& name, bson::Document document) {
  Instance& instance = instances_[name];
  instance.key = keyOfDocument(document, machineName());
  if (Status status = run(name, document, true); !status.isOK()) {
    instances_.erase(name);
    return status;
  }
  return self().child(name);
}

Status PrimaryOnlyServiceBase::run(const std::string& name, bson::View document, bool isNew) {
  TROUPE_ASSIGN(auto host, makeHost(name, document, isNew));
  Instance& instance = instances_[name];
  const Address address = self().child(name);
  spawnChild(address.path(), std::move(host), SpawnOptions{.type = machineName()});
  instance.running = true;
  instance.removed = false;
  ++running_;
  instance.parked.clear();
  if (std::exchange(instance.row, nullptr)) node().registry().unkeep(address.path());
  return Status::OK();
}

void PrimaryOnlyServiceBase::ended(const Down& down) {
  // A name is free before its bearer's end is told: who bears it by now is a later host, and this news of the last one
  // was meant for an earlier life of the service.
  if (node().postOffice().exists(down.who)) return watch(down.who);
  const std::string name = down.who.path().substr(self().path().size() + 1);
  const auto found = instances_.find(name);
  if (found == instances_.end() || !found->second.running) return;
  Instance& instance = found->second;
  instance.running = false;
  --running_;
  if (state_ == State::kInterrupting) {
    erase(name);
    return interrupted();
  }
  if (std::exchange(instance.restarting, false)) {
    if (instance.parked.empty()) start(revive(name, epoch_));
    else park(name, instance, Status(ErrorCode::kInterrupted, instance.parked));
  } else if (down.reason.isOK()) {
    erase(name);
  } else if (std::exchange(instance.removed, false)) {
    start(revive(name, epoch_));
  } else {
    failed(name, instance, down.reason);
  }
}

/// An instance that ends since the node may not write just now, as while a step-down is given back, is not at fault.
void PrimaryOnlyServiceBase::failed(const std::string& name, Instance& instance, const Status& reason) {
  const TimePoint now = environment().now();
  const bool isOfRole =
      reason == ErrorCode::kNotWritablePrimary || reason == ErrorCode::kInterruptedDueToReplStateChange;
  if (!isOfRole) instance.failures.push_back(now);
  while (!instance.failures.empty() && instance.failures.front() + limits_.failureWindow < now)
    instance.failures.pop_front();
  const auto count = std::max(1, static_cast<int>(instance.failures.size()));
  if (count > limits_.maxFailures) return park(name, instance, reason.withContext("failed too often"));
  instance.row = keepRow(name);
  instance.row->setRestarts(count, limits_.maxFailures);
  instance.row->setError(reason.toString());
  node().registry().setPhase(*instance.row, "pausing", "failed, and will be built again from its document");
  auto again = [this, name, epoch = epoch_] {
    if (epoch == epoch_) start(revive(name, epoch));
  };
  instance.revival = after(limits_.firstPause * (1 << std::min(count - 1, 10)), std::move(again));
}

/// Builds an instance again from what its document is now.
Task<void> PrimaryOnlyServiceBase::revive(std::string name, uint64_t epoch) {
  const auto key = instances_.find(name);
  if (key == instances_.end() || !runsInstances()) co_return;
  bson::Document wanted = key->second.key;
  auto document = co_await store_->find(std::move(wanted));
  const auto found = instances_.find(name);
  if (epoch != epoch_ || found == instances_.end() || found->second.running) co_return;
  if (!document.isOK()) {
    failed(name, found->second, document.status());
  } else if (!*document) {
    erase(name);
  } else if (const Status status = run(name, **document, false); !status.isOK()) {
    park(name, found->second, status);
  }
}

std::shared_ptr<LiveRow> PrimaryOnlyServiceBase::keepRow(const std::string& name) {
  return node().registry().keep({self().child(name).path(), machineName(), self().path(), ""});
}

void PrimaryOnlyServiceBase::park(const std::string& name, Instance& instance, const Status& reason) {
  instance.parked = reason.toString();
  instance.row = keepRow(name);
  instance.row->setError(instance.parked);
  node().registry().setPhase(*instance.row, "parked", "set aside until it is resumed: see the last error");
}

void PrimaryOnlyServiceBase::erase(const std::string& name) {
  const auto found = instances_.find(name);
  if (found == instances_.end()) return;
  if (found->second.revival != 0) cancelTimer(found->second.revival);
  if (found->second.row) node().registry().unkeep(self().child(name).path());
  forget(name);
  instances_.erase(found);  // last: `name` may be its key
}

void PrimaryOnlyServiceBase::removed(const DocumentRemoved& removed) {
  if (!removed.key.empty()) return this->removed(instanceNameOf(removed.key));
  std::vector<std::string> names;
  for (const auto& [name, instance] : instances_) names.push_back(name);
  for (const std::string& name : names) this->removed(name);
}

/// The host knows whether it removed the document itself, or has not written it yet. When it has ended, the document is
/// looked for: it may be a new one.
void PrimaryOnlyServiceBase::removed(const std::string& name) {
  const auto found = instances_.find(name);
  if (found == instances_.end()) return;
  if (!found->second.running) return erase(name);
  found->second.removed = true;
  tell(self().child(name), local(DocumentRemoved{found->second.key}));
}

void PrimaryOnlyServiceBase::control(schema::ControlChild::Reader wanted, Context& context) {
  const std::string name = wanted.getChild();
  const auto found = instances_.find(name);
  if (found == instances_.end()) return context.fail({ErrorCode::kNoSuchKey, "no instance '" + name + "'"});
  if (!runsInstances()) return refuse(context);  // a host that starts during a step-down would be ended by nobody
  Instance& instance = found->second;
  const auto refused = [&](const char* why) { context.fail({ErrorCode::kIllegalOperation, why}); };
  const char* state = "starting";
  switch (wanted.getAction()) {
    case schema::ControlChild::Action::STOP:
      return refused("an instance ends with its document: remove that, or park the instance");
    case schema::ControlChild::Action::RESUME:
      if (instance.running) return refused("it is running");
      instance.failures.clear();
      start(revive(name, epoch_));
      break;
    case schema::ControlChild::Action::RESTART:
      if (!instance.running) return refused("it is not running: resume it");
      instance.restarting = true;
      node().kill(self().child(name), Status(ErrorCode::kInterrupted, "restarted by an operator"));
      break;
    case schema::ControlChild::Action::PARK:
      if (!instance.running) return refused("it is not running");
      instance.restarting = true;
      instance.parked = "by an operator: " + std::string(wanted.getReason().cStr());
      node().kill(self().child(name), Status(ErrorCode::kInterrupted, "parked by an operator"));
      state = "stopping";
      break;
  }
  context.reply<schema::ChildControlled>([&](auto answer) {
    answer.setChild(name);
    answer.setState(state);
  });
}

size_t PrimaryOnlyServiceBase::parkedCount() const {
  return static_cast<size_t>(std::count_if(instances_.begin(), instances_.end(),
                                           [](const auto& entry) { return !entry.second.parked.empty(); }));
}

}  // namespace troupe::machines
