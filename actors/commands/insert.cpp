// insert: adds documents, in groups that share a storage transaction.
#include "actors/commands/families.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/commands/write_support.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// Documents that share one storage transaction: enough to spread its cost, few enough to keep conflicts and memory
/// small.
constexpr size_t kGroupDocuments = 128;
constexpr size_t kGroupBytes = 512 * 1024;

constexpr Argument kInsertArguments[] = {
    arrayArg("documents"),  flagArg("ordered"),        flagArg("bypassDocumentValidation"),
    numberArg("maxTimeMS"), uuidArg("collectionUUID"),
};

/// The statements of one insert command on their way into the collection.
class Inserter {
 public:
  Inserter(Request& request, bool bypassesValidation)
      : request_(request),
        work_(request.server(), request.operation()),
        bypassesValidation_(bypassesValidation),
        unit_(request.operation().recoveryUnit()) {}

  ~Inserter() { request_.operation().setStatements({}); }

  /// The collection was opened, or let go and opened again: it may have changed its shape, or be another one.
  Status goOnWith(storage::CollectionPtr collection) {
    if (collection == collection_) return Status::OK();
    collection_ = std::move(collection);
    TROUPE_ASSIGN(validator_, DocumentValidator::of(request_.server(), *collection_, bypassesValidation_, work_));
    return Status::OK();
  }

  /// Prepares documents from `next` on until a group is full; returns the first one that was left out.
  size_t gather(const std::vector<bson::View>& documents, size_t next, bool ordered) {
    group_.clear();
    made_.clear();
    indexes_.clear();
    size_t bytes = 0;
    while (next < documents.size() && group_.size() < kGroupDocuments && bytes < kGroupBytes) {
      auto stored = documentToStore(documents[next], request_.server(), made_, EmptyTimestamps::kFill);
      Status status = stored.isOK() ? validator_.check(*stored) : stored.status();
      if (status.isOK()) status = request_.server().disk.roomFor(stored->size());
      if (!status.isOK()) {
        pending_ = {static_cast<int32_t>(next), std::move(status)};
        ++next;
        if (ordered) break;
        errors_.add(std::move(*pending_));
        pending_.reset();
        continue;
      }
      group_.push_back(*stored);
      indexes_.push_back(static_cast<int32_t>(next++));
      bytes += stored->size();
    }
    return next;
  }

  /// Inserts the group: all at once, or where that fails one by one, so that each failure finds its document.
  Task<Status> insertGroup(bool ordered) {
    if (group_.empty()) co_return Status::OK();
    request_.operation().setStatements(indexes_);
    auto all = [this]() -> Status { return collection_->insertMany(unit_, group_); };
    const Status together = co_await writerOf(request_).commit(all);
    if (together.isOK()) {
      inserted_ += static_cast<int64_t>(group_.size());
      co_return together;
    }
    if (endsCommand(together)) co_return together;
    for (size_t i = 0; i < group_.size(); ++i) {
      auto one = [this, i]() -> Status { return collection_->insert(unit_, group_[i]).status(); };
      Status status = together;  // no conditional expression: g++ 12 destroys its copy twice when one side awaits
      request_.operation().setStatements({&indexes_[i], 1});
      if (group_.size() > 1) status = co_await writerOf(request_).commit(one);
      if (status.isOK()) {
        ++inserted_;
        continue;
      }
      if (endsCommand(status)) co_return status;
      errors_.add({indexes_[i], std::move(status)});
      if (ordered) {
        pending_.reset();
        co_return Status::OK();
      }
    }
    co_return Status::OK();
  }

  /// A failure of preparation in an ordered batch counts once everything before it is in.
  void settle() {
    if (pending_) errors_.add(std::move(*pending_));
    pending_.reset();
  }

  int64_t inserted() const { return inserted_; }
  const WriteErrors& errors() const { return errors_; }

 private:
  Request& request_;
  QueryResources work_;
  const bool bypassesValidation_;
  storage::CollectionPtr collection_;
  DocumentValidator validator_;
  storage::RecoveryUnit& unit_;
  std::vector<bson::View> group_;
  std::vector<int32_t> indexes_;
  std::deque<bson::Document> made_;
  std::optional<WriteError> pending_;
  WriteErrors errors_;
  int64_t inserted_ = 0;
};

Status checkBatchSize(size_t count) {
  if (count >= 1 && count <= kMaxWriteBatch) return Status::OK();
  return {ErrorCode::kInvalidLength,
          "Write batch sizes must be between 1 and 100000. Got " + std::to_string(count) + " operations."};
}

Task<Status> insert(Request& request) {
  const auto ns = request.target(bypassAction(request));
  if (!ns.isOK()) co_return ns.status();
  const auto documents = request.documents("documents");
  if (!documents.isOK()) co_return documents.status();
  if (Status status = checkBatchSize(documents->size()); !status.isOK()) co_return status;
  const bool ordered = request.flag("ordered", true);
  auto target = co_await openForWrite(request, *ns, IfMissing::kCreate);
  if (!target.isOK()) co_return target.status();
  Inserter inserter(request, request.flag("bypassDocumentValidation"));
  Status outcome = inserter.goOnWith(target->collection);
  for (size_t next = 0; next < documents->size() && outcome.isOK() && !(ordered && !inserter.errors().empty());) {
    next = inserter.gather(*documents, next, ordered);
    outcome = co_await inserter.insertGroup(ordered);
    inserter.settle();
    if (outcome.isOK() && next < documents->size()) {
      target->lock.reset();  // waiters for the collection are granted it between two groups
      outcome = co_await request.yield();
      if (outcome.isOK()) target = co_await openForWrite(request, *ns, IfMissing::kCreate);
      if (outcome.isOK()) outcome = target.status();
      if (outcome.isOK()) outcome = inserter.goOnWith(target->collection);
    }
  }
  ServerCounters& counters = request.server().counters;
  counters.insert.fetch_add(inserter.inserted(), std::memory_order_relaxed);
  counters.documentsInserted.fetch_add(inserter.inserted(), std::memory_order_relaxed);
  request.operation().metrics.inserted = inserter.inserted();
  if (target.isOK()) target->lock.reset();
  if (!outcome.isOK()) co_return outcome;
  request.reply().append("n", static_cast<int32_t>(inserter.inserted()));
  inserter.errors().appendTo(request);
  co_return Status::OK();
}

constexpr Command kInsertCommands[] = {
    {.name = "insert",
     .summary = "adds documents to a collection, which is made when it does not exist",
     .requirement = {Requirement::Target::kCollection, auth::Action::kInsert},
     .access = Access::kWrite,
     .stableApi = true,
     .namesCollection = true,
     .allowedInTransaction = true,
     .arguments = kInsertArguments,
     .run = insert},
};

}  // namespace

std::span<const Command> insertCommands() { return kInsertCommands; }

}  // namespace troupe::commands
