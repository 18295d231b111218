#include "test/simulation/simulation.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace troupe::sim {

namespace {

constexpr const char* kClusterKey = "the key of the simulated cluster";

/// What flushers, workers and connections do all the time is not worth a line.
bool isHousekeeping(std::string_view path) {
  return path.starts_with("/node/storage/") || path.starts_with("/node/workers/") || path.starts_with("/node/front/");
}

}  // namespace

Simulation::Simulation(uint64_t seed, std::vector<std::string> nodes, Program& program, size_t keepEvents)
    : seed_(seed),
      random_(seed),
      trace_(keepEvents),
      streams_(std::make_shared<Streams>(seed ^ 0x57e4a357e4a357e4ull, network_, trace_, [this] { return now_; })),
      program_(program),
      names_(std::move(nodes)) {
  for (const std::string& name : names_) slots_[name];
  trace_.setRoles([this](const std::string& node) {
    const bool isNode = slots_.contains(node);  // and not a machine of clients
    return isNode && isAlive(node) ? program_.roleOf(node) : std::pair<std::string, int64_t>();
  });
  for (const std::string& name : names_) boot(name);
}

Simulation::~Simulation() {
  trace_.setRoles(nullptr);
  for (auto& [name, slot] : slots_) {
    if (!slot.life) continue;
    slot.subscription = nullptr;
    streams_->died(name);
    slot.life = nullptr;
    program_.died(name);
  }
  machines_.clear();
}

Node& Simulation::addMachine(const std::string& name) {
  const auto [place, isNew] = machines_.try_emplace(name);
  if (!isNew) throw std::logic_error("there is a machine " + name + " already");  // its tasks would lose their node
  Machine& made = place->second;
  made.time = std::make_shared<VirtualEnvironment>(seed_ * 7919 + machines_.size());
  made.time->advanceTo(now_);
  made.node = std::make_unique<Node>(NodeOptions{.name = name, .environment = made.time, .manual = true});
  return *made.node;
}

void Simulation::boot(const std::string& name) {
  Slot& slot = slots_.at(name);
  const auto place = static_cast<uint64_t>(std::find(names_.begin(), names_.end(), name) - names_.begin());
  const uint64_t seed = seed_ * 1000003 + place * 1009 + ++slot.lives;
  supervisors::AssemblyOptions options;
  options.links = supervisors::LinkOptions{.key = kClusterKey, .times = {}, .peers = {}};
  program_.configure(name, options);
  slot.life =
      std::make_unique<NodeLife>(name, seed, now_, std::move(slot.disk), slot.conditions, streams_, std::move(options));
  slot.life->whenOver([this, name, lives = slot.lives] { over(name, lives); });
  if (eachLife_) eachLife_(name, *slot.life);
  program_.started(*slot.life);
  slot.subscription = slot.life->node().registry().subscribe([this, name](const RowChange& change) {
    if (change.kind == RowChange::kPhase && !isHousekeeping(change.path))
      note(TraceEvent::Kind::kPhase, name, change.path, change.detail, "");
    if (change.kind == RowChange::kFailed) note(TraceEvent::Kind::kActor, name, change.path, "fails", change.detail);
  });
}

void Simulation::eachLife(std::function<void(const std::string&, NodeLife&)> look) {
  eachLife_ = std::move(look);
  for (auto& [name, slot] : slots_)
    if (slot.life) eachLife_(name, *slot.life);
}

/// The tree of its actors has ended: the process does, and whatever keeps it running starts it again.
void Simulation::over(const std::string& name, uint64_t lives) {
  at({}, [this, name, lives] {
    if (slots_.at(name).lives != lives) return;
    note(TraceEvent::Kind::kFault, name, "node", "gives up", "its tree has ended");
    kill(name);
  });
  at(std::chrono::seconds(1), [this, name] { restart(name); });
}

void Simulation::note(TraceEvent::Kind kind, const std::string& node, std::string actor, std::string what,
                      std::string detail) {
  TraceEvent event{.at = elapsed(),
                   .kind = kind,
                   .node = node,
                   .role = "",
                   .term = 0,
                   .actor = std::move(actor),
                   .what = std::move(what),
                   .detail = std::move(detail)};
  trace_.add(std::move(event));
}

void Simulation::fail(std::string why) {
  if (!failure_.empty()) return;
  failure_ = std::move(why);
  note(TraceEvent::Kind::kNote, "", "checks", "BROKEN", failure_);
}

void Simulation::run(Duration time) {
  const TimePoint end = now_ + time;
  while (failure_.empty() && step(end)) {
  }
  if (failure_.empty()) moveTo(end);
}

bool Simulation::runUntil(const std::function<bool()>& condition, Duration atMost) {
  const TimePoint end = now_ + atMost;
  while (failure_.empty()) {
    if (condition()) return true;
    if (!step(end)) break;
  }
  return false;
}

bool Simulation::step(TimePoint end) {
  if (runReady()) return true;
  const TimePoint next = nextEvent(end);
  if (next > end) return false;
  moveTo(next);
  return true;
}

/// One turn of one of the nodes that have something to do.
bool Simulation::runReady() {
  std::vector<std::pair<const std::string*, Node*>> ready;
  const auto consider = [&ready](const std::string& name, Node& node) {
    if (node.readyCount() > 0) ready.emplace_back(&name, &node);
  };
  for (auto& [name, slot] : slots_)
    if (slot.life && !slot.paused) consider(name, slot.life->node());
  for (auto& [name, machine] : machines_) consider(name, *machine.node);
  if (ready.empty()) return false;
  const auto& [name, node] = ready[random_() % ready.size()];
  turn(*name, *node);
  return true;
}

void Simulation::turn(const std::string& name, Node& node) {
  ++turns_;
  node.step(random_() % node.readyCount());
  if (check_) check_(name);
  if (!facts_.contradiction().empty()) fail(facts_.contradiction());
}

TimePoint Simulation::nextEvent(TimePoint end) const {
  TimePoint next = end + std::chrono::nanoseconds(1);
  if (const auto due = streams_->nextDue()) next = std::min(next, *due);
  if (!actions_.empty()) next = std::min(next, actions_.begin()->first.first);
  for (const auto& [name, slot] : slots_) {
    if (!slot.life || slot.paused) continue;
    if (const auto timer = slot.life->time().nextTimer()) next = std::min(next, *timer);
  }
  for (const auto& [name, machine] : machines_)
    if (const auto timer = machine.time->nextTimer()) next = std::min(next, *timer);
  return std::max(next, now_);
}

void Simulation::moveTo(TimePoint when) {
  now_ = std::max(now_, when);
  for (auto& [name, slot] : slots_)
    if (slot.life && !slot.paused) slot.life->time().advanceTo(now_);
  for (auto& [name, machine] : machines_) machine.time->advanceTo(now_);
  streams_->deliverDue(now_);
  while (!actions_.empty() && actions_.begin()->first.first <= now_) {
    const auto action = std::move(actions_.begin()->second);
    actions_.erase(actions_.begin());
    action();
  }
}

void Simulation::at(Duration fromNow, std::function<void()> action) {
  actions_.emplace(std::pair(now_ + fromNow, ++sequence_), std::move(action));
}

void Simulation::kill(const std::string& name) {
  Slot& slot = slots_.at(name);
  if (!slot.life) return;
  note(TraceEvent::Kind::kFault, name, "operator", "kills", "");
  slot.subscription = nullptr;
  streams_->died(name);
  slot.disk = slot.life->kill();
  slot.life = nullptr;
  program_.died(name);
  slot.paused = false;
}

/// A node that does not come up is a finding like any other: its seed is shown.
void Simulation::restart(const std::string& name) {
  if (isAlive(name)) return;
  try {
    boot(name);
  } catch (const std::runtime_error& failure) {
    return fail(name + ": " + failure.what());
  }
  note(TraceEvent::Kind::kFault, name, "operator", "restarts", "");
}

void Simulation::pause(const std::string& name) {
  if (!isAlive(name) || isPaused(name)) return;
  slots_.at(name).paused = true;
  streams_->paused(name);
  note(TraceEvent::Kind::kFault, name, "operator", "pauses", "");
}

void Simulation::resume(const std::string& name) {
  if (!isPaused(name)) return;
  slots_.at(name).paused = false;
  life(name).time().jumpTo(now_);
  note(TraceEvent::Kind::kFault, name, "operator", "resumes", "");
  streams_->resumed(name);
}

void Simulation::setDiskSpace(const std::string& name, std::optional<DiskSpace> space) {
  disk(name).space = space;
  if (isAlive(name)) life(name).time().setDiskSpace(space);
}

void Simulation::skewWall(const std::string& name, Duration by) {
  if (!isAlive(name)) return;
  life(name).time().skewWall(by);
  note(TraceEvent::Kind::kFault, name, "operator", "skews clock",
       std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(by).count()) + "ms");
}

}  // namespace troupe::sim
