#include "actors/replication/log_copier.hpp"

#include <limits>
#include <utility>

#include "actors/replication/applier_services.hpp"
#include "actors/replication/source_log.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/oplog/oplog_batch.hpp"
#include "storage/oplog/oplog_store.hpp"
#include "storage/transaction/conflict_retry.hpp"

namespace troupe::replication {

namespace {

Status isNoLog(const NodeName& source, std::string_view why) {
  return {ErrorCode::kInitialSyncFailure, "the log of " + source + " cannot be fetched: " + std::string(why)};
}

}  // namespace

Task<Status> LogCopier::begin(bson::Document first) {
  const auto at = opTimeOf(first.view());
  if (!at) co_return isNoLog(attempt_->source, "an entry has no time");
  if (newest_ != OpTime()) co_return Status::OK();
  std::vector<FetchedEntry> entries;
  entries.push_back({std::move(first), *at});
  co_return co_await write(std::move(entries));
}

Task<Status> LogCopier::run() {
  const auto self = shared_from_this();
  if (failure_) co_return *failure_;
  const Status ended = co_await fetch();
  if (!ended.isOK()) failure_ = ended;
  answer();
  co_return ended;
}

Task<StatusWith<OpTime>> LogCopier::upTo(OpTime stop) {
  const auto self = shared_from_this();
  stop_ = stop;
  if ((!isThere() || isWriting_) && !failure_) {
    auto reached = awaitingStop_.emplace_back().future();
    const Status outcome = co_await reached;
    if (!outcome.isOK()) co_return outcome;
  }
  if (failure_) co_return *failure_;
  co_return newest_;
}

void LogCopier::answer() {
  const Status outcome = failure_.value_or(Status::OK());
  for (auto& each : std::exchange(awaitingStop_, {})) each.set(outcome);
}

Task<Status> LogCopier::fetch() {
  SourcePatience patience(attempt_);
  for (;;) {
    const Status ended = co_await readOn(&patience);
    if (ended.isOK()) co_return ended;
    TROUPE_CO_TRY(co_await patience.wait(ended));
  }
}

/// Ends with OK when all is there that is wanted. A source that has nothing new says so once a second.
Task<Status> LogCopier::readOn(SourcePatience* patience) {
  const CopyParts& parts = attempt_->parts;
  if (isThere()) co_return Status::OK();
  bson::Document find = tailingFind(newest_);
  TROUPE_CO_ASSIGN(const auto log,
                   co_await parts.members->read(attempt_->source, "local", std::move(find), parts.credit));
  for (bool isFirst = true;;) {
    TROUPE_CO_ASSIGN(const auto batch, co_await log->next());
    if (attempt_->isAbandoned()) co_return Status(ErrorCode::kInterrupted, "the attempt is over");
    if (isThere()) co_return Status::OK();
    if (!batch.empty()) {
      TROUPE_CO_ASSIGN(auto entries, entriesOf(batch, isFirst));
      isFirst = false;
      patience->renew();
      isWriting_ = true;
      const Status written = co_await write(std::move(entries));
      isWriting_ = false;
      if (!written.isOK()) co_return written;
    }
    if (isThere()) co_return Status::OK();
  }
}

/// The first of a read is the newest one that is here: the place from which it goes on.
StatusWith<std::vector<FetchedEntry>> LogCopier::entriesOf(const std::vector<bson::View>& batch, bool isFirst) const {
  if (isFirst && opTimeOf(batch.front()) != newest_)
    return isNoLog(attempt_->source, "it does not have the entry any more up to which it was fetched");
  std::vector<FetchedEntry> entries;
  if (!takeEntries(batch, isFirst ? 1 : 0, newest_, entries))
    return isNoLog(attempt_->source, "its entries do not follow each other");
  return entries;
}

Task<Status> LogCopier::write(std::vector<FetchedEntry> entries) {
  if (entries.empty()) co_return Status::OK();
  const CopyParts& parts = attempt_->parts;
  TROUPE_CO_ASSIGN(const auto writing, co_await SyncAttempt::Writing::begin(attempt_, bytesOf(entries)));
  const OpTime last = entries.back().opTime;
  std::vector<bson::Document> documents;
  for (FetchedEntry& each : entries) documents.push_back(std::move(each.document));
  TROUPE_CO_ASSIGN(const auto stretch, storage::OplogStretch::parse(std::move(documents)));
  storage::OperationContext operation(withoutTickets(parts.services), storage::OperationOrigin::kApplier);
  operation.setWriteMode(storage::WriteMode::kApplied);
  auto held = storage::HeldLock::inEveryRole(operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kIX);
  TROUPE_CO_TRY(co_await acquireLock(*parts.node, operation, held));
  storage::ConflictRetry retry({.maxWriteConflictRetries = std::numeric_limits<int>::max()});
  for (;;) {
    if (attempt_->isAbandoned()) co_return Status(ErrorCode::kInterrupted, "the attempt is over");
    const Status done =
        storage::onSecondaryError(storage::logEntries(operation, *parts.log, stretch.entries, stretch.documents));
    if (done.isOK()) break;
    const auto delay = retry.next(done);
    if (!delay) co_return done;
    co_await parts.node->sleepFor(*delay);
  }
  newest_ = last;
  parts.status->noteFetched(static_cast<int64_t>(stretch.size()));
  co_return Status::OK();
}

}  // namespace troupe::replication
