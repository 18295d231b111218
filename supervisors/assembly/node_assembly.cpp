#include "supervisors/assembly/node_assembly.hpp"

#include <algorithm>
#include <atomic>
#include <future>

#include "actors/commands/builtin.hpp"
#include "actors/kernel/node.hpp"
#include "actors/machines/document_removals.hpp"
#include "actors/maintenance/blocking_worker.hpp"
#include "actors/maintenance/discard_temporary.hpp"
#include "actors/maintenance/journal_flusher.hpp"
#include "actors/replication/initial_syncer.hpp"
#include "actors/replication/topology_store.hpp"
#include "actors/server/capped_waiters.hpp"
#include "actors/server/cluster_time.hpp"
#include "actors/server/default_concerns.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/profiler.hpp"
#include "actors/server/retryable_runs.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/session_cache.hpp"
#include "actors/server/session_catalog.hpp"
#include "actors/server/time_proofs.hpp"
#include "actors/server/user_store.hpp"
#include "messaging/bson/ids.hpp"
#include "messaging/tls/context.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/oplog/oplog_replay.hpp"
#include "storage/oplog/oplog_writer.hpp"
#include "storage/oplog/truncate_after_point.hpp"
#include "supervisors/assembly/following.hpp"
#include "supervisors/assembly/initial_sync_wiring.hpp"
#include "supervisors/assembly/link_wiring.hpp"
#include "supervisors/assembly/linked_members.hpp"
#include "supervisors/assembly/part_functions.hpp"
#include "supervisors/assembly/replication_wiring.hpp"
#include "supervisors/assembly/rollback_wiring.hpp"
#include "supervisors/assembly/topology_wiring.hpp"
#include "supervisors/supervision/root_watch.hpp"
#include "supervisors/supervision/supervisor.hpp"
#include "supervisors/tree/data_node.hpp"
#include "supervisors/tree/storage_rows.hpp"

namespace troupe::supervisors {

using log::Component;

namespace {

constexpr auto kDrainTime = std::chrono::seconds(15);
constexpr int kWorkers = 3;  // two may be kept busy by long work (WorkLength)

int64_t wallMillisOf(const Environment& environment) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(environment.wallNow().time_since_epoch()).count();
}

Task<Status> awaitStatus(Future<Status> future) { co_return co_await future; }

}  // namespace

/// In the order of construction: what comes later may use what comes before.
struct NodeAssembly::Parts {
  Parts(std::shared_ptr<Environment> clock, EngineOpener opener, std::shared_ptr<transport::Network> net,
        AssemblyOptions given)
      : options(std::move(given)),
        environment(std::move(clock)),
        openEngine(std::move(opener)),
        network(std::move(net)),
        log(options.log, [this] { return wallMillisOf(*environment); }),
        random([this] { return environment->random(); }),
        commandTable(commands::makeCommandTable(options.commands)),
        failPoints([this] { return environment->randomShare(); }),
        cursors([this] { return static_cast<int64_t>(environment->random() >> 1); }),
        objectIds(random),
        hello(objectIds.next(static_cast<uint32_t>(wallMillisOf(*environment) / 1000))) {
    if (!options.secrets) options.secrets = randomFrom(*environment);
    if (options.replicaSet.empty()) return;
    options.replicated = true;
    replicated = std::make_unique<storage::ReplicatedWrites>(
        [this] { return static_cast<uint32_t>(wallMillisOf(*environment) / 1000); });
    membership = std::make_unique<replication::Membership>(options.replicaSet, options.name);
    progress = std::make_unique<replication::ReplicationProgress>();
    userChanges.follow(*progress);
    proofs = std::make_unique<server::TimeProofs>(signingKeys, *progress);
    defaultConcerns =
        std::make_unique<server::DefaultConcerns>(settings, [this] { return wallMillisOf(*environment); });
  }

  AssemblyOptions options;
  std::shared_ptr<Environment> environment;
  EngineOpener openEngine;
  std::shared_ptr<transport::Network> network;
  log::Log log;
  bson::RandomSource random;
  server::CommandTable commandTable;
  server::Parameters parameters{log.verbosity()};
  server::FailPoints failPoints;
  storage::MemoryGovernor memory{parameters.operationMemoryTotalBytes, parameters.operationMemoryLimitBytes};
  storage::IdleUnits idleUnits;
  server::ClientRegistry clients;
  server::CursorRegistry cursors;
  server::SessionCache sessions{parameters.maxSessions, random()};
  bson::ObjectIdGenerator objectIds;
  server::HelloState hello;
  server::UserChanges userChanges;
  server::ObservedDocuments signingKeys{server::kSigningKeys};                           ///< of a member
  server::ObservedDocuments settings{server::kSettings, storage::ConcernDefaults::kId};  ///< likewise
  server::SessionCatalog sessionCatalog;                                                 ///< likewise
  server::CappedWaiters cappedWaiters;
  server::Profiler profiler;
  machines::DocumentRemovals removals;
  storage::LockManager locks{[this] { return environment->now(); }, [this] { return environment->coarseNow(); }};
  storage::ExecutionAdmission admission{[this] { return environment->coarseNow(); }};
  storage::DurabilityTracker durability;
  std::unique_ptr<storage::ReplicatedWrites> replicated;       ///< null on a node that stands alone
  std::unique_ptr<replication::Membership> membership;         ///< null on a node that stands alone
  std::unique_ptr<replication::ReplicationProgress> progress;  ///< likewise
  std::unique_ptr<server::TimeProofs> proofs;                  ///< likewise
  std::unique_ptr<server::DefaultConcerns> defaultConcerns;    ///< likewise
  storage::OplogWriter oplogWriter{[this] { return wallMillisOf(*environment); }};  ///< of a member
  std::unique_ptr<storage::Engine> engine;
  std::set<std::string> damagedTables;  ///< found by a repair
  std::unique_ptr<storage::SessionPool> storageSessions;
  std::unique_ptr<storage::UnloggedChanges> unloggedChanges;  ///< of a member's directory without its set
  std::unique_ptr<storage::Catalog> catalog;
  std::unique_ptr<replication::KeptHistory> history;      ///< of a member
  std::unique_ptr<storage::OplogStore> oplog;             ///< likewise
  std::unique_ptr<storage::TruncateAfterPoint> endOfLog;  ///< where the log recovers the data
  bool lacksData = false;                                 ///< an initial sync has begun and not ended
  std::unique_ptr<server::UserStore> users;
  std::unique_ptr<Node> node;
  std::shared_ptr<replication::RemoteMembers> otherNodes;
  std::unique_ptr<server::RetryableRuns> serviceWrites;
  std::unique_ptr<server::DiskGuard> disk;
  std::unique_ptr<server::ServerContext> context;
  std::unique_ptr<Following> following;              ///< of a member
  std::unique_ptr<maintenance::WorkerPool> workers;  ///< its jobs have operations of the context
  std::unique_ptr<StorageRows> storageRows;
  Address root;
  std::atomic<bool> ended{false};

  Status openStorage();
  Status openOplog();
  Status replayOplog();
  void makeNode();
  void makeContext();
  StatusWith<TreeParts> treeParts();
  MemberParts memberParts(const std::shared_ptr<machines::StorageAccess>& access,
                          const std::shared_ptr<link::Links>& links);
  /// What every operation of the node is made with.
  storage::OperationServices operations() {
    return {.sessions = *storageSessions,
            .times = progress.get(),
            .locks = &locks,
            .admission = &admission,
            .replicated = replicated.get(),
            .idleUnits = &idleUnits,
            .node = membership.get(),
            .memory = &memory};
  }
  machines::StorageAccess storageAccess() {
    machines::StorageAccess access{.node = *node,
                                   .catalog = *catalog,
                                   .operations = operations(),
                                   .durability = durability,
                                   .wakeFlusher = context->wakeFlusher,
                                   .removals = &removals};
    access.operations.admission = nullptr;
    if (membership) access.majority = majorityWait(*context);
    return access;
  }
  void fail(const Status& reason) const {
    if (options.failed) options.failed(reason);
  }
  /// Within a call of the engine, which may hold its thread for ever.
  void engineFailed(const Status& cause) {
    if (failPoints.fires("hangAfterEngineFailure")) std::promise<void>().get_future().wait();
    fail(cause);
  }
  void enter(StopStage stage) const {
    if (options.stopping) options.stopping(stage);
  }
  void stopTreeInOrder();
  void closeStorage();
};

Status NodeAssembly::Parts::openStorage() {
  TROUPE_ASSIGN(engine, openEngine({log, parameters, [this](const Status& cause) { engineFailed(cause); }}));
  if (options.repair) {
    const auto tell = [this](const std::string& line) { log.warning(Component::kRecovery, 22260, "repair", line); };
    TROUPE_ASSIGN(damagedTables,
                  storage::salvageDamagedTables(*engine, storage::RepairMark(options.dataDirectory), tell));
    const auto tables = engine->listTables();
    const std::string catalogTable(storage::DurableCatalog::kIdent);
    if (std::ranges::find(tables, catalogTable) == tables.end()) damagedTables.insert(catalogTable);
  }
  storageSessions = std::make_unique<storage::SessionPool>(*engine);
  storageSessions->setMember(replicated != nullptr);
  storage::CatalogHooks hooks;
  hooks.makeFilter = makeFilter;
  hooks.random = random;
  hooks.nowMillis = [this] { return wallMillisOf(*environment); };
  hooks.observers = {&userChanges, &cappedWaiters, &profiler, &removals};
  hooks.observers.insert(hooks.observers.end(), options.observers.begin(), options.observers.end());
  if (replicated)
    hooks.observers.insert(hooks.observers.end(), {&signingKeys, &settings, &sessionCatalog, &oplogWriter});
  TROUPE_ASSIGN(unloggedChanges, guardLeftData(*engine, parameters, replicated != nullptr, damagedTables));
  if (unloggedChanges) hooks.observers.push_back(unloggedChanges.get());
  hooks.journaled = options.journal;
  hooks.replicated = options.replicated;
  hooks.repair = options.repair;
  hooks.keepUnreferenced = std::ranges::any_of(damagedTables, storage::DurableCatalog::isIdent);
  hooks.warn = [this](const std::string& finding) { log.warning(Component::kRecovery, 22259, "main", finding); };
  TROUPE_ASSIGN(catalog, storage::openCatalog(*engine, *storageSessions, std::move(hooks)));
  if (replicated) TROUPE_TRY(openOplog());
  users = std::make_unique<server::UserStore>(*catalog, operations(), userChanges);
  sessionCatalog.attach(storage::SessionTables(*catalog));
  signingKeys.attach({*catalog, operations(), server::kSigningKeys});
  settings.attach({*catalog, operations(), server::kSettings});
  return Status::OK();
}

/// The log of a member: its writes go on after its newest entry, and all of it is visible.
Status NodeAssembly::Parts::openOplog() {
  TROUPE_ASSIGN(oplog, storage::OplogStore::open(*engine, *storageSessions, options.oplog, replicated->visibility,
                                                 catalog->sizes().of(storage::OplogStore::kIdent)));
  TROUPE_ASSIGN(const auto shown, storage::showOplog(*catalog, options.oplog));
  takeSizeOfLog(*oplog, *shown, log);
  oplogWriter.attach(*oplog);
  DataFound found = DataFound::kNotWhole;
  if (options.replicated) {
    TROUPE_ASSIGN(endOfLog, storage::TruncateAfterPoint::open(*catalog));
    TROUPE_TRY(replication::takeUpBuildIndexes(*catalog, {.sessions = *storageSessions}));
    TROUPE_ASSIGN(lacksData, replication::hasInitialSyncMark(*catalog, {.sessions = *storageSessions}));
    TROUPE_TRY(noteLostEnd(*catalog, endOfLog->get(), *storageSessions, log));
    if (lacksData) {
      replicated->visibility.reset({});  // data and log are of an initial sync that has not ended: it begins anew
    } else {
      TROUPE_TRY(cutBehindHoles(*catalog, *oplog, endOfLog->get(), *storageSessions, log));
      TROUPE_ASSIGN(found, findData(*catalog, *oplog, *storageSessions));
      if (const Status replayed = replayOplog(); !replayed.isOK()) return endOfMisfitData(replayed);
    }
    TROUPE_TRY(endOfLog->set(replicated->visibility.get()));  // before any write may leave a hole behind
  }
  replicated->slots.resetTo(replicated->visibility.get());
  replicated->slots.advanceTo(engine->recoveryTimestamp());  // storage takes none before it: a log may be a new one
  history =
      std::make_unique<replication::KeptHistory>(*catalog, parameters.minSnapshotHistoryWindowInSeconds, *environment);
  progress->onStable([this](const OpTime& stable) { history->setStable(stable); });
  TROUPE_TRY(endOfMisfitData(startTimes(*catalog, *oplog, *storageSessions, *progress, found)));
  cappedWaiters.followOplog(replicated->visibility, shown->uuid(), *progress);
  return Status::OK();
}

/// Replicated tables are as of the last stable checkpoint: the log brings them up to its end.
Status NodeAssembly::Parts::replayOplog() {
  const bson::Timestamp from = engine->recoveryTimestamp();
  const auto tell = [this, from](const char* message, const storage::Replayed& done) {
    log.info(Component::kRecovery, 21550, "main", message,
             bson::doc("from", from, "to", done.last, "entries", done.entries));
  };
  TROUPE_ASSIGN(const auto done, storage::replayOplog(*catalog, *oplog, {.sessions = *storageSessions}, from,
                                                      [&](const auto& so) { tell("Replaying the oplog", so); }));
  tell("Replayed the oplog", done);
  return Status::OK();
}

void NodeAssembly::Parts::makeNode() {
  NodeOptions nodeOptions;
  nodeOptions.name = options.name;
  nodeOptions.threads = options.threads;
  nodeOptions.environment = environment;
  nodeOptions.manual = options.manual;
  node = std::make_unique<Node>(nodeOptions);
  std::vector<Address> addresses;
  for (int i = 0; i < kWorkers; ++i) addresses.push_back(node->address(blockingWorkerPath(i)));
  workers = std::make_unique<maintenance::WorkerPool>(*node, std::move(addresses));
  disk = std::make_unique<server::DiskGuard>(*environment, *engine, options.dataDirectory,
                                             parameters.diskSpaceReserveMB, log);
  otherNodes = linkedMembers(*node);
  const std::string target = membership ? primaryOf(membership->setName()) : node->name();
  serviceWrites = std::make_unique<server::RetryableRuns>(
      *node, *otherNodes, target, server::RetryableRuns::Options{.numbered = membership != nullptr});
  if (membership) node->postOffice().setPrimaryFinder(replication::primaryFinder(*membership));
}

void NodeAssembly::Parts::makeContext() {
  server::ServerIdentity identity = options.identity;
  identity.processId = hello.processId();
  const Address flusher = node->address(kJournalFlusherPath);
  context.reset(new server::ServerContext{
      .node = *node,
      .startedAt = environment->now(),
      .log = log,
      .identity = std::move(identity),
      .commands = commandTable,
      .parameters = parameters,
      .failPoints = failPoints,
      .clients = clients,
      .cursors = cursors,
      .sessions = sessions,
      .users = *users,
      .hello = hello,
      .cappedWaiters = cappedWaiters,
      .profiler = profiler,
      .counters = {},
      .latencies = {},
      .objectIds = objectIds,
      .engine = *engine,
      .storageSessions = *storageSessions,
      .catalog = server::GuardedCatalog(*catalog),
      .locks = locks,
      .admission = admission,
      .durability = durability,
      .conflicts = {},
      .blocking = *workers,
      .disk = *disk,
      .secrets = options.secrets,
      .loginSecret = loginSecretOf(options, log),
      .spillDirectory = options.spillDirectory,
      .wakeFlusher = [this, flusher] { node->tell(flusher, local(maintenance::FlushNow{})); },
      .requestShutdown = options.requestShutdown ? options.requestShutdown : [] {},
      .actorRows = [this](bson::View filter) { return rowsOf(node->registry(), filter); },
      .controlActor =
          [this](std::string path, std::string action, std::string reason) {
            return controlByName(*node, std::move(path), std::move(action), std::move(reason));
          },
      .membership = membership.get(),
      .progress = progress.get(),
      .proofs = proofs.get(),
      .defaultConcerns = defaultConcerns.get(),
      .sessionCatalog = membership ? &sessionCatalog : nullptr,
      .oplog = oplog.get(),
      .operations = operations(),
      .writes = {*node, *catalog},
      .serviceWrites = serviceWrites.get()});
  context->writes.conflicts = &context->conflicts;
  if (membership) context->writes.log = &oplogWriter;
  context->writes.retryOptions = [this] { return conflictRetryOf(parameters); };
  context->writes.roomFor = [this](size_t bytes) { return disk->roomFor(bytes); };
}

StatusWith<TreeParts> NodeAssembly::Parts::treeParts() {
  TreeParts parts;
  parts.server = context.get();
  parts.oplog = oplog.get();
  parts.endOfLog = endOfLog.get();
  parts.flushKind = storage::flushKind(options.journal);
  parts.flushPace = options.flushPace;
  parts.jobs = workers->jobs();
  parts.blockingWorkers = kWorkers;
  parts.listener = options.listener;
  parts.network = network;
  parts.admin = options.admin;
  if (options.admin && options.admin->tls.mode != tls::TlsMode::kDisabled)  // a bad certificate is told at once
    TROUPE_TRY(tls::makeServerContext(options.admin->tls)
                   .status()
                   .withContext("--adminTlsMode " + std::string(tls::tlsModeName(options.admin->tls.mode))));
  if (options.links) {
    TROUPE_ASSIGN(parts.links,
                  makeLinks(*node, *network, options, log, std::make_shared<server::MemberClock>(*context)));
  }
  parts.nodes = otherNodes;
  const auto access = std::make_shared<machines::StorageAccess>(storageAccess());
  if (membership) parts.member.emplace(memberParts(access, parts.links));
  const ServiceParts serviceParts{access, membership.get()};
  for (const Service& service : options.services) parts.services.push_back(service.make(serviceParts));
  return parts;
}

MemberParts NodeAssembly::Parts::memberParts(const std::shared_ptr<machines::StorageAccess>& access,
                                             const std::shared_ptr<link::Links>& links) {
  following = std::make_unique<Following>(*context, operations());
  const auto forget = [this] {
    userChanges.forgetAll();
    signingKeys.forgetAll();
    settings.forgetAll();
    sessionCatalog.invalidateAll();
    following->builds.forgetAll();
  };
  *following->isCopying = lacksData;
  return {wireTopology(*context, access, *membership, links, *following, options),
          history.get(),
          wireProgress(*context),
          wireApplier(*context, *following, [this](const Status& why) { fail(why); }),
          wireFetcher(*context, *following),
          wireRollback(*context, access, *oplog, *endOfLog, *history, *membership, *following, forget, options),
          wireInitialSync(*context, access, *oplog, endOfLog.get(), *following, forget, options),
          wireFlowControl(*context)};
}

void NodeAssembly::Parts::stopTreeInOrder() {
  if (membership && root) handOver(*context);
  hello.beginShutdown();
  cappedWaiters.wakeAll();
  if (following) following->endScans();
  if (root && !node->wait(stopTree(*node, root, kDrainTime)))
    log.warning(Component::kSupervision, 23378, "main", "Some actors did not stop in time and are killed");
}

void NodeAssembly::Parts::closeStorage() {
  idleUnits.endAll(ErrorCode::kInterruptedAtShutdown);
  if (const Status flushed = catalog ? catalog->flushAtEnd() : Status::OK(); !flushed.isOK())
    log.warning(Component::kStorage, 22322, "main", "The collections' sizes could not be saved",
                bson::doc("error", flushed.reason()));
  const bool isInRollback = history && history->isFrozen();  // a start cuts the log at its point
  if (endOfLog && !isInRollback && replicated->slots.openReservations() == 0) (void)endOfLog->set({});
  users.reset();
  endOfLog.reset();
  oplog.reset();
  catalog.reset();
  storageSessions.reset();
  if (!engine) return;
  if (const Status closed = engine->close(); !closed.isOK())
    log.error(Component::kStorage, 22323, "main", "The storage engine did not close cleanly",
              bson::doc("error", closed.reason()));
  engine.reset();
}

NodeAssembly::NodeAssembly(std::shared_ptr<Environment> environment, EngineOpener engine,
                           std::shared_ptr<transport::Network> network, AssemblyOptions options)
    : parts_(
          std::make_unique<Parts>(std::move(environment), std::move(engine), std::move(network), std::move(options))) {}

NodeAssembly::~NodeAssembly() { stop(); }

Status NodeAssembly::open() {
  Parts& p = *parts_;
  if (p.options.setParameters) TROUPE_TRY(p.options.setParameters(p.parameters));
  if (p.parameters.enableTestCommands) p.environment->setFaults(&p.failPoints);
  return p.openStorage();
}

StatusWith<Future<Status>> NodeAssembly::begin() {
  Parts& p = *parts_;
  p.makeNode();
  p.makeContext();
  if (p.membership) TROUPE_TRY(checkStoredSet(p.storageAccess(), *p.membership));
  maintenance::discardTemporaries(*p.context);
  p.storageRows = std::make_unique<StorageRows>(*p.context);
  TROUPE_ASSIGN(const TreeParts tree, p.treeParts());
  const auto ended = [parts = parts_.get()](const Status& reason) {
    if (parts->ended) return;
    if (!reason.isOK())
      parts->log.error(Component::kSupervision, 23379, "main", "The tree of actors has ended",
                       bson::doc("reason", reason.reason()));
    parts->fail(reason);
  };
  auto started = startWatchedTree(*p.node, dataNodeTree(tree), ended, warnOfChildren(p.log));
  p.root = started.root;
  return std::move(started.ready);
}

Status NodeAssembly::startTree() {
  TROUPE_ASSIGN(auto ready, begin());
  return parts_->node->wait(awaitStatus(std::move(ready)));
}

void NodeAssembly::stop() {
  Parts& p = *parts_;
  if (p.ended.exchange(true)) return;
  p.enter(StopStage::kTree);
  p.stopTreeInOrder();
  p.enter(StopStage::kStorage);
  if (p.failPoints.fires("hangWhileClosing")) std::promise<void>().get_future().wait();
  p.durability.close({ErrorCode::kShutdownInProgress, "the server is shutting down"});
  if (p.node) p.node->shutdown();
  p.storageRows.reset();
  p.following.reset();
  p.workers.reset();  // with jobs that were not begun, whose operations belong to the context
  p.context.reset();
  p.environment->setFaults(nullptr);
  p.node.reset();
  p.disk.reset();
  p.closeStorage();
}

void NodeAssembly::crash() {
  Parts& p = *parts_;
  if (p.ended.exchange(true)) return;
  if (p.node) p.node->shutdown();
  p.environment->setFaults(nullptr);
}

const AssemblyOptions& NodeAssembly::options() const { return parts_->options; }
log::Log& NodeAssembly::log() { return parts_->log; }
Environment& NodeAssembly::environment() { return *parts_->environment; }
server::Parameters& NodeAssembly::parameters() { return parts_->parameters; }
storage::Catalog& NodeAssembly::catalog() { return *parts_->catalog; }
const std::set<std::string>& NodeAssembly::damagedTables() const { return parts_->damagedTables; }
storage::Engine& NodeAssembly::engine() { return *parts_->engine; }
storage::OplogStore* NodeAssembly::oplog() { return parts_->oplog.get(); }
storage::TruncateAfterPoint* NodeAssembly::endOfLog() { return parts_->endOfLog.get(); }
Node& NodeAssembly::node() { return *parts_->node; }
server::ServerContext& NodeAssembly::context() { return *parts_->context; }
machines::StorageAccess NodeAssembly::storageAccess() { return parts_->storageAccess(); }
const replication::Membership* NodeAssembly::membership() const { return parts_->membership.get(); }

}  // namespace troupe::supervisors
