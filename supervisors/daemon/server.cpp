#include "supervisors/daemon/server.hpp"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "actors/kernel/node.hpp"
#include "actors/machines/document_removals.hpp"
#include "actors/maintenance/blocking_worker.hpp"
#include "actors/maintenance/journal_flusher.hpp"
#include "actors/replication/topology_actor.hpp"
#include "actors/server/capped_waiters.hpp"
#include "actors/server/command.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_registry.hpp"
#include "actors/server/user_store.hpp"
#include "actors/server/version.hpp"
#include "messaging/auth/keyfile.hpp"
#include "messaging/auth/random.hpp"
#include "messaging/bson/ids.hpp"
#include "messaging/tls/context.hpp"
#include "storage/engine/wiredtiger_engine.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/validation/repair.hpp"
#include "supervisors/daemon/cluster_links.hpp"
#include "supervisors/daemon/service_manager.hpp"
#include "supervisors/daemon/settings.hpp"
#include "supervisors/supervision/root_watch.hpp"
#include "supervisors/supervision/supervisor.hpp"
#include "supervisors/tree/data_node.hpp"
#include "supervisors/tree/storage_rows.hpp"

namespace troupe::supervisors {

namespace fs = std::filesystem;
using log::Component;

namespace {

constexpr auto kDrainTime = std::chrono::seconds(15);
/// Partial indexes ask the query language whether they hold a document.
StatusWith<storage::DocumentFilter> makeFilter(bson::View expression, const bson::Collator* collator) {
  query::ParseContext context;
  context.collator = collator;
  TROUPE_ASSIGN(auto parsed, query::parseMatch(expression, context));
  const std::shared_ptr<const query::MatchExpression> shared = std::move(parsed);
  return storage::DocumentFilter([shared](bson::View document) { return shared->matches(document); });
}

Task<Status> outcomeOf(Future<Answer> future) {
  const Answer answer = co_await future;
  co_return answer.status();
}

Task<Status> awaitStatus(Future<Status> future) { co_return co_await future; }

}  // namespace

/// In the order of construction: what comes later may use what comes before.
struct Server::Parts {
  Parts(Options given, std::vector<Service> more)
      : options(std::move(given)),
        services(std::move(more)),
        environment(makeRealEnvironment()),
        log(logOptions(options),
            [this] {
              return std::chrono::duration_cast<std::chrono::milliseconds>(environment->wallNow().time_since_epoch())
                  .count();
            }),
        random([this] { return environment->random(); }),
        failPoints([this] { return environment->randomShare(); }),
        cursors([this] { return static_cast<int64_t>(environment->random() >> 1); }),
        objectIds(random),
        hello(objectIds.next(static_cast<uint32_t>(
            std::chrono::duration_cast<std::chrono::seconds>(environment->wallNow().time_since_epoch()).count()))) {}

  Options options;
  std::vector<Service> services;
  std::shared_ptr<Environment> environment;
  log::Log log;
  bson::RandomSource random;
  commands::Parameters parameters{log.verbosity()};
  commands::FailPoints failPoints;
  commands::ClientRegistry clients;
  commands::CursorRegistry cursors;
  commands::SessionRegistry sessions;
  bson::ObjectIdGenerator objectIds;
  commands::HelloState hello;
  commands::UserChanges userChanges;
  commands::CappedWaiters cappedWaiters;
  machines::DocumentRemovals removals;
  storage::ResourceLocks locks;
  storage::DurabilityTracker durability;
  std::unique_ptr<storage::Engine> engine;
  std::unique_ptr<storage::SessionPool> storageSessions;
  std::unique_ptr<storage::Catalog> catalog;
  std::unique_ptr<commands::UserStore> users;
  std::unique_ptr<Node> node;
  std::unique_ptr<maintenance::WorkerPool> workers;
  std::unique_ptr<commands::DiskGuard> disk;
  std::unique_ptr<replication::Membership> membership;  ///< null on a node that stands alone
  std::unique_ptr<commands::ServerContext> context;
  std::unique_ptr<StorageRows> storageRows;
  Address root;
  bool stopped = false;
  std::mutex failureMutex;
  Status failure;  ///< why the node has to end by itself; OK while it has not

  Status applyParameters();
  Status openStorage();
  Status makeContext();
  machines::StorageAccess storageAccess();
  void tellServices(const replication::ReplicaView& now);
  replication::TopologyParts topologyParts(const std::shared_ptr<link::Links>& links);
  void handOver();
  Status startActors();
  commands::ServerIdentity identity(std::vector<wire::Compressor> allowed) const;
  void logStartUp();
  storage::RepairTeller tellRepair();
  /// Ends the process in order; the first failure is the one it ends with. Any thread.
  void failWith(const Status& reason);
};

void Server::Parts::failWith(const Status& reason) {
  {
    const std::lock_guard lock(failureMutex);
    if (failure.isOK()) failure = reason;
  }
  kill(getpid(), SIGTERM);
}

Status Server::Parts::applyParameters() {
  if (!options.keyFile.empty()) {
    TROUPE_TRY(auth::readKeyFile(options.keyFile).status());
    options.auth = true;  // nodes that trust each other by a secret do not serve strangers
  }
  parameters.slowOperationMillis = options.slowMs;
  parameters.journalCommitIntervalMillis = options.journalCommitIntervalMs;
  parameters.syncPeriodSeconds = options.syncPeriodSecs;
  for (const auto& given : options.setParameters) {
    const auto equals = given.find('=');
    TROUPE_TRY(parameters.setFromText(given.substr(0, equals), given.substr(equals + 1))
                   .withContext("--setParameter " + given));
  }
  if (parameters.enableTestCommands) environment->setFaults(&failPoints);
  return Status::OK();
}

Status Server::Parts::openStorage() {
  std::error_code error;
  if (!fs::is_directory(options.dbPath, error)) {
    return {ErrorCode::kNonExistentPath,
            "the data directory " + options.dbPath + " does not exist: create it or name another with --dbpath"};
  }
  storage::WiredTigerOptions engineOptions;
  engineOptions.path = options.dbPath;
  engineOptions.cacheBytes = cacheBytes(options);
  engineOptions.journalEnabled = options.journal;
  engineOptions.transactionTooLargeForCacheThreshold = parameters.transactionTooLargeForCacheThreshold;
  engineOptions.onMessage = [this](storage::WiredTigerOptions::Level level, std::string_view text) {
    if (level == storage::WiredTigerOptions::Level::kError) log.error(Component::kStorage, 22435, "engine", text);
    else log.debug(1, Component::kStorage, 22430, "engine", text);
  };
  // The engine cannot be used any more: the process ends, and the next start recovers from the journal.
  engineOptions.onPanic = [this](const Status& cause) {
    log.error(Component::kStorage, 22446, "engine",
              "The storage engine failed; stopping so that the next start recovers",
              bson::doc("cause", cause.reason()));
    failWith(cause);
  };
  log.info(Component::kStorage, 22315, "main", "Opening the storage engine",
           bson::doc("dbpath", options.dbPath, "cacheBytes", engineOptions.cacheBytes, "journal", options.journal));
  TROUPE_ASSIGN(engine, storage::openWiredTiger(engineOptions));
  if (options.repair) TROUPE_TRY(storage::salvageDamagedTables(*engine, tellRepair()).status());
  storageSessions = std::make_unique<storage::SessionPool>(*engine);
  storage::CatalogHooks hooks;
  hooks.makeFilter = makeFilter;
  hooks.random = random;
  hooks.nowMillis = [this] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(environment->wallNow().time_since_epoch()).count();
  };
  hooks.observers = {&userChanges, &cappedWaiters, &removals};
  hooks.repair = options.repair;
  hooks.warn = [this](const std::string& finding) { log.warning(Component::kRecovery, 22259, "main", finding); };
  TROUPE_ASSIGN(catalog, storage::openCatalog(*engine, *storageSessions, std::move(hooks)));
  users = std::make_unique<commands::UserStore>(*catalog, *storageSessions, userChanges);
  return Status::OK();
}

commands::ServerIdentity Server::Parts::identity(std::vector<wire::Compressor> allowed) const {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  commands::ServerIdentity result;
  result.host = std::string(host) + ":" + std::to_string(options.port);
  result.processId = hello.processId();
  result.port = options.port;
  result.maxConnections = options.maxConnections;
  result.authentication = options.auth;
  result.compressors = std::move(allowed);
  result.commandLine = bson::doc("argv", options.argv, "parsed", options.parsed);
  return result;
}

Status Server::Parts::makeContext() {
  TROUPE_ASSIGN(auto allowed, compressors(options.compressors));
  NodeOptions nodeOptions;
  if (options.nodeName.empty() && !options.replSet.empty()) options.nodeName = reachableName(options);
  nodeOptions.name = options.nodeName.empty() ? "localhost:" + std::to_string(options.port) : options.nodeName;
  nodeOptions.threads = static_cast<unsigned>(options.threads);
  nodeOptions.environment = environment;
  node = std::make_unique<Node>(nodeOptions);
  constexpr int kWorkers = 2;
  std::vector<Address> addresses;
  for (int i = 0; i < kWorkers; ++i) addresses.push_back(node->address(blockingWorkerPath(i)));
  workers = std::make_unique<maintenance::WorkerPool>(*node, std::move(addresses));
  disk =
      std::make_unique<commands::DiskGuard>(*environment, *engine, options.dbPath, parameters.diskSpaceReserveMB, log);
  const Address flusher = node->address(kJournalFlusherPath);
  if (!options.replSet.empty()) membership = std::make_unique<replication::Membership>(options.replSet, node->name());
  context.reset(new commands::ServerContext{
      .node = *node,
      .startedAt = environment->now(),
      .log = log,
      .identity = identity(std::move(allowed)),
      .parameters = parameters,
      .failPoints = failPoints,
      .clients = clients,
      .cursors = cursors,
      .sessions = sessions,
      .users = *users,
      .hello = hello,
      .cappedWaiters = cappedWaiters,
      .counters = {},
      .latencies = {},
      .objectIds = objectIds,
      .engine = *engine,
      .storageSessions = *storageSessions,
      .catalog = *catalog,
      .locks = locks,
      .durability = durability,
      .conflicts = {},
      .blocking = *workers,
      .disk = *disk,
      .loginSecret = auth::randomBytes(auth::secureRandom(), 32),
      .spillDirectory = options.dbPath + "/_tmp",
      .wakeFlusher = [this, flusher] { node->tell(flusher, local(maintenance::FlushNow{})); },
      .requestShutdown = [] { kill(getpid(), SIGTERM); },
      .actorRows =
          [this](bson::View filter) {
            std::vector<bson::Document> rows;
            RowFilter wanted;
            wanted.type = std::string(filter["type"].toStringOr());
            wanted.phase = std::string(filter["phase"].toStringOr());
            wanted.under = std::string(filter["under"].toStringOr());
            wanted.limit = static_cast<size_t>(std::max<int64_t>(0, filter["limit"].toInt64()));
            for (const auto& row : node->registry().rows(wanted)) rows.push_back(row.toBson());
            return rows;
          },
      .membership = membership.get()});
  return Status::OK();
}

machines::StorageAccess Server::Parts::storageAccess() {
  return {*node, *catalog, *storageSessions, locks, durability, context->wakeFlusher, &removals};
}

/// Services that run on the primary only hear of each change: to become what they are already costs them nothing.
void Server::Parts::tellServices(const replication::ReplicaView& now) {
  for (const Service& service : services) {
    if (!service.primaryOnly) continue;
    const Payload role =
        now.isWritable() ? local(machines::BecomePrimary{now.topology.memory.term}) : local(machines::StepDown{});
    node->tell(node->address(servicePath(service.name)), role);
  }
}

replication::TopologyParts Server::Parts::topologyParts(const std::shared_ptr<link::Links>& links) {
  replication::TopologyParts topology;
  topology.storage = std::make_shared<machines::StorageAccess>(storageAccess());
  topology.membership = membership.get();
  topology.changed = [this](const replication::ReplicaView& now) {
    hello.bump();
    tellServices(now);
    log.info(Component::kReplication, 21358, "topology", "Replica set state",
             bson::doc("state", machines::EnumNames<replication::MemberState>::name(now.state()), "writable",
                       now.isWritable(), "term", now.topology.memory.term, "primary", now.primary()));
  };
  topology.interruptOperations = [this] {
    const auto done = commands::interruptWrites(*context);
    log.info(Component::kReplication, 21340, "topology", "Operations at a change of role",
             bson::doc("killed", done.killed, "left", done.left));
    return replication::TopologyParts::Interrupted{done.killed, done.left};
  };
  topology.setPeers = [this, links](std::vector<std::string> peers) {
    for (const std::string& peer : peers) links->know(peer, link::Links::Since::kMember);
    node->tell(node->address(link::kLinksPath), local(link::SetPeers{std::move(peers)}));
  };
  return topology;
}

/// A primary that is told to stop asks another member to take over (BOOT-005), and does not wait long for it.
void Server::Parts::handOver() {
  if (!membership || !membership->view()->isWritable() || !root) return;
  replication::StepDown command;
  command.catchUpPeriod = std::chrono::milliseconds(1000);
  command.handoff = parameters.enableElectionHandoff;
  const Address topology = node->address(replication::kTopologyPath);
  const Status outcome = node->wait(outcomeOf(node->ask(topology, local(std::move(command)), std::chrono::seconds(2))));
  log.info(Component::kReplication, 21344, "main", "Stepped down for shutdown",
           bson::doc("outcome", outcome.toString()));
}

Status Server::Parts::startActors() {
  storageRows = std::make_unique<StorageRows>(*context);
  TreeParts parts;
  parts.server = context.get();
  parts.commands = &commands::builtinCommands();
  parts.flushKind = storage::flushKind(options.journal);
  parts.jobs = workers->jobs();
  parts.listener.addresses = splitList(options.bindIp);
  parts.listener.port = static_cast<uint16_t>(options.port);
  parts.listener.maxConnections = options.maxConnections;
  TROUPE_ASSIGN(parts.listener.tls, tlsOptions(options));
  TROUPE_ASSIGN(parts.links, makeLinks(*node, options, log));
  if (membership) parts.topology = topologyParts(parts.links);
  const ServiceParts serviceParts{std::make_shared<machines::StorageAccess>(storageAccess()), membership.get()};
  for (const Service& service : services) parts.services.push_back(service.make(serviceParts));
  if (options.adminPort > 0) {
    parts.admin.emplace();
    parts.admin->address = options.adminBindIp;
    parts.admin->port = static_cast<uint16_t>(options.adminPort);
    TROUPE_ASSIGN(parts.admin->tls, adminTlsOptions(options));
    if (parts.admin->tls.mode != tls::TlsMode::kDisabled)  // a certificate that is no good is told at once
      TROUPE_TRY(
          tls::makeServerContext(parts.admin->tls).status().withContext("--adminTlsMode " + options.adminTlsMode));
  }
  auto started = startWatchedTree(*node, dataNodeTree(parts), [this](const Status& reason) {
    if (!reason.isOK())
      log.error(Component::kSupervision, 23379, "main", "The tree of actors has ended",
                bson::doc("reason", reason.reason()));
    failWith(reason);
  });
  root = started.root;
  return node->wait(awaitStatus(std::move(started.ready)));
}

void Server::Parts::logStartUp() {
  log.info(Component::kControl, 4615611, "main", "trouped starting",
           bson::doc("pid", static_cast<int64_t>(getpid()), "port", options.port, "dbPath", options.dbPath,
                     "troupeVersion", commands::kTroupeVersion, "speaksAs", commands::kServerVersion));
  if (!options.auth) {
    log.warning(Component::kControl, 22120, "main",
                "Access control is not enabled for the database. Read and write access to data and configuration is "
                "unrestricted");
  }
}

Server::Server(Options options, std::vector<Service> services)
    : parts_(std::make_unique<Parts>(std::move(options), std::move(services))) {}
Server::~Server() { stop(); }

Status Server::start() {
  Parts& p = *parts_;
  p.logStartUp();
  TROUPE_TRY(p.applyParameters());
  TROUPE_TRY(p.openStorage());
  TROUPE_TRY(p.makeContext());
  TROUPE_TRY(p.startActors());
  if (!p.options.pidFilePath.empty()) std::ofstream(p.options.pidFilePath) << getpid() << "\n";
  p.log.info(Component::kControl, 23017, "main", "Ready for clients", bson::doc("port", p.options.port));
  p.log.markStarted();
  notifyServiceManager("READY=1\nSTATUS=Ready for clients");
  return Status::OK();
}

storage::RepairTeller Server::Parts::tellRepair() {
  return [this](const std::string& line) { log.warning(Component::kRecovery, 22260, "repair", line); };
}

Status Server::repair() {
  Parts& p = *parts_;
  p.logStartUp();
  TROUPE_TRY(p.applyParameters());
  TROUPE_TRY(p.openStorage());
  TROUPE_ASSIGN(const auto report, storage::repairCollections(*p.catalog, p.tellRepair()));
  p.log.info(
      Component::kRecovery, 22261, "repair", "Finished checking and repairing",
      bson::doc("collections", report.collections, "repaired", report.repaired, "beyondRepair", report.beyondRepair));
  if (report.beyondRepair.empty()) return Status::OK();
  return {ErrorCode::kManualInterventionRequired, std::to_string(report.beyondRepair.size()) +
                                                      " collections could not be repaired, the first is " +
                                                      report.beyondRepair.front() + "; restore them from a backup"};
}

Status Server::waitForStop() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, s);
  for (;;) {
    int received = 0;
    sigwait(&signals, &received);
    if (received == SIGHUP) continue;
    {
      const std::lock_guard lock(parts_->failureMutex);
      if (!parts_->failure.isOK()) return parts_->failure;
    }
    parts_->log.info(Component::kControl, 23377, "main", "Received a signal to stop", bson::doc("signal", received));
    return Status::OK();
  }
}

void Server::stop() {
  Parts& p = *parts_;
  if (p.stopped) return;
  p.stopped = true;
  notifyServiceManager("STOPPING=1");
  p.handOver();
  p.hello.beginShutdown();
  p.cappedWaiters.wakeAll();
  if (p.root && !p.node->wait(stopTree(*p.node, p.root, kDrainTime))) {
    p.log.warning(Component::kSupervision, 23378, "main", "Some actors did not stop in time and are killed");
  }
  p.durability.close({ErrorCode::kShutdownInProgress, "the server is shutting down"});
  if (p.node) p.node->shutdown();
  p.storageRows.reset();
  p.context.reset();
  p.membership.reset();
  p.environment->setFaults(nullptr);
  p.workers.reset();
  p.node.reset();
  p.disk.reset();
  if (p.catalog) {
    const Status flushed = p.catalog->flush();
    if (!flushed.isOK())
      p.log.warning(Component::kStorage, 22322, "main", "The collections' sizes could not be saved",
                    bson::doc("error", flushed.reason()));
  }
  p.users.reset();
  p.catalog.reset();
  p.storageSessions.reset();
  if (p.engine) {
    const Status closed = p.engine->close();
    if (!closed.isOK())
      p.log.error(Component::kStorage, 22323, "main", "The storage engine did not close cleanly",
                  bson::doc("error", closed.reason()));
    p.engine.reset();
  }
  if (!p.options.pidFilePath.empty()) unlink(p.options.pidFilePath.c_str());
  p.log.info(Component::kControl, 20565, "main", "Now exiting");
}

void blockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, s);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int exitCodeFor(const Status& status) {
  switch (status.code()) {
    case ErrorCode::kBadValue:
    case ErrorCode::kInvalidOptions:
    case ErrorCode::kFailedToParse: return 2;
    case ErrorCode::kUnsupportedFormat: return 62;
    default: return 100;
  }
}

}  // namespace troupe::supervisors
