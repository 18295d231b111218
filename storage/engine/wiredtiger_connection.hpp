#pragma once
#include <wiredtiger.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "storage/engine/open_tables.hpp"
#include "storage/engine/rollback_reason.hpp"
#include "storage/engine/wiredtiger_engine.hpp"

namespace troupe::storage {

/// The open WT_CONNECTION with what its sessions share: the event handler, error translation and the panic state.
/// Internal to the WiredTiger engine. Any thread.
class WiredTigerConnection {
 public:
  WiredTigerConnection(const WiredTigerOptions& options, std::shared_ptr<PreparedDecisions> decisions);
  ~WiredTigerConnection();
  WiredTigerConnection(const WiredTigerConnection&) = delete;
  WiredTigerConnection& operator=(const WiredTigerConnection&) = delete;

  Status open();
  /// Takes a last checkpoint: as of the stable time, if there is one, or a full one.
  Status close(bool stable = true);

  WT_CONNECTION* get() const { return connection_; }
  const WiredTigerOptions& options() const { return options_; }
  PreparedDecisions& preparedDecisions() { return *decisions_; }
  OpenTables& openTables() { return openTables_; }

  /// The Status of a result code; `what` was being done, e.g. "drop collection-1". Zero is OK. Not for hot paths.
  Status status(int code, std::string_view what);
  /// Why a transaction that had written `transactionBytes` was rolled back, or (`waitedInVain`) got no room in the
  /// cache.
  Status rollbackStatus(int64_t transactionBytes, bool waitedInVain);
  /// One of WT_STAT_CONN_*; zero when unknown.
  int64_t statistic(WT_CURSOR* statistics, int key);
  /// A "fast" statistics cursor of the session, or null.
  WT_CURSOR* openStatistics(WT_SESSION* session);
  /// Makes what was committed durable. Callers take turns.
  Status flushLog();
  bool panicked() const { return panicked_.load(std::memory_order_relaxed); }

 private:
  /// The event handler given to WiredTiger, which passes its address back to the callbacks.
  struct Handler {
    WT_EVENT_HANDLER base{};
    WiredTigerConnection* owner = nullptr;
  };
  static int onError(WT_EVENT_HANDLER* handler, WT_SESSION* session, int error, const char* text);
  static int onMessage(WT_EVENT_HANDLER* handler, WT_SESSION* session, const char* text);
  Status openWith(const std::string& more);
  void panic();
  int64_t countOpenFiles();
  Status panicStatus();

  WiredTigerOptions options_;
  std::shared_ptr<PreparedDecisions> decisions_;
  OpenTables openTables_;
  Handler handler_;
  WT_CONNECTION* connection_ = nullptr;
  std::atomic<bool> panicked_{false};
  std::mutex mutex_;
  std::string openErrors_;              ///< what was reported while opening
  std::deque<std::string> lastErrors_;  ///< what the engine reported last: the cause of a panic comes before it
  std::string damage_;                  ///< the first line that told of a damaged block
  bool opening_ = false;
  WT_SESSION* evidenceSession_ = nullptr;  ///< reads cache statistics for rollbackStatus, under mutex_
  std::mutex flushMutex_;
  WT_SESSION* flushSession_ = nullptr;  ///< kept: to open one costs more than all else of a flush but the disk
};

/// A WT_SESSION for the length of a scope.
class ScopedWtSession {
 public:
  explicit ScopedWtSession(WiredTigerConnection& connection);
  ~ScopedWtSession() {
    if (session_) session_->close(session_, nullptr);
  }
  ScopedWtSession(const ScopedWtSession&) = delete;
  ScopedWtSession& operator=(const ScopedWtSession&) = delete;
  const Status& status() const { return status_; }
  WT_SESSION* operator->() const { return session_; }
  WT_SESSION* get() const { return session_; }

 private:
  WT_SESSION* session_ = nullptr;
  Status status_;
};

}  // namespace troupe::storage
