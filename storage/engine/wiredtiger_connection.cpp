#include "storage/engine/wiredtiger_connection.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "storage/engine/journal_compressor.hpp"
#include "storage/engine/log_files.hpp"
#include "storage/engine/open_failure.hpp"
#include "storage/engine/wiredtiger_rescue.hpp"

namespace troupe::storage {
namespace {

/// The last error text of this thread: WiredTiger reports the cause on the calling thread before it returns the code.
thread_local std::string lastErrorText;

std::string describe(int code, std::string_view what) {
  std::string reason(what);
  reason.append(": ").append(wiredtiger_strerror(code));
  if (!lastErrorText.empty()) reason.append(" (").append(lastErrorText).append(")");
  lastErrorText.clear();
  return reason;
}

/// Tables are closed once they were idle for a while and more than a quarter of those allowed are open: the fewer are
/// allowed, the sooner.
std::string fileManagerConfig(int64_t maxOpenTables) {
  constexpr int64_t kFew = 4000;
  const bool few = maxOpenTables > 0 && maxOpenTables < kFew;
  const int64_t minimum = maxOpenTables == 0 ? 250 : std::clamp<int64_t>(maxOpenTables / 4, 16, 10'000);
  return std::string(",file_manager=(") +
         (few ? "close_idle_time=10,close_scan_interval=2" : "close_idle_time=120,close_scan_interval=10") +
         ",close_handle_minimum=" + std::to_string(minimum) + ")";
}

std::string connectionConfig(const WiredTigerOptions& options) {
  std::string config =
      "create,extensions=[libwiredtiger_snappy.so,libwiredtiger_zlib.so,local={entry=troupe_journal_compressor}]";
  config += ",cache_size=" + std::to_string(options.cacheBytes);
  config += ",cache_max_wait_ms=" + std::to_string(options.cacheMaxWait.count());
  config += ",session_max=" + std::to_string(options.sessionMax);
  config += ",eviction=(threads_min=1,threads_max=4),eviction_dirty_target=" + std::to_string(kDirtyTargetPercent) +
            ",eviction_dirty_trigger=" + std::to_string(kDirtyTriggerPercent) +
            ",eviction_trigger=" + std::to_string(kInUseTriggerPercent);
  config += fileManagerConfig(options.maxOpenTables);
  config += options.statistics ? ",statistics=(fast)" : ",statistics=(none)";
  if (options.journalEnabled) {
    config += ",log=(enabled=true,archive=true,path=journal,zero_fill=true,compressor=" + options.logCompressor +
              ",file_max=" + std::to_string(options.logFileMaxBytes) + ")";
    if (options.logUnloggedTables) config += ",debug_mode=(table_logging=true)";
  } else {
    config += ",log=(enabled=false)";
  }
  return config;
}

/// Lines of the engine among which the cause of a panic is looked for.
constexpr size_t kKeptErrors = 4;

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// A line of the dump of a damaged block: it holds bytes of documents, which do not belong into a log.
bool showsContents(std::string_view line) { return line.find(": (chunk ") != std::string_view::npos; }

/// A line that says that what was read is not what had been written, or that a file has an end before it.
bool reportsDamage(std::string_view line) {
  for (const std::string_view sign :
       {"read checksum error", "block decompression failed", "fatal read error", "not appear to be a WiredTiger file",
        "this build only supports major/minor versions", "unsupported checkpoint version",
        "handle-read: pread: failed to read"})
    if (line.find(sign) != std::string_view::npos) return true;
  return false;
}

}  // namespace

WiredTigerConnection::WiredTigerConnection(const WiredTigerOptions& options,
                                           std::shared_ptr<PreparedDecisions> decisions)
    : options_(options),
      decisions_(std::move(decisions)),
      openTables_(options.statistics ? options.maxOpenTables : 0,
                  {.count = [this] { return countOpenFiles(); },
                   .idents = [path = options.path] { return openTableFiles(path); }}) {
  handler_.base.handle_error = &onError;
  handler_.base.handle_message = &onMessage;
  handler_.owner = this;
}

WiredTigerConnection::~WiredTigerConnection() {
  if (connection_) (void)close();
}

/// Within a repair first the tables are mended that stop the recovery; only if that does not help the engine may cut
/// its log, which costs all tables what came last.
Status WiredTigerConnection::open() {
  const auto tell = [this](const std::string& line) {
    if (options_.onMessage) options_.onMessage(WiredTigerOptions::Level::kNotice, line);
  };
  if (options_.journalEnabled) {
    const Status sound = checkLog(options_);
    if (!sound.isOK() && !options_.salvageMetadata) return sound;
    if (!sound.isOK()) {
      TROUPE_TRY(RepairMark(options_.path).add(RepairMark::kJournal));
      tell("What follows in the log is given up, writes of any collection: " + sound.reason());
    }
  }
  Status opened = openWith("");
  if (!isOfDamage(opened) || !options_.salvageMetadata) return opened;
  if (options_.journalEnabled) {
    const auto rescued = rescueTablesBeforeRecovery(options_, RepairMark(options_.path));
    // Only damage is a reason to cut the log, and not what the system has run out of.
    if (!rescued.isOK() && rescued.status() != ErrorCode::kDataCorruptionDetected) return rescued.status();
    if (rescued.isOK() && *rescued > 0) {
      tell("Damaged tables stopped the recovery; what can be read of them was kept, and the log goes on from there: " +
           std::to_string(*rescued) + " tables");
      opened = openWith("");
      if (!isOfDamage(opened)) return opened;
    }
    if (!rescued.isOK()) tell("Damaged tables cannot be mended before the recovery: " + rescued.status().reason());
  }
  TROUPE_TRY(RepairMark(options_.path).add(RepairMark::kMetadata));
  tell("The engine's own files are damaged and are rebuilt as far as possible: " + opened.reason());
  return openWith(",salvage=true");
}

Status WiredTigerConnection::openWith(const std::string& more) {
  {
    std::lock_guard lock(mutex_);
    opening_ = true;
    openErrors_.clear();
    damage_.clear();
  }
  const int code =
      wiredtiger_open(options_.path.c_str(), &handler_.base, (connectionConfig(options_) + more).c_str(), &connection_);
  std::lock_guard lock(mutex_);
  opening_ = false;
  if (code != 0) {
    connection_ = nullptr;
    return openFailure(code, openErrors_, !damage_.empty(), options_.path);
  }
  if (connection_->open_session(connection_, nullptr, nullptr, &evidenceSession_) != 0) evidenceSession_ = nullptr;
  return {};
}

Status WiredTigerConnection::flushLog() {
  const std::lock_guard lock(flushMutex_);
  if (!connection_) return {ErrorCode::kShutdownInProgress, "the storage engine is closed"};
  if (!flushSession_) {
    if (const int code = connection_->open_session(connection_, nullptr, nullptr, &flushSession_)) {
      flushSession_ = nullptr;
      return status(code, "open a storage session");
    }
  }
  return status(flushSession_->log_flush(flushSession_, "sync=on"), "flush the log");
}

Status WiredTigerConnection::close(bool stable) {
  if (!connection_) return {};
  WT_CONNECTION* connection = connection_;
  {
    const std::scoped_lock lock(flushMutex_, mutex_);
    connection_ = nullptr;
    evidenceSession_ = flushSession_ = nullptr;  // closed with their connection
  }
  const int code = connection->close(connection, stable ? nullptr : "use_timestamp=false");
  decisions_->increment();
  return code == WT_PANIC || code == 0 ? Status::OK() : status(code, "close the storage engine");
}

Status WiredTigerConnection::status(int code, std::string_view what) {
  if (code == 0) return {};
  std::string reason = describe(code, what);
  switch (code) {
    case WT_ROLLBACK: return rollbackStatus(0, false);
    case WT_PREPARE_CONFLICT:
      return {ErrorCode::kPreparedTransactionInProgress,
              "conflict with a prepared transaction; wait until it is decided"};
    case WT_DUPLICATE_KEY: return {ErrorCode::kDuplicateKey, "the key exists already"};
    case WT_NOTFOUND: return {ErrorCode::kNoSuchKey, "no such key"};
    case WT_CACHE_FULL: return rollbackStatus(0, true);
    case ENOENT: return {ErrorCode::kNoSuchKey, std::move(reason)};
    case EEXIST: return {ErrorCode::kNamespaceExists, std::move(reason)};
    case EBUSY: return {ErrorCode::kObjectIsBusy, std::move(reason)};
    case EMFILE:
    case ENFILE: return {ErrorCode::kTooManyFilesOpen, std::move(reason)};
    case ENOSPC: return {ErrorCode::kOutOfDiskSpace, std::move(reason)};
    case EINVAL:
    case ENOTSUP: return {ErrorCode::kBadValue, std::move(reason)};
    case WT_PANIC: panic(); return panicStatus();
    default: break;
  }
  // Opening a table fails without a code of its own only for what is in its file.
  const bool inFile = reportsDamage(reason) || contains(reason, "WT_SESSION.open_cursor: ");
  if (code == WT_TRY_SALVAGE || (code == WT_ERROR && inFile))
    return {ErrorCode::kDataCorruptionDetected,
            reason + "; the file is damaged: restore a backup or resync, or start with --repair"};
  return {ErrorCode::kInternalError, std::move(reason)};
}

Status WiredTigerConnection::rollbackStatus(int64_t transactionBytes, bool waitedInVain) {
  RollbackEvidence evidence{.waitedInVain = waitedInVain, .transactionBytes = transactionBytes};
  {
    std::lock_guard lock(mutex_);
    if (WT_CURSOR* statistics = evidenceSession_ ? openStatistics(evidenceSession_) : nullptr) {
      evidence.cacheMax = statistic(statistics, WT_STAT_CONN_CACHE_BYTES_MAX);
      evidence.cacheInUse = statistic(statistics, WT_STAT_CONN_CACHE_BYTES_INUSE);
      evidence.cacheDirty = statistic(statistics, WT_STAT_CONN_CACHE_BYTES_DIRTY);
      statistics->close(statistics);
    }
  }
  return classifyRollback(evidence, options_.transactionTooLargeForCacheThreshold);
}

int64_t WiredTigerConnection::countOpenFiles() {
  const std::lock_guard lock(mutex_);
  WT_CURSOR* statistics = evidenceSession_ ? openStatistics(evidenceSession_) : nullptr;
  if (!statistics) return 0;
  const int64_t open = statistic(statistics, WT_STAT_CONN_FILE_OPEN);
  statistics->close(statistics);
  return open;
}

WT_CURSOR* WiredTigerConnection::openStatistics(WT_SESSION* session) {
  WT_CURSOR* cursor = nullptr;
  if (!options_.statistics) return nullptr;
  const int code = session->open_cursor(session, "statistics:", nullptr, "statistics=(fast)", &cursor);
  return code == 0 ? cursor : nullptr;
}

int64_t WiredTigerConnection::statistic(WT_CURSOR* statistics, int key) {
  const char* description = nullptr;
  const char* printed = nullptr;
  int64_t value = 0;
  statistics->set_key(statistics, key);
  if (statistics->search(statistics) != 0) return 0;
  return statistics->get_value(statistics, &description, &printed, &value) == 0 ? value : 0;
}

void WiredTigerConnection::panic() {
  if (!panicked_.exchange(true) && options_.onPanic) options_.onPanic(panicStatus());
}

/// Looks for the cause in the engine's last error lines, which precede the line of the panic itself.
Status WiredTigerConnection::panicStatus() {
  std::lock_guard lock(mutex_);
  if (!damage_.empty())
    return {ErrorCode::kDataCorruptionDetected,
            "a block on the disk is damaged: " + damage_ + "; restore a backup or resync, or start with --repair"};
  for (const std::string& line : lastErrors_) {
    if (contains(line, std::strerror(ENOSPC)))
      return {ErrorCode::kOutOfDiskSpace, "the storage engine stopped: no space left on the disk of " + options_.path +
                                              "; free some and start again"};
  }
  std::string cause = "no reason is known";
  for (const std::string& line : lastErrors_)
    if (!contains(line, "WT_PANIC")) cause = line;
  return {ErrorCode::kInternalError, "the storage engine stopped: " + cause};
}

int WiredTigerConnection::onError(WT_EVENT_HANDLER* handler, WT_SESSION*, int error, const char* text) {
  WiredTigerConnection* self = reinterpret_cast<Handler*>(handler)->owner;
  if (showsContents(text)) return 0;
  lastErrorText.assign(text);
  bool opening = false;
  {
    // Opening holds no lock while WiredTiger runs, and rollbackStatus only reads statistics, which report nothing.
    std::lock_guard lock(self->mutex_);
    opening = self->opening_;
    if (opening && self->openErrors_.size() < 1000)
      self->openErrors_.append(self->openErrors_.empty() ? "" : "; ").append(text);
    if (self->damage_.empty() && reportsDamage(text)) self->damage_ = text;
    if (!opening && !self->panicked()) {
      if (self->lastErrors_.size() == kKeptErrors) self->lastErrors_.pop_front();
      self->lastErrors_.emplace_back(text);
    }
  }
  if (error == WT_PANIC && !opening) self->panic();
  if (self->options_.onMessage) self->options_.onMessage(WiredTigerOptions::Level::kError, text);
  return 0;
}

int WiredTigerConnection::onMessage(WT_EVENT_HANDLER* handler, WT_SESSION*, const char* text) {
  WiredTigerConnection* self = reinterpret_cast<Handler*>(handler)->owner;
  if (self->options_.onMessage) self->options_.onMessage(WiredTigerOptions::Level::kInfo, text);
  return 0;
}

ScopedWtSession::ScopedWtSession(WiredTigerConnection& connection) {
  if (!connection.get()) {
    status_ = Status(ErrorCode::kShutdownInProgress, "the storage engine is closed");
    return;
  }
  status_ =
      connection.status(connection.get()->open_session(connection.get(), nullptr, "isolation=snapshot", &session_),
                        "open a storage session");
}

}  // namespace troupe::storage
