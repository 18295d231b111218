#include "actors/commands/insert_batch.hpp"

#include "actors/commands/query_support.hpp"
#include "actors/server/collection_uuid.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// Documents that share one storage transaction: enough to spread its cost, few enough to keep conflicts and memory
/// small.
constexpr size_t kGroupDocuments = 128;
constexpr size_t kGroupBytes = 512 * 1024;

/// The documents of one batch on their way into the collection.
class Inserter {
 public:
  Inserter(Request& request, AuthorizedNamespace ns, const InsertBatch& batch, RetriedStatements& retried,
           InsertOutcome& outcome)
      : request_(request),
        ns_(std::move(ns)),
        work_(request.server(), request.operation()),
        batch_(batch),
        retried_(retried),
        outcome_(outcome),
        unit_(request.operation().recoveryUnit()) {}

  ~Inserter() { request_.operation().setStatements({}); }

  /// Passes over the documents at the front that an earlier attempt has added.
  Task<Status> passRetried() {
    TimePoint lastYield = request_.server().node.environment().now();
    while (outcome_.settled < batch_.documents.size()) {
      TROUPE_CO_ASSIGN(const bool wasThere, retried_.contains(position(outcome_.settled), ns_));
      if (!wasThere) break;
      ++outcome_.retried;
      ++outcome_.settled;
      TROUPE_CO_TRY(co_await betweenReads(request_, lastYield));  // each was looked up in the log
    }
    co_return Status::OK();
  }

  /// The collection was opened, or let go and opened again: it may have changed its shape, or be another one.
  Status goOnWith(storage::CollectionPtr collection) {
    if (collection == collection_) return Status::OK();
    collection_ = std::move(collection);
    TROUPE_ASSIGN(validator_, DocumentValidator::of(request_.server(), *collection_, batch_.bypassValidation, work_));
    return Status::OK();
  }

  /// Prepares documents from `next` on until a group is full; returns the first one that was left out.
  StatusWith<size_t> gather(size_t next) {
    const std::vector<bson::View>& documents = batch_.documents;
    group_.clear();
    made_.clear();
    indexes_.clear();
    size_t bytes = 0, passed = 0;
    while (next < documents.size() && group_.size() + passed < kGroupDocuments && bytes < kGroupBytes) {
      TROUPE_ASSIGN(const bool wasThere, retried_.contains(position(next), ns_));
      if (wasThere) {
        ++outcome_.retried;
        ++passed;
        ++next;
        continue;
      }
      auto stored = documentToStore(documents[next], request_.server(), made_, EmptyTimestamps::kFill);
      Status status = stored.isOK() ? validator_.check(*stored) : stored.status();
      if (status.isOK()) status = request_.server().disk.roomFor(stored->size());
      if (!status.isOK()) {
        pending_ = {position(next), std::move(status)};
        ++next;
        if (batch_.ordered) break;
        outcome_.errors.add(std::move(*pending_));
        pending_.reset();
        continue;
      }
      group_.push_back(*stored);
      indexes_.push_back(position(next++));
      bytes += stored->size();
    }
    return next;
  }

  /// Inserts the group: all at once, or where that fails one by one, so that each failure finds its document.
  Task<Status> insertGroup() {
    if (group_.empty()) co_return Status::OK();
    request_.operation().setStatements(indexes_);
    auto all = [this]() -> Status { return collection_->insertMany(unit_, group_); };
    const Status together = co_await writerOf(request_).commit(all);
    if (together.isOK()) {
      outcome_.inserted += static_cast<int64_t>(group_.size());
      for (const bson::View& document : group_) bytes_ += document.size();
      co_return together;
    }
    if (endsCommand(together)) co_return together;
    for (size_t i = 0; i < group_.size(); ++i) {
      auto one = [this, i]() -> Status { return collection_->insert(unit_, group_[i]).status(); };
      Status status = together;  // no conditional expression: g++ 12 destroys its copy twice when one side awaits
      request_.operation().setStatements({&indexes_[i], 1});
      if (group_.size() > 1) status = co_await writerOf(request_).commit(one);
      if (status.isOK()) {
        ++outcome_.inserted;
        bytes_ += group_[i].size();
        continue;
      }
      if (endsCommand(status)) co_return status;
      outcome_.errors.add({indexes_[i], std::move(status)});
      if (batch_.ordered) {
        pending_.reset();
        co_return Status::OK();
      }
    }
    co_return Status::OK();
  }

  /// Of the documents that are in.
  int64_t bytes() const { return bytes_; }
  bool isOver() const { return batch_.ordered && !outcome_.errors.empty(); }

  /// A failure of preparation in an ordered batch counts once everything before it is in.
  void settle() {
    if (pending_) outcome_.errors.add(std::move(*pending_));
    pending_.reset();
  }

 private:
  int32_t position(size_t document) const { return batch_.first + static_cast<int32_t>(document); }

  Request& request_;
  const AuthorizedNamespace ns_;
  QueryResources work_;
  const InsertBatch& batch_;
  RetriedStatements& retried_;
  InsertOutcome& outcome_;
  storage::CollectionPtr collection_;
  DocumentValidator validator_;
  storage::RecoveryUnit& unit_;
  std::vector<bson::View> group_;
  std::vector<int32_t> indexes_;
  std::deque<bson::Document> made_;
  std::optional<WriteError> pending_;
  int64_t bytes_ = 0;
};

}  // namespace

Task<Status> insertBatch(Request& request, AuthorizedNamespace ns, InsertBatch batch, RetriedStatements& retried,
                         InsertOutcome& outcome) {
  Inserter inserter(request, ns, batch, retried, outcome);
  TROUPE_CO_TRY(co_await inserter.passRetried());
  if (outcome.settled == batch.documents.size()) co_return Status::OK();
  TROUPE_CO_TRY(checkCollectionUuid(request, ns, batch.uuid));
  auto target = co_await openForWrite(request, ns, IfMissing::kCreate);
  if (!target.isOK()) co_return target.status();
  Status status = inserter.goOnWith(target->collection);
  while (outcome.settled < batch.documents.size() && status.isOK() && !inserter.isOver()) {
    const auto gathered = inserter.gather(outcome.settled);
    if (!gathered.isOK()) co_return gathered.status();
    const size_t next = *gathered;
    status = co_await inserter.insertGroup();
    inserter.settle();
    if (!status.isOK()) break;
    outcome.settled = next;
    if (next == batch.documents.size()) break;
    target->lock.reset();  // waiters for the collection are granted it between two groups
    status = co_await giveWay(request);
    if (status.isOK()) target = co_await openForWrite(request, ns, IfMissing::kCreate);
    if (status.isOK()) status = target.status();
    if (status.isOK()) status = inserter.goOnWith(target->collection);
  }
  if (status.isOK() && target->collection->isCapped()) {
    const storage::CollectionPtr collection = target->collection;
    target->lock.reset();
    status = co_await trimCapped(request, ns, collection, inserter.bytes());
  }
  ServerCounters& counters = request.server().counters;
  counters.insert.fetch_add(outcome.inserted, std::memory_order_relaxed);
  counters.documentsInserted.fetch_add(outcome.inserted, std::memory_order_relaxed);
  co_return status;
}

}  // namespace troupe::commands
