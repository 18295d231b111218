#include "supervisors/supervision/supervisor.hpp"

namespace troupe::supervisors {

namespace {

constexpr auto kAskTimeout = std::chrono::seconds(5);

std::vector<ChildRules> rulesOf(const Tree& tree) {
  std::vector<ChildRules> rules;
  for (const auto& child : tree.children) rules.push_back(child.rules);
  return rules;
}

}  // namespace

Supervisor::Supervisor(Tree tree)
    : tree_(std::move(tree)), policy_(tree_.strategy, tree_.intensity, tree_.backoff, rulesOf(tree_)) {}

Behaviour Supervisor::behaviour() {
  return {on<ChildReady>([this](const ChildReady& news) {
            const auto child = find(news.child);
            if (child && !shells_[*child].awaitsName) perform(policy_.childReady(*child));
          }),
          on<Down>([this](const Down& down) { heard(down); }), on<AddChild>(this, &Supervisor::addChild),
          on<schema::ControlChild>(this, &Supervisor::control)};
}

void Supervisor::onStart() {
  deferReady();
  for (size_t i = 0; i < tree_.children.size(); ++i) enter(i);
  perform(policy_.start());
}

void Supervisor::enter(size_t child) {
  Shell shell;
  shell.address = self().child(policy_.rules(child).name);
  shell.row = node().registry().keep({shell.address.path(), "", self().path(), ""});
  shells_.push_back(std::move(shell));
  show(child);
}

void Supervisor::onStop(const Status&) {
  // Not stopped in order: the children must not outlive their supervisor.
  const Status reason(ErrorCode::kInterruptedAtShutdown, "its supervisor " + self().path() + " has ended");
  for (auto& shell : shells_) {
    node().kill(shell.address, reason);
    shell.row.reset();
    node().registry().unkeep(shell.address.path());
  }
}

void Supervisor::onStopRequested() { perform(policy_.shutdown()); }

std::optional<size_t> Supervisor::find(const Address& child) const {
  for (size_t i = 0; i < shells_.size(); ++i)
    if (shells_[i].address == child) return i;
  return std::nullopt;
}

// Carrying out one action may lead to further ones (a child that cannot be built has failed): they queue up.
void Supervisor::perform(SupervisionPolicy::Actions actions) {
  pending_.insert(pending_.end(), actions.begin(), actions.end());
  if (performing_) return;
  performing_ = true;
  while (!pending_.empty()) {
    const auto action = std::move(pending_.front());
    pending_.pop_front();
    std::visit([this](const auto& a) { carryOut(a); }, action);
  }
  performing_ = false;
  for (size_t i = 0; i < shells_.size(); ++i) show(i);
}

void Supervisor::carryOut(const SupervisionPolicy::StartChild& start) {
  const auto& spec = tree_.children[start.child];
  auto& shell = shells_[start.child];
  const Address address = shell.address;
  shell.awaitsName = node().postOffice().exists(address);
  if (shell.awaitsName) return watch(address);
  SpawnOptions options;
  options.detached = spec.detached;
  try {
    if (spec.tree) {
      options.strategy = strategyName(spec.tree->strategy);
      spawnChild(address.path(), std::make_unique<Supervisor>(*spec.tree), options);
    } else {
      spawnChild(address.path(), spec.make(), options);
    }
  } catch (const std::exception& failure) {
    childEnded({address, Status(ErrorCode::kInternalError, std::string("it could not be built: ") + failure.what())});
  }
}

void Supervisor::carryOut(const SupervisionPolicy::RequestStop& stop) {
  node().requestStop(shells_[stop.child].address);
}

void Supervisor::carryOut(const SupervisionPolicy::KillAfterGrace& kill) {
  auto& shell = shells_[kill.child];
  shell.grace = after(policy_.rules(kill.child).grace, [this, kill] { perform(policy_.graceOver(kill.child)); });
}

void Supervisor::carryOut(const SupervisionPolicy::Kill& kill) {
  node().kill(shells_[kill.child].address, Status(ErrorCode::kInterrupted, "it did not stop within its grace"));
}

void Supervisor::carryOut(const SupervisionPolicy::RetryAfter& retry) {
  auto& shell = shells_[retry.child];
  shell.retry = after(retry.pause, [this, child = retry.child] { perform(policy_.retryDue(child)); });
}

void Supervisor::heard(const Down& down) {
  const auto child = find(down.who);
  if (!child) return;
  // A name is free before its bearer's end is told: who bears it by now is a later one, and this news of the last one
  // was meant for an earlier life of this supervisor.
  if (node().postOffice().exists(down.who)) return watch(down.who);
  const bool awaitedName = std::exchange(shells_[*child].awaitsName, false);
  if (awaitedName && policy_.state(*child) == ChildState::kStarting)
    return perform({SupervisionPolicy::StartChild{*child}});
  childEnded(down);
}

void Supervisor::childEnded(const Down& down) {
  const auto child = find(down.who);
  if (!child) return;
  auto& shell = shells_[*child];
  cancelTimer(std::exchange(shell.grace, 0));
  if (!down.reason.isOK()) shell.row->setError(down.reason.toString());
  perform(policy_.childEnded(*child, down.reason, environment().now(), environment().randomShare()));
}

void Supervisor::show(size_t child) {
  auto& shell = shells_[child];
  if (!shell.row) return;
  shell.row->setRestarts(policy_.failures(child), tree_.intensity.limit);
  const auto state = policy_.state(child);
  if (state == ChildState::kRunning || state == ChildState::kStarting) return;  // it shows its own phase
  const auto row = node().registry().row(shell.address.path());
  if (row && row->phase != childStateName(state))
    node().registry().setPhase(*shell.row, childStateName(state), childStateMeaning(state));
}

void Supervisor::answer(Context& context, size_t child) const {
  context.reply<schema::ChildControlled>([&](schema::ChildControlled::Builder out) {
    out.setChild(policy_.rules(child).name);
    out.setState(childStateName(policy_.state(child)));
  });
}

void Supervisor::addChild(const AddChild& wanted, Context& context) {
  if (find(self().child(wanted.spec.rules.name)))
    return context.fail(Status(ErrorCode::kIllegalOperation, "the name is taken: " + wanted.spec.rules.name));
  tree_.children.push_back(wanted.spec);
  auto actions = policy_.add(wanted.spec.rules);
  enter(tree_.children.size() - 1);
  perform(std::move(actions));
  answer(context, tree_.children.size() - 1);
}

void Supervisor::control(schema::ControlChild::Reader wanted, Context& context) {
  const auto child = find(self().child(std::string_view(wanted.getChild().cStr(), wanted.getChild().size())));
  if (!child)
    return context.fail(Status(ErrorCode::kNoSuchKey, self().path() + " has no child " + wanted.getChild().cStr()));
  const auto decide = [&]() -> StatusWith<SupervisionPolicy::Actions> {
    switch (wanted.getAction()) {
      case schema::ControlChild::Action::RESTART: return policy_.restart(*child);
      case schema::ControlChild::Action::PARK: return policy_.park(*child, wanted.getReason().cStr());
      case schema::ControlChild::Action::RESUME: return policy_.resume(*child);
      case schema::ControlChild::Action::STOP: return policy_.stop(*child);
    }
    return Status(ErrorCode::kBadValue, "an unknown action");
  };
  auto actions = decide();
  if (!actions.isOK()) return context.fail(actions.status());
  perform(std::move(*actions));
  answer(context, *child);
}

bson::Document Supervisor::describe() const {
  bson::Builder b;
  b.append("strategy", strategyName(tree_.strategy));
  b.append("restartLimit", tree_.intensity.limit);
  b.append("windowSeconds", std::chrono::duration<double>(tree_.intensity.window).count());
  b.openArray("children");
  for (size_t i = 0; i < policy_.size(); ++i) {
    const auto& rules = policy_.rules(i);
    b.pushDocument();
    b.append("name", rules.name).append("state", childStateName(policy_.state(i)));
    b.append("restart", rules.restart == Restart::kPermanent   ? "permanent"
                        : rules.restart == Restart::kTransient ? "transient"
                                                               : "temporary");
    b.append("whenExhausted", rules.exhausted == OnExhausted::kPark ? "park" : "escalate");
    b.append("graceSeconds", std::chrono::duration<double>(rules.grace).count());
    b.append("level", rules.level).append("failures", policy_.failures(i)).append("reason", policy_.reason(i));
    b.close();
  }
  b.close();
  return b.finish();
}

Address startTree(Node& node, Tree tree) {
  SpawnOptions options;
  options.strategy = strategyName(tree.strategy);
  const std::string path = "/" + tree.name;
  return node.spawn(path, std::make_unique<Supervisor>(std::move(tree)), options);
}

Task<bool> stopTree(Node& node, Address root, Duration patience) {
  constexpr auto kLook = std::chrono::milliseconds(5);
  node.requestStop(root);
  const auto end = node.environment().now() + patience;
  while (node.postOffice().exists(root)) {
    if (node.environment().now() >= end) co_return false;
    co_await node.sleepFor(kLook);
  }
  co_return true;
}

namespace {

Payload controlMessage(const std::string& child, ControlAction action, const std::string& reason) {
  using Action = schema::ControlChild::Action;
  return build<schema::ControlChild>([&](schema::ControlChild::Builder out) {
    out.setChild(child);
    out.setReason(reason);
    out.setAction(action == ControlAction::kRestart  ? Action::RESTART
                  : action == ControlAction::kPark   ? Action::PARK
                  : action == ControlAction::kResume ? Action::RESUME
                                                     : Action::STOP);
  });
}

}  // namespace

Task<Status> controlActor(Node& node, std::string path, ControlAction action, std::string reason) {
  const auto row = node.registry().row(path);
  if (!row) co_return Status(ErrorCode::kNoSuchKey, "there is no actor " + path);
  if (action == ControlAction::kTrace || action == ControlAction::kUntrace) {
    Payload wanted = build<schema::SetTrace>(
        [&](schema::SetTrace::Builder out) { out.setEnabled(action == ControlAction::kTrace); });
    Answer answer = co_await node.ask(node.address(path), std::move(wanted), kAskTimeout, Priority::kHigh);
    co_return answer.status();
  }
  const Status unsupervised(ErrorCode::kIllegalOperation, path + " has no supervisor");
  if (!node.registry().row(row->parent)) co_return unsupervised;
  Payload wanted = controlMessage(path.substr(path.rfind('/') + 1), action, reason);
  Answer answer = co_await node.ask(node.address(row->parent), std::move(wanted), kAskTimeout, Priority::kHigh);
  // Not only supervisors control their children: the manager of links does, too. Another parent does not know how.
  if (answer.status() == ErrorCode::kCommandNotFound) co_return unsupervised;
  co_return answer.status();
}

std::optional<ControlAction> controlActionOf(std::string_view name) {
  if (name == "restart") return ControlAction::kRestart;
  if (name == "park") return ControlAction::kPark;
  if (name == "resume") return ControlAction::kResume;
  if (name == "trace") return ControlAction::kTrace;
  if (name == "untrace") return ControlAction::kUntrace;
  return std::nullopt;
}

Task<Status> controlByName(Node& node, std::string path, std::string action, std::string reason) {
  const auto wanted = controlActionOf(action);
  if (!wanted)
    co_return Status(ErrorCode::kBadValue,
                     "'" + action + "' is no action on an actor: restart, park, resume, trace and untrace are");
  co_return co_await controlActor(node, std::move(path), *wanted, std::move(reason));
}

}  // namespace troupe::supervisors
