#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/log/verbosity.hpp"

namespace troupe::server {

/// The server's tunable values, by the names operators know (`getParameter`, `setParameter`, `--setParameter`). Reading
/// a value is one atomic load; changing one is thread-safe. Values that only make sense at start-up cannot be changed
/// later.
class Parameters {
 public:
  /// `verbosity` is that of the log.
  explicit Parameters(std::shared_ptr<log::Verbosity> verbosity = std::make_shared<log::Verbosity>());

  // At start-up only.
  std::atomic<bool> enableTestCommands{false};
  std::atomic<bool> enableLocalhostAuthBypass{true};
  std::atomic<int64_t> maxSessions{100'000};  ///< logical sessions remembered; a new one takes the place of the oldest
  std::atomic<int64_t> logicalSessionRefreshMillis{300'000};  ///< between two refreshes of config.system.sessions
  std::atomic<bool> disableLogicalSessionCacheRefresh{false};
  // At any time. Limits of what peers may take before they are known; see docs/operators/threats.md.
  std::atomic<int64_t> maxNewConnectionsPerSecond{2000};             ///< 0: no limit, as for the next
  std::atomic<int64_t> maxNewConnectionsPerSecondPerAddress{1'000};  ///< four seconds' worth may come at once
  std::atomic<int64_t> firstMessageTimeoutMillis{30'000};            ///< TLS handshake and first message; 0: no limit
  std::atomic<int64_t> stalledMessageTimeoutMillis{60'000};          ///< begun messages must go on; 0: no limit
  std::atomic<int64_t> preAuthMaximumMessageSizeBytes{256 * 1024};   ///< of clients that have yet to authenticate
  std::atomic<int64_t> preAuthMessageMemoryMB{64};    ///< of incomplete messages and unread answers of all of those
  std::atomic<int64_t> partialMessageMemoryMB{1024};  ///< the same of all clients
  std::atomic<int64_t> adminMaxConnectionsPerAddress{32};      ///< 0: no limit, as for the next
  std::atomic<int64_t> adminRequestsPerSecondPerAddress{100};  ///< four seconds' worth may come at once
  // At any time.
  std::atomic<int64_t> cursorTimeoutMillis{600'000};
  std::atomic<int64_t> slowOperationMillis{100};
  std::atomic<double> slowOpSampleRate{1};  ///< share of the slow operations that is recorded
  std::atomic<int64_t> journalCommitIntervalMillis{100};
  std::atomic<int64_t> syncPeriodSeconds{60};
  std::atomic<int64_t> maxQueryMemoryBytes{100 * 1024 * 1024};
  std::atomic<int64_t> operationMemoryLimitBytes{int64_t{256} << 20};  ///< of each operation: all its stages and values
  std::atomic<int64_t> operationMemoryTotalBytes{int64_t{1} << 30};    ///< of all operations and idle cursors together
  std::atomic<int64_t> temporarilyUnavailableMaxRetries{10};
  std::atomic<int64_t> temporarilyUnavailableBackoffBaseMillis{1000};
  std::atomic<bool> enableTemporarilyUnavailableExceptions{true};
  std::atomic<double> transactionTooLargeForCacheThreshold{0.75};
  std::atomic<bool> notablescan{false};
  std::atomic<bool> requireApiVersion{false};
  std::atomic<bool> enableElectionHandoff{true};
  std::atomic<int64_t> maxAcceptableLogicalClockDriftSecs{31'536'000};  ///< at start-up only
  std::atomic<int64_t> keysRotationIntervalSecs{7'776'000};     ///< life of a key that signs times; at start-up only
  std::atomic<int64_t> minSnapshotHistoryWindowInSeconds{300};  ///< of old versions that a member keeps
  std::atomic<bool> writePeriodicNoops{true};
  std::atomic<int64_t> maxSyncSourceLagSecs{30};      ///< at start-up only
  std::atomic<int64_t> periodicNoopIntervalSecs{10};  ///< between the notes of an idle primary; at start-up only
  /// Documents that a rollback takes away are kept in files (RBK-007).
  std::atomic<bool> createRollbackDataFiles{true};
  // Flow control (LCK-015); see state_machines/replication/flow_control.hpp.
  std::atomic<bool> enableFlowControl{true};
  std::atomic<int64_t> flowControlTargetLagSeconds{10};
  std::atomic<double> flowControlThresholdLagPercentage{0.5};  ///< a share of the target lag
  std::atomic<int64_t> flowControlMinTicketsPerSecond{100};
  std::atomic<int64_t> flowControlTicketAdderConstant{500};
  std::atomic<double> flowControlTicketMultiplierConstant{1.05};
  std::atomic<double> flowControlDecayConstant{0.5};
  std::atomic<double> flowControlFudgeFactor{0.95};
  std::atomic<int64_t> flowControlSamplePeriod{1000};  ///< entries of the log from one sample to the next
  std::atomic<int64_t> flowControlMaxSamples{1'000'000};
  std::atomic<int64_t> flowControlWarnThresholdSeconds{10};  ///< of a commit point that does not move; 0: no warning
  std::atomic<int64_t> sessionTimeoutMinutes{30};
  /// What findAndModifys answer with is kept for retries in config.image_collection; false: in the log (SES-020).
  std::atomic<bool> storeFindAndModifyImagesInSideCollection{true};
  std::atomic<int64_t> internalSessionsReapThreshold{1000};  ///< child sessions whose records are removed together
  std::atomic<int64_t> diskSpaceReserveMB{-1};               ///< see DiskGuard
  std::atomic<int64_t> concurrentReadTransactions{0};        ///< tickets; 0: they adapt to the throughput
  std::atomic<int64_t> concurrentWriteTransactions{0};       ///< tickets of writers; 0: they adapt
  std::atomic<int64_t> concurrencyAdjustmentIntervalMillis{100};
  std::atomic<int64_t> lowPriorityAdmissionBypassThreshold{500};  ///< 0: low priorities wait without end
  std::atomic<bool> deprioritizeUnboundedUserCollectionScans{true};
  std::atomic<bool> deprioritizeUnboundedUserIndexScans{true};
  std::atomic<int64_t> maxIndexBuilds{3};  ///< that clients asked for and run at a time; more of them wait
  std::atomic<bool> ttlMonitorEnabled{true};
  std::atomic<bool> ttlMonitorBatchDeletes{true};        ///< false: one index to its end after another, one by one
  std::atomic<int64_t> ttlMonitorSleepSecs{60};          ///< between the end of a pass and the next
  std::atomic<int64_t> ttlMonitorSubPassTargetSecs{60};  ///< 0: no limit, as for the next two
  std::atomic<int64_t> ttlIndexDeleteTargetDocs{50'000};
  std::atomic<int64_t> ttlIndexDeleteTargetTimeMS{1000};
  std::atomic<int64_t> ttlCollLowPrioritySubpassLimit{10};  ///< after which an index that lags behind counts as normal
  std::atomic<bool> scrubberEnabled{true};
  std::atomic<int64_t> scrubberMBperSec{16};       ///< how fast tables are read back from the disk
  std::atomic<int64_t> scrubberSleepSecs{86'400};  ///< between the end of a cycle and the next
  std::atomic<int64_t> maxValidateMBperSec{0};     ///< of validation beside writes; 0: as fast as it can

  /// Sets a value from a command or (at start-up) an option's text. Returns the old value.
  /// Errors: InvalidOptions (unknown name, or not changeable now), TypeMismatch, BadValue (out of range).
  StatusWith<bson::Value> set(std::string_view name, const bson::Element& value, bool startup);
  Status setFromText(std::string_view name, std::string_view text);
  /// The value of a name; an absent value when there is no such parameter.
  bson::Value get(std::string_view name) const;
  bool settableAtRuntime(std::string_view name) const;
  bool settableAtStartup(std::string_view name) const;
  std::vector<std::string_view> names() const;

 private:
  void logging();
  void limits();
  void flowControl();
  struct Entry {
    std::string_view name;
    bool runtime;
    std::function<bson::Value()> get;
    std::function<Status(const bson::Element&)> set;  ///< empty: read-only
  };
  const Entry* find(std::string_view name) const;
  void integer(std::string_view name, std::atomic<int64_t>& target, int64_t low, int64_t high, bool runtime = true);
  void flag(std::string_view name, std::atomic<bool>& target, bool runtime);
  void number(std::string_view name, std::atomic<double>& target, double low, double high);
  /// A number from 0 to 1.
  void share(std::string_view name, std::atomic<double>& target);
  void readOnly(std::string_view name, bson::Value value);

  const std::shared_ptr<log::Verbosity> verbosity_;
  std::vector<Entry> entries_;
};

}  // namespace troupe::server
