#include "test/simulation/sim_node.hpp"

#include "actors/maintenance/journal_flusher.hpp"
#include "supervisors/supervision/root_watch.hpp"
#include "test/simulation/network.hpp"

namespace troupe::sim {

namespace {

/// The journal flusher of a simulated node: the same bookkeeping, on a disk that takes its time, stalls and fails.
class SimulatedFlusher final : public Actor {
 public:
  SimulatedFlusher(storage::Engine* engine, storage::DurabilityTracker* tracker, DiskConditions* disk)
      : engine_(engine), tracker_(tracker), disk_(disk) {}

  Behaviour behaviour() override {
    return {on<maintenance::FlushNow>([this](const maintenance::FlushNow&) { begin(); })};
  }
  void onStart() override {
    setPhase("idle", "waiting for commits to make durable");
    every(std::chrono::milliseconds(100), [this] { begin(); });
  }

 private:
  void begin() {
    if (flushing_ || !tracker_->hasWork()) return;
    flushing_ = true;
    tracker_->beginFlush();
    const double share = environment().randomShare();
    Duration takes =
        disk_->leastFlush + Duration(static_cast<Duration::rep>(
                                share * static_cast<double>((disk_->mostFlush - disk_->leastFlush).count())));
    if (disk_->stalledUntil > environment().now()) takes += disk_->stalledUntil - environment().now();
    after(takes, [this] { end(); });
  }
  void end() {
    const bool fails = environment().randomShare() < disk_->failedFlushes;
    const bool lies = disk_->lyingFlushes > 0 && environment().randomShare() < disk_->lyingFlushes;
    Status outcome;
    if (fails) outcome = Status(ErrorCode::kInternalError, "the disk failed to flush");
    else if (!lies) outcome = engine_->flushLog();
    flushing_ = false;
    tracker_->endFlush(outcome, std::chrono::microseconds(0));
    begin();
  }

  storage::Engine* engine_;
  storage::DurabilityTracker* tracker_;
  DiskConditions* disk_;
  bool flushing_ = false;
};

std::shared_ptr<VirtualEnvironment> environmentAt(uint64_t seed, TimePoint now) {
  auto environment = std::make_shared<VirtualEnvironment>(seed);
  environment->advanceTo(now);
  return environment;
}

}  // namespace

NodeLife::NodeLife(const std::string& name, uint64_t seed, TimePoint now, storage::DeterministicDisk disk,
                   DiskConditions* conditions)
    : time_(environmentAt(seed, now)),
      engine_(storage::DeterministicEngine::open(std::move(disk))),
      sessions_(*engine_),
      node_({.name = name, .environment = time_, .manual = true}) {
  storage::CatalogHooks hooks;
  hooks.random = [this] { return time_->random(); };
  hooks.nowMillis = [this] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time_->wallNow().time_since_epoch()).count();
  };
  hooks.observers = {&removals_};
  catalog_ = std::move(storage::openCatalog(*engine_, sessions_, std::move(hooks))).value();
  flusher_ = node_.spawn<SimulatedFlusher>("/node/storage/journal-flusher", engine_.get(), &durability_, conditions);
}

NodeLife::~NodeLife() {
  dying_ = true;
  node_.shutdown();
}

void NodeLife::run(supervisors::Tree tree) {
  supervisors::startWatchedTree(node_, std::move(tree), [this](const Status&) {
    if (!dying_ && over_) over_();
  });
}

machines::StorageAccess NodeLife::storage() {
  return {node_,     *catalog_,   sessions_,
          locks_,    durability_, [this] { node_.tell(flusher_, local(maintenance::FlushNow{})); },
          &removals_};
}

storage::DeterministicDisk NodeLife::kill() {
  dying_ = true;
  storage::DeterministicDisk left = engine_->disk();
  node_.shutdown();
  engine_->crash();
  return left;
}

}  // namespace troupe::sim
