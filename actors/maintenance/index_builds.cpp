#include "actors/maintenance/index_builds.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "actors/kernel/actor_cell.hpp"
#include "actors/machines/service_base.hpp"
#include "actors/maintenance/discard_build.hpp"
#include "actors/maintenance/index_build.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/left_data.hpp"
#include "actors/server/role_check.hpp"

namespace troupe::maintenance {

namespace {

/// After a discard that failed.
constexpr auto kTryAgainAfter = std::chrono::seconds(10);

/// Of builds that end with their supervisor.
Status stopped(const server::ServerContext& server) {
  if (server.hello.shuttingDown()) return {ErrorCode::kInterruptedAtShutdown, "the index build ends with its node"};
  return {ErrorCode::kIndexBuildAborted, "the supervisor of index builds was stopped"};
}

bool hasIdentical(const std::vector<bson::Document>& specs, const bson::Document& wanted) {
  const auto one = storage::parseIndexSpec(wanted);
  return one.isOK() && std::ranges::any_of(specs, [&](const bson::Document& spec) {
           const auto other = storage::parseIndexSpec(spec);
           if (!other.isOK()) return false;
           const auto match = storage::compareSpecs(*one, *other);
           return match.isOK() && *match == storage::SpecMatch::kIdentical;
         });
}

bool makesTheSame(const BuildIndexes& build, const BuildIndexes& wanted) {
  return build.collection == wanted.collection && build.specs.size() == wanted.specs.size() &&
         std::ranges::all_of(wanted.specs, [&](const bson::Document& spec) { return hasIdentical(build.specs, spec); });
}

}  // namespace

Behaviour IndexBuilds::behaviour() {
  return {on<BuildIndexes>(this, &IndexBuilds::want),
          on<AbortBuilds>(this, &IndexBuilds::abort),
          on<StopWaiting>([this](const StopWaiting& gone) { stopWaiting(gone); }),
          on<AwaitBuilds>(
              [this](Received<AwaitBuilds> message, Context context) { await(message->builds, std::move(context)); }),
          on<BuildDecided>([this](const BuildDecided& message) { decided(message); }),
          on<BuildDone>([this](const BuildDone& message) { done(message); }),
          on<Down>([this](const Down& down) { ended(down); }),
          on<ChildReady>([](const ChildReady&) {}),
          on<machines::BecomePrimary>([this](const machines::BecomePrimary&) { start(discardLeft()); }),
          on<machines::StepDown>([this](const machines::StepDown&) { endReplicated(); })};
}

void IndexBuilds::onStart() {
  setPhase("recovering", "discards the unfinished indexes that it finds");
  deferReady();
  endOrphans();
  if (orphans_ == 0) start(recover());
}

/// What the last life of this actor has left behind ends first: a build that still runs is not to be discarded.
void IndexBuilds::endOrphans() {
  RowFilter below;
  below.under = self().path();
  for (const ActorRow& row : node().registry().rows(below)) {
    const Address child = node().address(row.path);
    if (row.path == self().path() || !node().postOffice().exists(child)) continue;
    ++orphans_;
    watch(child);
    node().kill(child, Status(ErrorCode::kInterrupted, "the supervisor of index builds was started again"));
  }
}

Task<void> IndexBuilds::recover() {
  co_await discardLeft();
  setPhase("serving", "builds the indexes that clients ask for");
  ready();
}

/// Not while builds of the last life run: `recover` comes after them. A member that must not write has nothing to try
/// again: it is told when it becomes primary.
Task<void> IndexBuilds::discardLeft() {
  if (orphans_ > 0 || stopping_) co_return;
  bool failed = false;
  const bool keepsReplicated = server::holdsDataOfSet(*server_);
  const auto unfinished = storage::unfinishedBuilds(*server_->catalog.unguarded().snapshot());
  for (const storage::UnfinishedBuild& left : unfinished) {
    if (keepsReplicated && left.ns.isReplicated()) continue;
    if (find(left.build) != builds_.end() || !server::mayWrite(*server_, left.ns)) continue;
    const Status outcome = co_await discardBuild(*server_, left);
    failed = failed || !outcome.isOK();
  }
  if (!failed || std::exchange(triesAgain_, true)) co_return;
  after(kTryAgainAfter, [this] {
    triesAgain_ = false;
    start(discardLeft());
  });
}

/// The step-down is over and has killed the builds that write. One that no step-down has killed, since the topology
/// actor failed, and those that wait for their turn end here. While a step-down still waits for secondaries they stay.
void IndexBuilds::endReplicated() {
  if (!server_->membership || server_->membership->view()->state() == replication::MemberState::kPrimary) return;
  std::vector<bson::Uuid> replicated;
  for (const Build& build : builds_)
    if (build.wanted.ns.isReplicated()) replicated.push_back(build.uuid);
  const Status why(ErrorCode::kInterruptedDueToReplStateChange, "this node is no longer primary");
  for (const bson::Uuid& uuid : replicated) end(find(uuid), why);
}

void IndexBuilds::want(Received<BuildIndexes> message, Context context) {
  const BuildIndexes& wanted = *message;
  if (stopping_) return context.fail(stopped(*server_));
  const auto same = std::ranges::find_if(
      builds_, [&](const Build& build) { return isOpen(build) && makesTheSame(build.wanted, wanted); });
  if (same != builds_.end()) {
    same->waiters.push_back({wanted.waiter, std::move(context)});
    return;
  }
  Build build{.uuid = server_->catalog.unguarded().newUuid(),
              .wanted = wanted,
              .waiters = {},
              .why = {},
              .outcome = {},
              .hasEnded = false};
  build.waiters.push_back({wanted.waiter, std::move(context)});
  builds_.push_back(std::move(build));
  startNext();
}

void IndexBuilds::startNext() {
  auto places = server_->parameters.maxIndexBuilds.load(std::memory_order_relaxed) -
                std::ranges::count_if(builds_, [](const Build& build) { return build.operation != 0; });
  for (Build& build : builds_) {
    if (places <= 0) return;
    if (build.operation != 0) continue;
    auto actor = std::make_unique<IndexBuild>(*server_, build.uuid, build.wanted);
    build.operation = actor->operationId();
    spawnChild(self().child(build.uuid.toString()).path(), std::move(actor),
               SpawnOptions{.detached = true, .type = "IndexBuild"});
    --places;
  }
}

void IndexBuilds::stopWaiting(const StopWaiting& gone) {
  for (auto build = builds_.begin(); build != builds_.end(); ++build) {
    const auto waiter = std::ranges::find(build->waiters, gone.waiter, &Waiter::operation);
    if (waiter == build->waiters.end()) continue;
    build->waiters.erase(waiter);
    if (build->waiters.empty())
      end(build, Status(ErrorCode::kInterrupted, "no client waits for the index build any more"));
    return;
  }
}

void IndexBuilds::abort(Received<AbortBuilds> message, Context context) {
  const AbortBuilds& wanted = *message;
  std::vector<bson::Uuid> chosen;
  for (const Build& build : builds_) {
    const bool isNamed = wanted.builds.empty() || std::ranges::find(wanted.builds, build.uuid) != wanted.builds.end();
    const bool isAny = wanted.collection == bson::Uuid{} && build.wanted.ns.isReplicated();
    if ((isAny || build.wanted.collection == wanted.collection) && isNamed) chosen.push_back(build.uuid);
  }
  await(chosen, std::move(context));
  for (const bson::Uuid& uuid : chosen) end(find(uuid), wanted.why);
}

void IndexBuilds::await(std::vector<bson::Uuid> builds, Context context) {
  std::erase_if(builds, [&](const bson::Uuid& uuid) { return find(uuid) == builds_.end(); });
  if (builds.empty()) return context.reply(local(BuildsEnded{0}));
  const size_t found = builds.size();
  awaiting_.push_back({std::move(builds), found, std::move(context)});
}

void IndexBuilds::end(BuildAt build, const Status& why) {
  build->why = why;
  if (build->operation == 0) return finish(build, why);
  server_->clients.killOperation(build->operation, why.code());
}

void IndexBuilds::decided(const BuildDecided& decided) {
  if (const auto build = find(decided.build); build != builds_.end()) build->isDecided = true;
}

void IndexBuilds::done(const BuildDone& done) {
  const auto build = find(done.build);
  if (build == builds_.end()) return;
  if (build->hasEnded) finish(build, done.outcome);
  else build->outcome = done.outcome;
}

void IndexBuilds::ended(const Down& down) {
  const auto uuid = bson::Uuid::fromString(down.who.path().substr(self().path().size() + 1));
  const auto build = uuid ? find(*uuid) : builds_.end();
  if (build == builds_.end()) {
    if (orphans_ > 0 && --orphans_ == 0) start(recover());
  } else if (build->outcome) {
    finish(build, std::move(*build->outcome));
  } else if (down.reason.isOK()) {
    build->hasEnded = true;
  } else {
    build->isDecided = true;
    start(cleanUp(build->uuid, down.reason));
  }
}

/// Its actor has failed in the middle: what it held is released, what it wrote is still there. An outcome that comes
/// meanwhile was sent before: the failure came after it.
Task<void> IndexBuilds::cleanUp(bson::Uuid uuid, Status reason) {
  storage::UnfinishedBuild left{find(uuid)->wanted.collection, find(uuid)->wanted.ns, uuid};
  (void)co_await discardBuild(*server_, std::move(left));  // `finish` looks whether it has gone
  const BuildAt build = find(uuid);
  StatusWith<IndexesBuilt> outcome = std::move(reason);
  if (build->outcome) outcome = std::move(*build->outcome);
  finish(build, std::move(outcome));
}

void IndexBuilds::finish(BuildAt build, StatusWith<IndexesBuilt> outcome) {
  if (!outcome.isOK() && outcome.status().code() == build->why.code()) outcome = build->why;
  Build gone = std::move(*build);
  builds_.erase(build);
  for (Waiter& waiter : gone.waiters) waiter.context.reply(local(BuildOutcome{outcome}));
  std::erase_if(awaiting_, [&](Awaiting& each) {
    std::erase(each.builds, gone.uuid);
    if (each.builds.empty()) each.context.reply(local(BuildsEnded{each.found}));
    return each.builds.empty();
  });
  if (stopping_ && builds_.empty()) return stop();
  startNext();
  if (!outcome.isOK()) start(discardLeft());
}

void IndexBuilds::onStopRequested() {
  stopping_ = true;
  setPhase("stopping", "aborts the builds that run");
  if (builds_.empty()) return stop();
  std::vector<bson::Uuid> all;
  for (const Build& build : builds_) all.push_back(build.uuid);
  for (const bson::Uuid& uuid : all) end(find(uuid), stopped(*server_));
}

/// Its builds go with it, also when it has failed: the next life discards what they leave.
void IndexBuilds::onStop(const Status&) {
  for (const Build& build : builds_)
    if (build.operation != 0) node().kill(self().child(build.uuid.toString()), stopped(*server_));
}

IndexBuilds::BuildAt IndexBuilds::find(const bson::Uuid& uuid) {
  return std::ranges::find(builds_, uuid, &Build::uuid);
}

bson::Document IndexBuilds::describe() const {
  bson::Builder b;
  b.openArray("builds");
  for (const Build& build : builds_)
    b.push(bson::doc("build", build.uuid, "collection", build.wanted.ns.toString(), "clients",
                     static_cast<int32_t>(build.waiters.size()), "waitsFor",
                     build.operation != 0 ? "" : "a place among maxNumActiveUserIndexBuilds"));
  return b.close().finish();
}

}  // namespace troupe::maintenance
