#include "actors/replication/sync_status.hpp"

#include <algorithm>
#include <utility>

#include "state_machines/replication/initial_sync.hpp"

namespace troupe::replication {

void SyncStatus::Span::append(bson::Builder& to, int64_t now) const {
  if (begin == 0) return;
  to.append("start", bson::Date{begin});
  if (end != 0) to.append("end", bson::Date{end});
  to.append("elapsedMillis", millis(now));
}

void SyncStatus::begin(bson::Date now) {
  const std::lock_guard lock(mutex_);
  span_ = {now.millis, 0};
  attempts_.clear();
}

void SyncStatus::beginAttempt(machines::NodeName source, bson::Date now) {
  const std::lock_guard lock(mutex_);
  attempts_.push_back({.source = std::move(source), .span = {now.millis, 0}, .outcome = {}});
  databases_.clear();
  beginFetching_ = beginApplying_ = stop_ = {};
  fetched_ = applied_ = 0;
}

void SyncStatus::setBeginning(const OpTime& fetching, const OpTime& applying, int64_t rollbackId) {
  const std::lock_guard lock(mutex_);
  beginFetching_ = fetching;
  beginApplying_ = applying;
  if (!attempts_.empty()) attempts_.back().rollbackId = rollbackId;
}

void SyncStatus::setStop(const OpTime& stop) {
  const std::lock_guard lock(mutex_);
  stop_ = stop;
}

void SyncStatus::noteRetry() {
  const std::lock_guard lock(mutex_);
  if (!attempts_.empty()) ++attempts_.back().retries;
}

void SyncStatus::endAttempt(const std::string& outcome, bson::Date now) {
  const std::lock_guard lock(mutex_);
  if (attempts_.empty()) return;
  if (outcome != kSucceeded) ++counts_.failedAttempts;
  attempts_.back().outcome = outcome;
  attempts_.back().span.end = now.millis;
}

void SyncStatus::end(bson::Date now) {
  const std::lock_guard lock(mutex_);
  span_.end = now.millis;
  ++counts_.completed;
}

void SyncStatus::endWithoutCopy(bson::Date now) {
  const std::lock_guard lock(mutex_);
  span_.end = now.millis;
}

void SyncStatus::giveUp() {
  const std::lock_guard lock(mutex_);
  ++counts_.failures;
}

SyncStatus::Counts SyncStatus::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

void SyncStatus::addDatabase(const std::string& name, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  databases_[name].bytes = bytes;
}

void SyncStatus::beginDatabase(const std::string& name, int64_t collections, bson::Date now) {
  const std::lock_guard lock(mutex_);
  DatabaseCopy& database = databases_[name];
  database.span.begin = now.millis;
  database.collections = collections;
}

void SyncStatus::endDatabase(const std::string& name, bson::Date now) {
  const std::lock_guard lock(mutex_);
  databases_[name].span.end = now.millis;
  databases_[name].isDone = true;
}

void SyncStatus::beginCollection(const std::string& database, const std::string& ns, int64_t documents, int64_t bytes,
                                 bson::Date now) {
  const std::lock_guard lock(mutex_);
  CollectionCopy& copy = databases_[database].copies[ns];
  copy.span.begin = now.millis;
  copy.documents = documents;
  copy.bytes = bytes;
}

void SyncStatus::noteBatch(const std::string& database, const std::string& ns, int64_t documents, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  CollectionCopy& copy = databases_[database].copies[ns];
  copy.copied += documents;
  copy.bytesCopied += bytes;
  ++copy.batches;
}

void SyncStatus::endCollection(const std::string& database, const std::string& ns, int64_t indexes, bson::Date now) {
  const std::lock_guard lock(mutex_);
  DatabaseCopy& of = databases_[database];
  ++of.copied;
  CollectionCopy& copy = of.copies[ns];
  copy.span.end = now.millis;
  copy.indexes = indexes;
}

void SyncStatus::noteFetched(int64_t entries) {
  const std::lock_guard lock(mutex_);
  fetched_ += entries;
}

void SyncStatus::noteApplied(int64_t entries) {
  const std::lock_guard lock(mutex_);
  applied_ += entries;
}

void SyncStatus::noteWaiting(const char* what, int more) {
  const std::lock_guard lock(mutex_);
  if ((waiting_[what] += more) == 0) waiting_.erase(what);
}

void SyncStatus::appendDatabases(bson::Builder& to, int64_t now) const {
  const auto done = std::ranges::count_if(databases_, [](const auto& each) { return each.second.isDone; });
  to.openDocument("databases");
  to.append("databasesToClone", static_cast<int64_t>(databases_.size()) - done);
  to.append("databasesCloned", static_cast<int64_t>(done));
  for (const auto& [name, database] : databases_) {
    to.openDocument(name).append("collections", database.collections).append("clonedCollections", database.copied);
    database.span.append(to, now);
    for (const auto& [ns, copy] : database.copies) {
      to.openDocument(ns).append("documentsToCopy", copy.documents).append("documentsCopied", copy.copied);
      to.append("bytesToCopy", copy.bytes).append("approxTotalBytesCopied", copy.bytesCopied);
      to.append("indexes", copy.indexes).append("fetchedBatches", copy.batches);
      copy.span.append(to, now);
      to.close();
    }
    to.close();
  }
  to.close();
}

SyncStatus::Volume SyncStatus::volume() const {
  const std::lock_guard lock(mutex_);
  return volumeLocked();
}

SyncStatus::Volume SyncStatus::volumeLocked() const {
  int64_t wanted = 0, copied = 0;
  for (const auto& [name, database] : databases_) {
    int64_t known = 0;
    for (const auto& [ns, copy] : database.copies) {
      known += std::max(copy.bytes, copy.bytesCopied);
      copied += copy.bytesCopied;
    }
    wanted += database.isDone ? known : std::max(known, database.bytes);
  }
  return {wanted, copied, !attempts_.empty() && attempts_.back().span.end == 0};
}

void SyncStatus::appendCopied(bson::Builder& to, int64_t now) const {
  const auto [wanted, copied, isCopying] = volumeLocked();
  to.append("approxTotalDataSize", wanted).append("approxTotalBytesCopied", copied);
  const int64_t took = attempts_.empty() ? 0 : attempts_.back().span.millis(now);
  if (copied > 0 && span_.end == 0)
    to.append("remainingInitialSyncEstimatedMillis",
              static_cast<int64_t>(static_cast<double>(wanted - copied) * static_cast<double>(took) /
                                   static_cast<double>(copied)));
}

bson::Document SyncStatus::toBson(bson::Date now) const {
  const std::lock_guard lock(mutex_);
  if (span_.begin == 0) return {};
  const auto isFailed = [](const Attempt& each) { return each.span.end != 0 && each.outcome != "OK"; };
  bson::Builder to;
  to.append("failedInitialSyncAttempts", static_cast<int64_t>(std::ranges::count_if(attempts_, isFailed)));
  to.append("maxFailedInitialSyncAttempts", int64_t{InitialSync::kMostAttempts});
  to.append("initialSyncStart", bson::Date{span_.begin});
  if (span_.end != 0) to.append("initialSyncEnd", bson::Date{span_.end});
  to.append("totalInitialSyncElapsedMillis", span_.millis(now.millis));
  to.openArray("initialSyncAttempts");
  for (const Attempt& each : attempts_)
    if (each.span.end != 0)
      to.push(bson::doc("durationMillis", each.span.millis(now.millis), "status", each.outcome, "syncSource",
                        each.source, "rollBackId", each.rollbackId, "operationsRetried", each.retries));
  to.close();
  if (!attempts_.empty() && attempts_.back().span.end == 0) to.append("syncSource", attempts_.back().source);
  if (!waiting_.empty()) to.append("waitsFor", waiting_.begin()->first);
  appendCopied(to, now.millis);
  to.append("initialSyncOplogFetchingStart", beginFetching_.timestamp);
  to.append("initialSyncOplogStart", beginApplying_.timestamp).append("initialSyncOplogEnd", stop_.timestamp);
  to.append("fetchedOps", fetched_).append("appliedOps", applied_);
  appendDatabases(to, now.millis);
  return to.finish();
}

}  // namespace troupe::replication
