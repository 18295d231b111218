#include "supervisors/daemon/server.hpp"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>

#include "actors/server/version.hpp"
#include "messaging/auth/random.hpp"
#include "messaging/link/node_name.hpp"
#include "storage/engine/wiredtiger_engine.hpp"
#include "storage/oplog/oplog_collection.hpp"
#include "storage/validation/repair.hpp"
#include "supervisors/assembly/node_assembly.hpp"
#include "supervisors/daemon/cluster_links.hpp"
#include "supervisors/daemon/descriptor_shares.hpp"
#include "supervisors/daemon/exit_watchdog.hpp"
#include "supervisors/daemon/login_secret.hpp"
#include "supervisors/daemon/option_files.hpp"
#include "supervisors/daemon/service_manager.hpp"
#include "supervisors/daemon/settings.hpp"

namespace troupe::supervisors {

namespace fs = std::filesystem;
using log::Component;

namespace {

/// What the end of the process may take: after a failure of the engine, which may hold any thread that calls it; until
/// the tree has stopped, which has its own limits below this one; without a sign of life while storage is closed.
constexpr auto kAfterPanic = std::chrono::seconds(9);
constexpr auto kToStop = std::chrono::seconds(30);
constexpr auto kIdleWhileClosing = std::chrono::seconds(9);

Status setParameters(const Options& options, server::Parameters& parameters) {
  parameters.slowOperationMillis = options.slowMs;
  parameters.journalCommitIntervalMillis = options.journalCommitIntervalMs;
  parameters.syncPeriodSeconds = options.syncPeriodSecs;
  parameters.operationMemoryTotalBytes = operationMemoryBytes();
  for (const auto& given : options.setParameters) {
    const auto equals = given.find('=');
    TROUPE_TRY(parameters.setFromText(given.substr(0, equals), given.substr(equals + 1))
                   .withContext("--setParameter " + given));
  }
  return Status::OK();
}

StatusWith<std::unique_ptr<storage::Engine>> openEngine(const Options& options, const DescriptorShares& descriptors,
                                                        const EngineSetting& setting, ExitWatchdog& watchdog) {
  log::Log& log = setting.log;
  std::error_code error;
  if (!fs::is_directory(options.dbPath, error)) {
    return Status(ErrorCode::kNonExistentPath,
                  "the data directory " + options.dbPath + " does not exist: create it or name another with --dbpath");
  }
  storage::WiredTigerOptions engineOptions;
  engineOptions.path = options.dbPath;
  engineOptions.cacheBytes = cacheBytes(options);
  engineOptions.journalEnabled = options.journal;
  engineOptions.rewriteOldTables = !options.repair;
  engineOptions.salvageMetadata = options.repair;
  engineOptions.maxOpenTables = descriptors.tables;
  engineOptions.transactionTooLargeForCacheThreshold = setting.parameters.transactionTooLargeForCacheThreshold;
  engineOptions.onMessage = [&log](storage::WiredTigerOptions::Level level, std::string_view text) {
    if (level == storage::WiredTigerOptions::Level::kError) log.error(Component::kStorage, 22435, "engine", text);
    else if (level == storage::WiredTigerOptions::Level::kNotice) log.info(Component::kStorage, 22431, "engine", text);
    else log.debug(1, Component::kStorage, 22430, "engine", text);
  };
  // The engine cannot be used any more: the process ends, and the next start recovers from the journal.
  engineOptions.onPanic = [&log, &watchdog, failed = setting.failed](const Status& cause) {
    watchdog.endWithin(kAfterPanic, "the storage engine has failed (" + cause.reason() + "), and the process went on");
    log.error(Component::kStorage, 22446, "engine",
              "The storage engine failed; stopping so that the next start recovers",
              bson::doc("cause", cause.reason()));
    failed(cause);
  };
  log.info(Component::kStorage, 22315, "main", "Opening the storage engine",
           bson::doc("dbpath", options.dbPath, "cacheBytes", engineOptions.cacheBytes, "journal", options.journal));
  return storage::openWiredTiger(engineOptions);
}

server::ServerIdentity identityOf(const Options& options, const DescriptorShares& descriptors,
                                  std::vector<wire::Compressor> allowed) {
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  server::ServerIdentity result;
  result.host = std::string(host) + ":" + std::to_string(options.port);
  result.port = options.port;
  result.maxConnections = descriptors.connections;
  result.authentication = options.auth;
  result.compressors = std::move(allowed);
  result.commandLine = bson::doc("argv", options.argv, "parsed", options.parsed);
  return result;
}

/// The daemon's options as those of its node. Errors: BadValue.
StatusWith<AssemblyOptions> assemblyOptions(Options& options, const DescriptorShares& descriptors) {
  if (!options.keyFile.empty()) options.auth = true;  // nodes that trust each other by a secret serve no strangers
  AssemblyOptions made;
  TROUPE_ASSIGN(auto allowed, compressors(options.compressors));
  if (options.nodeName.empty() && !options.replSet.empty()) options.nodeName = reachableName(options);
  made.name = options.nodeName.empty() ? "localhost:" + std::to_string(options.port) : options.nodeName;
  made.threads = static_cast<unsigned>(options.threads);
  made.log = logOptions(options);
  made.identity = identityOf(options, descriptors, std::move(allowed));
  made.setParameters = [&options](server::Parameters& parameters) { return setParameters(options, parameters); };
  made.dataDirectory = options.dbPath;
  made.spillDirectory = options.dbPath + "/_tmp";
  made.journal = options.journal;
  made.repair = options.repair;
  made.listener.addresses = splitList(options.bindIp);
  made.listener.port = static_cast<uint16_t>(options.port);
  made.listener.localSocket = localSocketPath(options);
  TROUPE_ASSIGN(made.listener.localSocketPermissions, localSocketPermissions(options));
  TROUPE_ASSIGN(made.listener.tls, tlsOptions(options));
  TROUPE_ASSIGN(made.links, linkOptions(options));
  if (options.adminPort > 0) {
    made.admin.emplace();
    made.admin->address = options.adminBindIp;
    made.admin->port = static_cast<uint16_t>(options.adminPort);
    made.admin->maxConnections = static_cast<size_t>(descriptors.admin);
    TROUPE_ASSIGN(made.admin->tls, adminTlsOptions(options));
  }
  made.replicaSet = options.replSet;
  made.oplog.maxBytes = options.oplogSizeMB << 20;
  made.oplog.minRetentionMillis = static_cast<int64_t>(options.oplogMinRetentionHours * 3'600'000);
  made.secrets = auth::secureRandom();
  if (options.auth) {
    made.loginSecret = [&options, random = made.secrets, key = made.links->key]() -> StatusWith<std::string> {
      if (!key.empty()) return loginSecretOfKey(key);
      return loginSecretKeptIn(options.dbPath, random);
    };
  }
  made.requestShutdown = [] { kill(getpid(), SIGTERM); };
  return made;
}

}  // namespace

struct Server::Parts {
  Options options;
  Extension extension;
  ExitWatchdog watchdog{};
  DescriptorShares descriptors{};
  std::unique_ptr<NodeAssembly> node;
  bool stopped = false;
  std::mutex failureMutex;
  Status failure;  ///< why the node has to end by itself; OK while it has not

  Status open();
  void logStartUp();
  void warnOfOtherPort() const;
  /// Nothing carries out the log of a member's directory where it is opened by a node that stands alone.
  void warnOfLeftSet() const;
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

Status Server::Parts::open() {
  TROUPE_TRY(checkFiles(options));
  TROUPE_ASSIGN(descriptors, shareDescriptors({.limit = raiseDescriptorLimit(),
                                               .connections = options.maxConnections,
                                               .openTables = options.maxOpenTables,
                                               .reserve = options.openFilesReserve}));
  TROUPE_ASSIGN(AssemblyOptions wanted, assemblyOptions(options, descriptors));
  wanted.commands = extension.commands;
  wanted.services = extension.services;
  wanted.failed = [this](const Status& reason) { failWith(reason); };
  wanted.stopping = [this](StopStage stage) {
    if (stage == StopStage::kTree) watchdog.endWhenIdleFor(kToStop, "stopping has made no progress");
    else watchdog.endWhenIdleFor(kIdleWhileClosing, "closing has made no progress");
  };
  const auto opener = [this](const EngineSetting& setting) {
    return openEngine(options, descriptors, setting, watchdog);
  };
  node = std::make_unique<NodeAssembly>(makeRealEnvironment(), opener, transport::makeTcpNetwork(), std::move(wanted));
  logStartUp();
  return node->open();
}

void Server::Parts::logStartUp() {
  log::Log& log = node->log();
  log.info(Component::kControl, 4615611, "main", "trouped starting",
           bson::doc("pid", static_cast<int64_t>(getpid()), "port", options.port, "dbPath", options.dbPath,
                     "troupeVersion", server::kTroupeVersion, "speaksAs", server::kServerVersion));
  log.info(Component::kControl, 22180, "main", "Open files",
           bson::doc("limit", descriptors.limit, "reserve", descriptors.reserve, "connections", descriptors.connections,
                     "tables", descriptors.tables, "links", descriptors.links, "admin", descriptors.admin));
  if (descriptors.connections < options.maxConnections) {
    log.warning(Component::kControl, 22184, "main",
                "The limit of open files allows fewer connections than --maxConns asks for; raise it with `ulimit -n` "
                "or LimitNOFILE=",
                bson::doc("limit", descriptors.limit, "connections", descriptors.connections, "maxConns",
                          options.maxConnections));
  }
  if (!options.auth && !options.repair) {  // a repair serves nobody
    log.warning(Component::kControl, 22120, "main",
                "Access control is not enabled for the database. Read and write access to data and configuration is "
                "unrestricted");
  }
}

/// Others connect to the name. Something may forward its port, so this is no error.
void Server::Parts::warnOfOtherPort() const {
  const auto name = link::splitNodeName(options.nodeName);
  if (options.replSet.empty() || !name.isOK() || name->second == std::to_string(options.port)) return;
  node->log().warning(Component::kControl, 22150, "main",
                      "The name of this member has another port than it listens on: unless something forwards it, the "
                      "other members do not reach this one; see --nodeName",
                      bson::doc("nodeName", options.nodeName, "port", options.port));
}

void Server::Parts::warnOfLeftSet() const {
  if (!options.replSet.empty() || !node->catalog().find(storage::oplogName())) return;
  node->log().warning(
      Component::kControl, 22148, "main",
      "This data directory is a member's of a replica set, and is opened without --replSet: collections are as of "
      "their last checkpoint, and local.oplog.rs has what came after it. Once replicated data are changed here, of "
      "which "
      "no other member hears, a start with --replSet refuses the directory. Documents do not expire meanwhile",
      bson::doc("dbPath", options.dbPath));
}

Server::Server(Options options, Extension extension)
    : parts_(new Parts{.options = std::move(options), .extension = std::move(extension), .node = nullptr}) {}
Server::~Server() { stop(); }

Status Server::start() {
  Parts& p = *parts_;
  TROUPE_TRY(p.open());
  p.warnOfOtherPort();
  p.warnOfLeftSet();
  TROUPE_TRY(p.node->startTree());
  if (!p.options.pidFilePath.empty()) std::ofstream(p.options.pidFilePath) << getpid() << "\n";
  p.node->log().info(Component::kControl, 23017, "main", "Ready for clients", bson::doc("port", p.options.port));
  p.node->log().markStarted();
  notifyServiceManager("READY=1\nSTATUS=Ready for clients");
  return Status::OK();
}

Status Server::repair() {
  Parts& p = *parts_;
  TROUPE_TRY(p.open());
  log::Log& log = p.node->log();
  const auto tell = [&log](const std::string& line) { log.warning(Component::kRecovery, 22260, "repair", line); };
  TROUPE_ASSIGN(const auto report, storage::repairCollections(p.node->catalog(), p.node->damagedTables(), tell));
  log.info(Component::kRecovery, 22261, "repair", "Finished checking and repairing", report.toDocument());
  TROUPE_TRY(p.node->engine().checkpoint().status());
  TROUPE_TRY(storage::RepairMark(p.options.dbPath).end());
  if (report.beyondRepair.empty()) return Status::OK();
  return {ErrorCode::kManualInterventionRequired, std::to_string(report.beyondRepair.size()) +
                                                      " collections could not be repaired, the first is " +
                                                      report.beyondRepair.front() + "; restore them from a backup"};
}

void Server::logFailure(const Status& reason) {
  Parts& p = *parts_;
  const auto put = [&](log::Log& log) {
    log.error(Component::kControl, 20575, "main", p.options.repair ? "The repair failed" : "The start failed",
              bson::doc("error", reason.reason(), "codeName", errorName(reason.code()), "exitCode",
                        static_cast<int32_t>(exitCodeFor(reason, FailedWhile::kStarting))));
  };
  if (p.node) return put(p.node->log());
  if (p.options.logPath.empty() || !checkLogFile(p.options).isOK()) return;
  const auto clock = makeRealEnvironment();
  log::Log log(logOptions(p.options), [clock] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock->wallNow().time_since_epoch()).count();
  });
  put(log);
}

Status Server::waitForStop() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, s);
  for (;;) {
    int received = 0;
    sigwait(&signals, &received);
    if (received == SIGHUP) continue;
    if (received == SIGUSR1) {
      const Status rotated = parts_->node->log().rotate().status();
      if (!rotated.isOK())
        parts_->node->log().warning(Component::kControl, 23168, "main", "The log file was not rotated",
                                    bson::doc("error", rotated.reason()));
      continue;
    }
    {
      const std::lock_guard lock(parts_->failureMutex);
      if (!parts_->failure.isOK()) return parts_->failure;
    }
    parts_->node->log().info(Component::kControl, 23377, "main", "Received a signal to stop",
                             bson::doc("signal", received));
    return Status::OK();
  }
}

void Server::stop() {
  Parts& p = *parts_;
  if (!p.node || std::exchange(p.stopped, true)) return;
  notifyServiceManager("STOPPING=1");
  p.node->stop();
  if (!p.options.pidFilePath.empty()) unlink(p.options.pidFilePath.c_str());
  p.node->log().info(Component::kControl, 20565, "main", "Now exiting");
}

void blockSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, s);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

int exitCodeFor(const Status& status, FailedWhile when) {
  constexpr int kOptions = 2, kFormat = 62, kNeedsOperator = 65, kOther = 100;
  switch (status.code()) {
    case ErrorCode::kBadValue:
    case ErrorCode::kInvalidOptions:
    case ErrorCode::kFailedToParse: return when == FailedWhile::kStarting ? kOptions : kOther;
    case ErrorCode::kUnsupportedFormat: return when == FailedWhile::kStarting ? kFormat : kOther;
    // Of the node's data: every other start would meet the same. One that has run may find another page.
    case ErrorCode::kDataCorruptionDetected: return when == FailedWhile::kStarting ? kNeedsOperator : kOther;
    case ErrorCode::kManualInterventionRequired: return kNeedsOperator;
    default: return kOther;
  }
}

}  // namespace troupe::supervisors
