#include "actors/commands/collection_copy.hpp"

#include "messaging/bson/ids.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/catalog/index_operations.hpp"

namespace troupe::commands {
using namespace server;

namespace {

// Of one unit of work.
constexpr int kBatchDocuments = 500;
constexpr int64_t kBatchBytes = int64_t{1} << 20;

}  // namespace

Task<Status> CollectionCopy::run(Wanted wanted) {
  TROUPE_CO_TRY(source_->checkWritable(unit()));  // what only the server writes has no copies either
  // One that has begun since the caller ended those of before would be lost without a word.
  if (wanted.withIndexes && !storage::buildsIn(*source_).empty())
    co_return Status(ErrorCode::kBackgroundOperationInProgressForNamespace,
                     "an index of " + source_->ns().toString() + " is being built");
  TROUPE_CO_TRY(writerOf(request_).roomForTable());
  const auto id = bson::randomUuid([this] { return request_.server().node.environment().random(); });
  const auto name = NamespaceResolution::temporaryOf(target_, "tmp.copy." + id.toString());
  TROUPE_CO_ASSIGN(const auto lock,
                   co_await lockCollection(request_.server().node, request_.operation(), name, storage::LockMode::kX));
  Status status = co_await make(name, wanted);
  if (status.isOK()) status = co_await copy();
  if (status.isOK()) status = co_await takePlace(wanted);
  if (!status.isOK()) discard();
  co_return status;
}

Status CollectionCopy::makeOnce(const AuthorizedNamespace& name, const Wanted& wanted) {
  storage::CollectionOptions options = wanted.options;
  options.uuid.reset();
  options.temp = true;
  TROUPE_ASSIGN(made_,
                storage::createCollection(request_.server().catalog.unguarded(), unit(), name, std::move(options)));
  if (!wanted.withIndexes) return Status::OK();
  TROUPE_ASSIGN(made_, storage::copyIndexes(request_.server().catalog.unguarded(), unit(), *source_, made_));
  return Status::OK();
}

Task<Status> CollectionCopy::make(AuthorizedNamespace name, const Wanted& wanted) {
  auto body = [&]() -> Status { return makeOnce(name, wanted); };
  const Status status = co_await writerOf(request_).commit(body);
  if (!status.isOK()) made_.reset();
  co_return status;
}

/// One unit of work: from behind the last document that was copied.
Status CollectionCopy::copyBatch() {
  next_ = last_;
  isDone_ = false;
  int64_t bytes = 0;
  TROUPE_ASSIGN(auto cursor, source_->records().cursor(unit()));
  bool found = false;
  if (next_) {
    TROUPE_ASSIGN(found, cursor.seekBehind(*next_));
  } else {
    TROUPE_ASSIGN(found, cursor.next());
  }
  for (int i = 0; found && i < kBatchDocuments && bytes < kBatchBytes; ++i) {
    const bson::View document = cursor.document();
    TROUPE_TRY(request_.server().disk.roomFor(document.size()));
    TROUPE_TRY(made_->insertCopy(unit(), document).status());
    bytes += document.size();
    next_ = cursor.id();
    TROUPE_ASSIGN(found, cursor.next());
  }
  isDone_ = !found;
  return Status::OK();
}

Task<Status> CollectionCopy::copy() {
  int64_t removed = 0;
  auto body = [&]() -> Status { return copyBatch(); };
  auto trim = [&]() -> Status {
    TROUPE_ASSIGN(removed, made_->trim(unit()));
    return Status::OK();
  };
  while (!isDone_) {
    TROUPE_CO_TRY(co_await writerOf(request_).commit(body));
    last_ = next_;
    TROUPE_CO_TRY(co_await request_.yield());
    // A large document that is copied takes the place of more small ones than its own unit of work removes.
    for (removed = 1; made_->exceedsCap() && removed > 0;) {
      TROUPE_CO_TRY(co_await writerOf(request_).commit(trim));
      TROUPE_CO_TRY(co_await request_.yield());
    }
  }
  co_return Status::OK();
}

Status CollectionCopy::takePlaceOnce(const Wanted& wanted) {
  TROUPE_TRY(storage::renameCollection(request_.server().catalog.unguarded(), unit(), made_, target_, wanted.replaces)
                 .status());
  if (!wanted.dropsSource) return Status::OK();
  return storage::dropCollection(request_.server().catalog.unguarded(), unit(), source_);
}

Task<Status> CollectionCopy::takePlace(const Wanted& wanted) {
  auto body = [&]() -> Status { return takePlaceOnce(wanted); };
  co_return co_await writerOf(request_).commit(body);
}

/// Also for an operation that has to end, which cannot wait any more.
void CollectionCopy::discard() {
  if (!made_) return;
  unit().abandonSnapshot();
  CollectionWriter writer = writerOf(request_);
  storage::ConflictRetry retry = writer.newRetry();
  const Status dropped = writer.attempt(
      retry, [&] { return storage::dropCollection(request_.server().catalog.unguarded(), unit(), made_); });
  if (!dropped.isOK()) leaveTemporary(request_.server(), *made_, dropped.reason());
}

}  // namespace troupe::commands
