#include "storage/engine/wiredtiger_engine.hpp"

#include <wiredtiger.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>

#include "storage/engine/checkpoint_turns.hpp"
#include "storage/engine/data_directory.hpp"
#include "storage/engine/ident.hpp"
#include "storage/engine/repair_mark.hpp"
#include "storage/engine/turtle_file.hpp"
#include "storage/engine/wiredtiger_backup.hpp"
#include "storage/engine/wiredtiger_block_check.hpp"
#include "storage/engine/wiredtiger_bulk_load.hpp"
#include "storage/engine/wiredtiger_connection.hpp"
#include "storage/engine/wiredtiger_rewrite.hpp"
#include "storage/engine/wiredtiger_session.hpp"
#include "storage/engine/wiredtiger_tables.hpp"

namespace troupe::storage {
namespace {

/// Of the metadata of a table's file.
bool isLoggedIn(const std::string& config) { return configValue(config, "log.enabled") != "false"; }

class WiredTigerEngine final : public Engine {
 public:
  WiredTigerEngine(const WiredTigerOptions& options, DirectoryLock lock)
      : lock_(std::move(lock)), connection_(std::make_shared<WiredTigerConnection>(options, preparedDecisions_)) {}
  ~WiredTigerEngine() override { (void)close(); }

  Status open();
  /// Refuses a directory in which the file of a table is missing.
  Status checkFilesAreThere();
  Status finishInterruptedRewrite() { return storage::finishInterruptedRewrite(*connection_); }
  /// Gives tables of older versions checksums on every block.
  Status rewriteOldTables();

  StatusWith<std::unique_ptr<Session>> openSession() override;
  StatusWith<Table> createTable(std::string_view ident, const TableOptions& options) override;
  StatusWith<Table> openTable(std::string_view ident) override;
  Status dropTable(std::string_view ident) override;
  std::vector<std::string> listTables() override;
  StatusWith<std::string> tableMetadata(std::string_view ident) override;
  int64_t tableBytes(const Table& table) override { return tableStatistic(table, WT_STAT_DSRC_BLOCK_SIZE); }
  int64_t freeBytes(const Table& table) override { return tableStatistic(table, WT_STAT_DSRC_BLOCK_REUSE_BYTES); }
  StatusWith<std::unique_ptr<BulkLoad>> bulkLoad(const Table& table) override;
  StatusWith<bool> compactTable(const Table& table) override;
  Status verifyTable(std::string_view ident) override;
  std::unique_ptr<BlockCheck> checkBlocks(std::string_view ident) override {
    return std::make_unique<WiredTigerBlockCheck>(connection_, ident);
  }
  Status salvageTable(std::string_view ident) override;
  Status flushLog() override;
  StatusWith<Timestamp> checkpoint(const CheckpointOptions& options) override;
  Timestamp lastCheckpointTimestamp() override;
  Status setLogged(std::span<const TableLogging> wanted) override;
  StatusWith<bool> isLogged(std::string_view ident) override;
  Status setStableTimestamp(Timestamp ts) override { return setTimestamp("stable_timestamp", ts, stableTimestamp()); }
  Status setOldestTimestamp(Timestamp ts) override { return setTimestamp("oldest_timestamp", ts, oldestTimestamp()); }
  Timestamp allDurableTimestamp() override { return queryTimestamp("get=all_durable"); }
  Timestamp stableTimestamp() override { return queryTimestamp("get=stable"); }
  Timestamp oldestTimestamp() override { return queryTimestamp("get=oldest"); }
  Timestamp recoveryTimestamp() override { return recovery_; }
  Status rollbackToStable() override;
  StatusWith<std::unique_ptr<Backup>> beginBackup() override;
  EngineStatistics statistics() override;
  std::string version() const override {
    return std::string("WiredTiger ") + wiredtiger_version(nullptr, nullptr, nullptr);
  }
  Status close() override;

 private:
  Status setTimestamp(const char* name, Timestamp ts, Timestamp current);
  /// The value of an entry of the engine's metadata; NoSuchKey when there is none.
  StatusWith<std::string> metadata(WT_SESSION* session, const std::string& uri, std::string_view ident);
  Timestamp queryTimestamp(const char* which);
  /// Zero when it is not to be had.
  int64_t tableStatistic(const Table& table, int key);
  Table registered(std::string_view ident);
  /// The status of a schema operation on a table: NoSuchKey for a missing one.
  Status tableStatus(int code, const char* what, std::string_view ident);

  DirectoryLock lock_;
  std::shared_ptr<WiredTigerConnection> connection_;
  Timestamp recovery_;
  CheckpointTurns checkpoints_;  ///< also of compactions and the start of backups: each knows its time
  std::atomic<uint64_t> lastCheckpoint_{
      0};             ///< a Timestamp, which is not aligned as atomics must be; written within a turn
  std::mutex mutex_;  ///< of the table ids
  std::map<std::string, uint32_t, std::less<>> ids_;
  uint32_t nextId_ = 1;
};

/// History before the recovered checkpoint is gone: an older read would silently see newer data, so it is refused.
Status WiredTigerEngine::open() {
  TROUPE_TRY(connection_->open());
  recovery_ = queryTimestamp("get=recovery");
  lastCheckpoint_ = recovery_.asUint64();
  if (recovery_ == Timestamp{}) return {};
  TROUPE_TRY(setOldestTimestamp(recovery_));
  return setStableTimestamp(recovery_);
}

Status WiredTigerEngine::rewriteOldTables() {
  TROUPE_ASSIGN(const RewriteReport report, rewriteWithChecksums(*connection_));
  if (report.tables > 0 && connection_->options().onMessage)
    connection_->options().onMessage(WiredTigerOptions::Level::kNotice,
                                     "Each block of these tables has a checksum now: " + std::to_string(report.tables) +
                                         ", with rows: " + std::to_string(report.rows));
  return {};
}

/// The engine opens a file when its table is used first, which may be much later, and says then that there is none
/// such: this is also what it says of a dropped table. Where a kill cut a creation or a drop short, no file is missed.
Status WiredTigerEngine::checkFilesAreThere() {
  constexpr int kNamed = 3;
  std::string missing;
  int count = 0;
  TROUPE_ASSIGN(const std::vector<DescribedTable> tables, describeTables(*connection_));
  for (const DescribedTable& table : tables) {
    const std::string name = table.ident + ".wt";
    std::error_code error;
    if (!table.whole || std::filesystem::exists(connection_->options().path + "/" + name, error) || error) continue;
    if (++count <= kNamed) missing += (count == 1 ? "" : ", ") + name;
  }
  if (count == 0) return {};
  if (count > kNamed) missing += " and " + std::to_string(count - kNamed) + " more";
  return {ErrorCode::kDataCorruptionDetected, "the data directory " + connection_->options().path +
                                                  " lacks files of tables: " + missing +
                                                  "; restore a backup or resync from another member, or start with "
                                                  "--repair"};
}

StatusWith<std::unique_ptr<Session>> WiredTigerEngine::openSession() {
  WT_CONNECTION* connection = connection_->get();
  if (!connection) return Status(ErrorCode::kShutdownInProgress, "the storage engine is closed");
  WT_SESSION* session = nullptr;
  const int code = connection->open_session(connection, nullptr, "isolation=snapshot", &session);
  if (code != 0) return connection_->status(code, "open a storage session");
  return std::unique_ptr<Session>(std::make_unique<WiredTigerSession>(connection_, session));
}

Table WiredTigerEngine::registered(std::string_view ident) {
  std::lock_guard lock(mutex_);
  auto it = ids_.find(ident);
  if (it == ids_.end()) it = ids_.emplace(std::string(ident), nextId_++).first;
  return {it->first, it->second};
}

Status WiredTigerEngine::tableStatus(int code, const char* what, std::string_view ident) {
  return connection_->status(code, std::string(what).append(" ").append(ident));
}

StatusWith<Table> WiredTigerEngine::createTable(std::string_view ident, const TableOptions& options) {
  TROUPE_TRY(checkIdent(ident));
  TROUPE_TRY(checkTableOptions(options));
  if (options.essential) connection_->openTables().noteEssential();
  else TROUPE_TRY(connection_->openTables().admitNew());
  ScopedWtSession session(*connection_);
  TROUPE_TRY(session.status());
  const int code = session->create(session.get(), tableUri(ident).c_str(), tableConfig(options).c_str());
  TROUPE_TRY(tableStatus(code, "create", ident));
  return registered(ident);
}

StatusWith<Table> WiredTigerEngine::openTable(std::string_view ident) {
  {
    std::lock_guard lock(mutex_);
    if (auto it = ids_.find(ident); it != ids_.end()) return Table{it->first, it->second};
  }
  TROUPE_TRY(tableMetadata(ident).status());
  return registered(ident);
}

Status WiredTigerEngine::dropTable(std::string_view ident) {
  TROUPE_TRY(tableMetadata(ident).status());
  ScopedWtSession session(*connection_);
  TROUPE_TRY(session.status());
  // It waits for the engine's schema locks, which are held for moments, but for no checkpoint. (With lock_wait=false,
  // 3.2.1 calls tables busy that are not: of tables created and dropped at once one was dropped in each call of the
  // reaper, and the others stayed open.) What the table still has in the cache need not be written first.
  const int code = session->drop(session.get(), tableUri(ident).c_str(), "force=true,checkpoint_wait=false");
  if (code == 0) {
    std::lock_guard lock(mutex_);
    if (auto it = ids_.find(ident); it != ids_.end()) ids_.erase(it);
  }
  return tableStatus(code, "drop", ident);
}

std::vector<std::string> WiredTigerEngine::listTables() {
  std::vector<std::string> idents;
  auto tables = describeTables(*connection_);
  if (!tables.isOK()) return idents;
  for (DescribedTable& table : *tables) idents.push_back(std::move(table.ident));
  return idents;
}

StatusWith<std::string> WiredTigerEngine::metadata(WT_SESSION* session, const std::string& uri,
                                                   std::string_view ident) {
  TROUPE_TRY(checkIdent(ident));
  std::string config;
  const int code = readMetadata(session, uri, config);
  if (code == WT_NOTFOUND) return Status(ErrorCode::kNoSuchKey, "no such table: " + std::string(ident));
  TROUPE_TRY(tableStatus(code, "find", ident));
  return config;
}

StatusWith<std::string> WiredTigerEngine::tableMetadata(std::string_view ident) {
  ScopedWtSession session(*connection_);
  TROUPE_TRY(session.status());
  TROUPE_ASSIGN(const std::string config, metadata(session.get(), tableUri(ident), ident));
  return configValue(config, "app_metadata").value_or("");
}

StatusWith<bool> WiredTigerEngine::isLogged(std::string_view ident) {
  ScopedWtSession session(*connection_);
  TROUPE_TRY(session.status());
  TROUPE_ASSIGN(const std::string config, metadata(session.get(), fileUri(ident), ident));
  return isLoggedIn(config);
}

Status WiredTigerEngine::setLogged(std::span<const TableLogging> wanted) {
  ScopedWtSession session(*connection_);
  TROUPE_TRY(session.status());
  std::vector<const TableLogging*> changes;
  for (const TableLogging& table : wanted) {
    TROUPE_ASSIGN(const std::string config, metadata(session.get(), fileUri(table.ident), table.ident));
    if (isLoggedIn(config) != table.logged) changes.push_back(&table);
  }
  if (changes.empty()) return {};
  for (const TableLogging* table : changes) {
    const char* config = table->logged ? "log=(enabled=true)" : "log=(enabled=false)";
    const int code = session->alter(session.get(), tableUri(table->ident).c_str(), config);
    TROUPE_TRY(tableStatus(code, "change the logging of", table->ident));
  }
  // A later recovery must not apply log records of a table on top of data it was no longer told of.
  return checkpoint({}).status();
}

int64_t WiredTigerEngine::tableStatistic(const Table& table, int key) {
  ScopedWtSession session(*connection_);
  WT_CURSOR* cursor = nullptr;
  const std::string uri = "statistics:" + tableUri(table.ident);
  const char* config = key == WT_STAT_DSRC_BLOCK_SIZE ? "statistics=(size)" : "statistics=(fast)";
  if (!session.status().isOK() || session->open_cursor(session.get(), uri.c_str(), nullptr, config, &cursor) != 0) {
    return 0;
  }
  const int64_t bytes = connection_->statistic(cursor, key);
  cursor->close(cursor);
  return bytes;
}

StatusWith<std::unique_ptr<BulkLoad>> WiredTigerEngine::bulkLoad(const Table& table) {
  TROUPE_ASSIGN(const bool logged, isLogged(table.ident));
  if (logged) return Status(ErrorCode::kIllegalOperation, "a logged table is not filled: " + table.ident);
  return WiredTigerBulkLoad::begin(connection_, table);
}

StatusWith<bool> WiredTigerEngine::compactTable(const Table& table) {
  ScopedWtSession session(*connection_);
  TROUPE_TRY(session.status());
  // It takes checkpoints of its own, stable ones.
  if (isCopying()) return Status(ErrorCode::kObjectIsBusy, "the data are being copied; compact them afterwards");
  const CheckpointTurns::Turn turn(checkpoints_, CheckpointTurns::Kind::kCompaction);
  const int code = session->compact(session.get(), tableUri(table.ident).c_str(), "timeout=1");
  lastCheckpoint_ = queryTimestamp("get=last_checkpoint").asUint64();
  if (code == ETIMEDOUT) return false;
  TROUPE_TRY(tableStatus(code, "compact", table.ident));
  return true;
}

Status WiredTigerEngine::verifyTable(std::string_view ident) {
  TROUPE_TRY(tableMetadata(ident).status());
  ScopedWtSession session(*connection_);
  TROUPE_TRY(session.status());
  const int code = session->verify(session.get(), tableUri(ident).c_str(), nullptr);
  if (code == 0 || code == EBUSY || code == WT_PANIC) return tableStatus(code, "verify", ident);
  return {ErrorCode::kManualInterventionRequired,
          tableStatus(code, "verify", ident).reason() + ": the table is damaged; salvage it or restore a backup"};
}

Status WiredTigerEngine::salvageTable(std::string_view ident) {
  TROUPE_TRY(tableMetadata(ident).status());
  ScopedWtSession session(*connection_);
  TROUPE_TRY(session.status());
  // By force: also a file whose first bytes are damaged.
  return tableStatus(session->salvage(session.get(), tableUri(ident).c_str(), "force=true"), "salvage", ident);
}

Status WiredTigerEngine::flushLog() {
  if (!connection_->options().journalEnabled) return checkpoint({}).status();
  return connection_->flushLog();
}

StatusWith<Timestamp> WiredTigerEngine::checkpoint(const CheckpointOptions& options) {
  ScopedWtSession session(*connection_);
  TROUPE_TRY(session.status());
  const CheckpointTurns::Turn turn(checkpoints_, CheckpointTurns::Kind::kCheckpoint);
  const bool stable = isStable(options);
  const char* config = stable ? "use_timestamp=true" : "use_timestamp=false";
  TROUPE_TRY(connection_->status(session->checkpoint(session.get(), config), "checkpoint"));
  // A full checkpoint leaves the engine's own answer at the stable one before it.
  const Timestamp last = stable ? queryTimestamp("get=last_checkpoint") : Timestamp{};
  lastCheckpoint_ = last.asUint64();
  return last;
}

Timestamp WiredTigerEngine::lastCheckpointTimestamp() { return Timestamp::fromUint64(lastCheckpoint_); }

Status WiredTigerEngine::setTimestamp(const char* name, Timestamp ts, Timestamp current) {
  if (ts == Timestamp{}) return {ErrorCode::kBadValue, std::string(name) + " must not be zero"};
  if (ts <= current) return {};
  WT_CONNECTION* connection = connection_->get();
  if (!connection) return {ErrorCode::kShutdownInProgress, "the storage engine is closed"};
  char config[64];
  std::snprintf(config, sizeof config, "%s=%" PRIx64, name, ts.asUint64());
  return connection_->status(connection->set_timestamp(connection, config), std::string("set ") + name);
}

Timestamp WiredTigerEngine::queryTimestamp(const char* which) {
  WT_CONNECTION* connection = connection_->get();
  char hex[2 * sizeof(uint64_t) + 1] = {};
  if (!connection || connection->query_timestamp(connection, hex, which) != 0) return {};
  return Timestamp::fromUint64(std::strtoull(hex, nullptr, 16));
}

Status WiredTigerEngine::rollbackToStable() {
  WT_CONNECTION* connection = connection_->get();
  if (!connection) return {ErrorCode::kShutdownInProgress, "the storage engine is closed"};
  const Timestamp stable = stableTimestamp();
  if (stable == Timestamp{}) return {ErrorCode::kIllegalOperation, "there is no stable timestamp to roll back to"};
  const int code = connection->rollback_to_stable(connection, nullptr);
  if (code == EINVAL) {
    (void)connection_->status(code, "");
    return {ErrorCode::kObjectIsBusy, "transactions are active; end them before rolling back to the stable time"};
  }
  TROUPE_TRY(connection_->status(code, "roll back to the stable time"));
  // The engine leaves it at the newest commit, which is gone now.
  char config[64];
  std::snprintf(config, sizeof config, "durable_timestamp=%" PRIx64, stable.asUint64());
  return connection_->status(connection->set_timestamp(connection, config), "reset the durable time");
}

StatusWith<std::unique_ptr<Backup>> WiredTigerEngine::beginBackup() {
  WT_CONNECTION* connection = connection_->get();
  if (!connection) return Status(ErrorCode::kShutdownInProgress, "the storage engine is closed");
  WT_SESSION* session = nullptr;
  TROUPE_TRY(connection_->status(connection->open_session(connection, nullptr, nullptr, &session), "begin a backup"));
  const CheckpointTurns::Turn turn(checkpoints_, CheckpointTurns::Kind::kCheckpoint);
  auto backup = std::make_unique<WiredTigerBackup>(connection_, session, lastCheckpointTimestamp());
  TROUPE_TRY(backup->open());
  return std::unique_ptr<Backup>(std::move(backup));
}

EngineStatistics WiredTigerEngine::statistics() {
  EngineStatistics result;
  ScopedWtSession session(*connection_);
  WT_CURSOR* cursor = session.status().isOK() ? connection_->openStatistics(session.get()) : nullptr;
  if (!cursor) return result;
  const auto read = [&](int key) { return connection_->statistic(cursor, key); };
  result.cacheBytesInUse = read(WT_STAT_CONN_CACHE_BYTES_INUSE);
  result.cacheBytesDirty = read(WT_STAT_CONN_CACHE_BYTES_DIRTY);
  result.cacheBytesMax = read(WT_STAT_CONN_CACHE_BYTES_MAX);
  result.logSyncs = read(WT_STAT_CONN_LOG_SYNC);
  result.logBytesWritten = read(WT_STAT_CONN_LOG_BYTES_WRITTEN);
  result.checkpoints = read(WT_STAT_CONN_TXN_CHECKPOINT);
  result.lastCheckpointMillis = read(WT_STAT_CONN_TXN_CHECKPOINT_TIME_RECENT);
  result.transactionsBegun = read(WT_STAT_CONN_TXN_BEGIN);
  result.transactionsCommitted = read(WT_STAT_CONN_TXN_COMMIT);
  result.transactionsRolledBack = read(WT_STAT_CONN_TXN_ROLLBACK);
  result.openTables = read(WT_STAT_CONN_FILE_OPEN);
  result.openTablesLimit = connection_->openTables().limit();
  result.openTablesRefused = connection_->openTables().refusals();
  cursor->close(cursor);
  return result;
}

Status WiredTigerEngine::close() {
  Status status = connection_->close(!isCopying());
  lock_ = DirectoryLock();
  return status;
}

}  // namespace

StatusWith<std::unique_ptr<Engine>> openWiredTiger(const WiredTigerOptions& options) {
  TROUPE_ASSIGN(DirectoryLock lock, DirectoryLock::acquire(options.path));
  TROUPE_TRY(checkDataFormat(options.path, kDataFormatVersion));
  TROUPE_TRY(checkTurtleFile(options.path));
  const RepairMark mark(options.path);
  TROUPE_TRY(options.salvageMetadata ? mark.begin() : mark.checkNone());
  if (options.journalEnabled) {
    std::error_code error;
    std::filesystem::create_directory(options.path + "/journal", error);
    if (error) return systemError(error.value(), "cannot create", options.path + "/journal");
  }
  auto engine = std::make_unique<WiredTigerEngine>(options, std::move(lock));
  TROUPE_TRY(engine->open());
  TROUPE_TRY(engine->finishInterruptedRewrite());
  if (!options.salvageMetadata) TROUPE_TRY(engine->checkFilesAreThere());
  if (options.rewriteOldTables) TROUPE_TRY(engine->rewriteOldTables());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace troupe::storage
