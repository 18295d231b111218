#include "actors/server/parameters.hpp"

#include <charconv>
#include <limits>

#include "messaging/bson/json.hpp"

namespace troupe::server {

using bson::Element;
using bson::Value;

namespace {

Status setFlag(std::string_view name, std::atomic<bool>& target, const Element& e) {
  if (!e.is(bson::Type::kBool) && !e.isNumber())
    return {ErrorCode::kTypeMismatch, std::string(name) + " must be a bool"};
  target = e.truthy();
  return Status::OK();
}

}  // namespace

Parameters::Parameters(std::shared_ptr<log::Verbosity> verbosity) : verbosity_(std::move(verbosity)) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  flag("enableTestCommands", enableTestCommands, false);
  flag("enableLocalhostAuthBypass", enableLocalhostAuthBypass, false);
  limits();
  integer("cursorTimeoutMillis", cursorTimeoutMillis, 1, kMax);
  integer("slowOpThresholdMs", slowOperationMillis, -1, kMax);
  share("slowOpSampleRate", slowOpSampleRate);
  integer("journalCommitInterval", journalCommitIntervalMillis, 1, 500);
  integer("syncdelay", syncPeriodSeconds, 0, 9'000'000);
  logging();
  integer("internalQueryMaxBlockingSortMemoryUsageBytes", maxQueryMemoryBytes, 0, std::numeric_limits<int64_t>::max());
  integer("operationMemoryLimitBytes", operationMemoryLimitBytes, 1 << 20, std::numeric_limits<int64_t>::max());
  integer("operationMemoryTotalBytes", operationMemoryTotalBytes, 1 << 20, std::numeric_limits<int64_t>::max());
  integer("temporarilyUnavailableMaxRetries", temporarilyUnavailableMaxRetries, 0, kMax);
  integer("temporarilyUnavailableBackoffBaseMs", temporarilyUnavailableBackoffBaseMillis, 0, kMax);
  flag("enableTemporarilyUnavailableExceptions", enableTemporarilyUnavailableExceptions, true);
  integer("internalSessionsReapThreshold", internalSessionsReapThreshold, 0, kMax);
  integer("diskSpaceReserveMB", diskSpaceReserveMB, -1, kMax);
  integer("storageEngineConcurrentReadTransactions", concurrentReadTransactions, 0, kMax);
  integer("storageEngineConcurrentWriteTransactions", concurrentWriteTransactions, 0, kMax);
  integer("storageEngineConcurrencyAdjustmentIntervalMillis", concurrencyAdjustmentIntervalMillis, 10, kMax);
  integer("lowPriorityAdmissionBypassThreshold", lowPriorityAdmissionBypassThreshold, 0, kMax);
  flag("deprioritizeUnboundedUserCollectionScans", deprioritizeUnboundedUserCollectionScans, true);
  flag("deprioritizeUnboundedUserIndexScans", deprioritizeUnboundedUserIndexScans, true);
  integer("maxNumActiveUserIndexBuilds", maxIndexBuilds, 1, kMax);
  integer("maxValidateMBperSec", maxValidateMBperSec, 0, kMax);
  flag("scrubberEnabled", scrubberEnabled, true);
  integer("scrubberMBperSec", scrubberMBperSec, 1, 100'000);
  integer("scrubberSleepSecs", scrubberSleepSecs, 1, kMax);
  flag("ttlMonitorEnabled", ttlMonitorEnabled, true);
  flag("ttlMonitorBatchDeletes", ttlMonitorBatchDeletes, true);
  integer("ttlMonitorSleepSecs", ttlMonitorSleepSecs, 1, kMax);
  integer("ttlMonitorSubPassTargetSecs", ttlMonitorSubPassTargetSecs, 0, kMax);
  integer("ttlIndexDeleteTargetDocs", ttlIndexDeleteTargetDocs, 0, kMax);
  integer("ttlIndexDeleteTargetTimeMS", ttlIndexDeleteTargetTimeMS, 0, kMax);
  integer("ttlCollLowPrioritySubpassLimit", ttlCollLowPrioritySubpassLimit, 0, kMax);
  flag("notablescan", notablescan, true);
  flag("storeFindAndModifyImagesInSideCollection", storeFindAndModifyImagesInSideCollection, true);
  flag("requireApiVersion", requireApiVersion, true);
  flag("enableElectionHandoff", enableElectionHandoff, true);
  integer("maxAcceptableLogicalClockDriftSecs", maxAcceptableLogicalClockDriftSecs, 1, kMax, false);
  integer("KeysRotationIntervalSec", keysRotationIntervalSecs, 1, kMax, false);
  integer("minSnapshotHistoryWindowInSeconds", minSnapshotHistoryWindowInSeconds, 0, kMax);
  flag("writePeriodicNoops", writePeriodicNoops, true);
  integer("maxSyncSourceLagSecs", maxSyncSourceLagSecs, 1, kMax, false);
  integer("periodicNoopIntervalSecs", periodicNoopIntervalSecs, 1, kMax, false);
  flag("createRollbackDataFiles", createRollbackDataFiles, true);
  // Asked for by its name, and only where a config is given.
  const auto severalArbiters = std::make_shared<std::atomic<bool>>(false);
  entries_.push_back(
      {"allowMultipleArbiters", false, [severalArbiters] { return Value(severalArbiters->load()); },
       [severalArbiters](const Element& e) { return setFlag("allowMultipleArbiters", *severalArbiters, e); }});
  flowControl();
  share("transactionTooLargeForCacheThreshold", transactionTooLargeForCacheThreshold);
  readOnly("authenticationMechanisms", bson::array("SCRAM-SHA-1", "SCRAM-SHA-256"));
  readOnly("featureCompatibilityVersion", Value(bson::doc("version", "7.0")));
  readOnly("allowDiskUseByDefault", Value(true));
  readOnly("authSchemaVersion", Value(5));
  readOnly("scramIterationCount", Value(10000));
  readOnly("scramSHA256IterationCount", Value(15000));
}

/// Limits of what unknown peers may take.
void Parameters::limits() {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  integer("maxSessions", maxSessions, 100, 10'000'000, false);
  integer("localLogicalSessionTimeoutMinutes", sessionTimeoutMinutes, 1, kMax / 60, false);  // seconds, in an index
  integer("logicalSessionRefreshMillis", logicalSessionRefreshMillis, 1, kMax, false);
  flag("disableLogicalSessionCacheRefresh", disableLogicalSessionCacheRefresh, false);
  integer("maxNewConnectionsPerSecond", maxNewConnectionsPerSecond, 0, kMax);
  integer("maxNewConnectionsPerSecondPerAddress", maxNewConnectionsPerSecondPerAddress, 0, kMax);
  integer("firstMessageTimeoutMillis", firstMessageTimeoutMillis, 0, kMax);
  integer("stalledMessageTimeoutMillis", stalledMessageTimeoutMillis, 0, kMax);
  integer("preAuthMaximumMessageSizeBytes", preAuthMaximumMessageSizeBytes, 16 * 1024, 48'000'000);
  integer("preAuthMessageMemoryMB", preAuthMessageMemoryMB, 1, kMax);
  integer("partialMessageMemoryMB", partialMessageMemoryMB, 64, kMax);
  integer("adminMaxConnectionsPerAddress", adminMaxConnectionsPerAddress, 0, kMax);
  integer("adminRequestsPerSecondPerAddress", adminRequestsPerSecondPerAddress, 0, kMax);
}

void Parameters::flowControl() {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  flag("enableFlowControl", enableFlowControl, true);
  integer("flowControlTargetLagSeconds", flowControlTargetLagSeconds, 1, kMax);
  share("flowControlThresholdLagPercentage", flowControlThresholdLagPercentage);
  integer("flowControlMinTicketsPerSecond", flowControlMinTicketsPerSecond, 1, kMax);
  integer("flowControlTicketAdderConstant", flowControlTicketAdderConstant, 0, kMax);
  number("flowControlTicketMultiplierConstant", flowControlTicketMultiplierConstant, 1, 1000);
  share("flowControlDecayConstant", flowControlDecayConstant);
  share("flowControlFudgeFactor", flowControlFudgeFactor);
  integer("flowControlSamplePeriod", flowControlSamplePeriod, 1, kMax);
  integer("flowControlMaxSamples", flowControlMaxSamples, 2, kMax);
  integer("flowControlWarnThresholdSeconds", flowControlWarnThresholdSeconds, 0, kMax);
}

/// `logLevel` is the verbosity of all components that have none of their own.
void Parameters::logging() {
  entries_.push_back({"logLevel", true, [this] { return Value(verbosity_->base()); },
                      [this](const Element& e) -> Status {
                        if (!e.isNumber()) return {ErrorCode::kTypeMismatch, "logLevel must be a number"};
                        return verbosity_->set(bson::doc("verbosity", e)).withContext("logLevel");
                      }});
  entries_.push_back({"logComponentVerbosity", true, [this] { return Value(verbosity_->describe()); },
                      [this](const Element& e) -> Status {
                        if (e.is(bson::Type::kDocument)) return verbosity_->set(e.asDocument());
                        if (!e.is(bson::Type::kString))  // the text of an option
                          return {ErrorCode::kTypeMismatch, "logComponentVerbosity must be a document"};
                        TROUPE_ASSIGN(const auto parsed, bson::fromJson(e.toStringOr()));
                        return verbosity_->set(parsed);
                      }});
}

void Parameters::integer(std::string_view name, std::atomic<int64_t>& target, int64_t low, int64_t high, bool runtime) {
  entries_.push_back({name, runtime, [&target] { return Value(target.load()); },
                      [&target, name, low, high](const Element& e) -> Status {
                        if (!e.isNumber()) return {ErrorCode::kTypeMismatch, std::string(name) + " must be a number"};
                        const int64_t v = e.toInt64();
                        if (v < low || v > high) {
                          return {ErrorCode::kBadValue, "Invalid value for parameter " + std::string(name) + ": " +
                                                            std::to_string(v) + " is not between " +
                                                            std::to_string(low) + " and " + std::to_string(high)};
                        }
                        target = v;
                        return Status::OK();
                      }});
}

void Parameters::flag(std::string_view name, std::atomic<bool>& target, bool runtime) {
  entries_.push_back({name, runtime, [&target] { return Value(target.load()); },
                      [&target, name](const Element& e) { return setFlag(name, target, e); }});
}

void Parameters::number(std::string_view name, std::atomic<double>& target, double low, double high) {
  entries_.push_back({name, true, [&target] { return Value(target.load()); },
                      [&target, name, low, high](const Element& e) -> Status {
                        const double v = e.toDouble(low - 1);
                        if (!e.isNumber() || !(v >= low && v <= high))
                          return {ErrorCode::kBadValue, std::string(name) + " must be between " + std::to_string(low) +
                                                            " and " + std::to_string(high)};
                        target = v;
                        return Status::OK();
                      }});
}

void Parameters::share(std::string_view name, std::atomic<double>& target) {
  entries_.push_back({name, true, [&target] { return Value(target.load()); },
                      [&target, name](const Element& e) -> Status {
                        const double v = e.toDouble(-1);
                        if (!e.isNumber() || !(v >= 0 && v <= 1))
                          return {ErrorCode::kBadValue, std::string(name) + " must be between 0 and 1"};
                        target = v;
                        return Status::OK();
                      }});
}

void Parameters::readOnly(std::string_view name, Value value) {
  entries_.push_back({name, false, [value = std::move(value)] { return value; }, {}});
}

const Parameters::Entry* Parameters::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

StatusWith<Value> Parameters::set(std::string_view name, const Element& value, bool startup) {
  const Entry* entry = find(name);
  if (!entry)
    return Status(ErrorCode::kInvalidOptions,
                  "attempted to set unrecognized parameter [" + std::string(name) + "], use help:true to see options ");
  if (!entry->set || (!entry->runtime && !startup)) {
    return Status(ErrorCode::kIllegalOperation, "not allowed to change [" + std::string(name) + "] at runtime");
  }
  Value old = entry->get();
  TROUPE_TRY(entry->set(value));
  return old;
}

Status Parameters::setFromText(std::string_view name, std::string_view text) {
  Value value{std::string(text)};
  if (text == "true" || text == "false") value = Value(text == "true");
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) value = Value(number);
  return set(name, value.element(), true).status();
}

Value Parameters::get(std::string_view name) const {
  const Entry* entry = find(name);
  return entry ? entry->get() : Value();
}

bool Parameters::settableAtRuntime(std::string_view name) const {
  const Entry* entry = find(name);
  return entry && entry->set && entry->runtime;
}

bool Parameters::settableAtStartup(std::string_view name) const {
  const Entry* entry = find(name);
  return entry && entry->set;
}

std::vector<std::string_view> Parameters::names() const {
  std::vector<std::string_view> result;
  for (const Entry& entry : entries_) result.push_back(entry.name);
  return result;
}

}  // namespace troupe::server
