#include "actors/storage/collection_writer.hpp"

#include <memory>

#include "actors/storage/interruptible_wait.hpp"
#include "storage/catalog/catalog_operations.hpp"

namespace troupe {

using storage::CollectionPtr;
using storage::HeldLock;
using storage::LockMode;
using storage::Namespace;

namespace {

/// Approximate size of an empty table on disk, in bytes.
constexpr size_t kTableBytes = 16 * 1024;

}  // namespace

Status CollectionWriter::roomForTable() const {
  return services_.roomFor ? services_.roomFor(kTableBytes) : Status::OK();
}

Task<Status> CollectionWriter::createIfMissing(Namespace ns, storage::CollectionOptions options) {
  TROUPE_CO_TRY(storage::validateForCreate(ns));
  if (ns.isReplicated()) operation_.announceWrites();
  if (services_.catalog.find(ns)) co_return Status::OK();  // the usual case takes no lock
  const auto lock = co_await lockCollection(services_.node, operation_, ns, LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  if (services_.catalog.find(ns)) co_return Status::OK();
  TROUPE_CO_TRY(roomForTable());
  unit().abandonSnapshot();
  auto create = [&]() -> Status { return storage::createCollection(services_.catalog, unit(), ns, options).status(); };
  co_return co_await commit(create);
}

Task<Status> CollectionWriter::note(bson::Document message) {
  if (!services_.log) co_return Status(ErrorCode::kNoReplicationEnabled, "this node keeps no log of operations");
  operation_.announceWrites();
  HeldLock lock(operation_, storage::ResourceType::kGlobal, {}, LockMode::kIX);
  TROUPE_CO_TRY(co_await acquireLock(services_.node, operation_, lock));
  auto write = [&]() -> Status { return services_.log->note(unit(), message); };
  co_return co_await commit(write);
}

std::optional<WriteTarget> CollectionWriter::tryOpen(const Namespace& ns) const {
  HeldLock lock = collectionLock(operation_, ns, LockMode::kIX);
  if (!tryAcquireLock(operation_, lock)) return std::nullopt;
  CollectionPtr collection = services_.catalog.find(ns);
  if (!collection || collection->isCapped() || collection->isView()) return std::nullopt;
  return WriteTarget{std::move(lock), std::move(collection)};
}

Task<StatusWith<WriteTarget>> CollectionWriter::open(Namespace ns, IfMissing ifMissing) {
  if (ns.isReplicated()) operation_.announceWrites();
  for (LockMode mode = LockMode::kIX;;) {
    HeldLock lock = collectionLock(operation_, ns, mode);
    if (!tryAcquireLock(operation_, lock)) TROUPE_CO_TRY(co_await acquireLock(services_.node, operation_, lock));
    CollectionPtr collection = services_.catalog.find(ns);
    if (collection && collection->isCapped() && mode == LockMode::kIX) {
      mode = LockMode::kX;
      continue;
    }
    if (collection && collection->isView()) {
      co_return Status(ErrorCode::kCommandNotSupportedOnView,
                       "Namespace " + ns.toString() + " is a view, not a collection");
    }
    if (collection || ifMissing == IfMissing::kLeave) co_return WriteTarget{std::move(lock), std::move(collection)};
    lock.reset();
    TROUPE_CO_TRY(co_await createIfMissing(ns));
  }
}

storage::ConflictRetry CollectionWriter::newRetry() const {
  return storage::ConflictRetry(services_.retryOptions ? services_.retryOptions() : storage::ConflictRetryOptions{},
                                services_.conflicts, &operation_.metrics.writeConflicts);
}

/// The operation keeps its locks; it returns its ticket, which the holder of the awaited resource may need.
Task<Status> CollectionWriter::until(std::shared_ptr<Promise<Status>> promise, InterruptibleWait::Options options) {
  auto outcome = promise->future();
  const bool admitted = operation_.isAdmitted();
  operation_.returnTicket();
  {
    const std::function<void(const Status&)> end = [promise](const Status& why) { promise->set(why); };
    const InterruptibleWait guard(services_.node.environment(), operation_, end, std::move(options));
    const storage::WriteFence::Watch watch = endWithWrites(operation_, end);
    TROUPE_CO_TRY(co_await outcome);
  }
  if (!admitted) co_return Status::OK();
  co_return co_await admit(services_.node, operation_, true);
}

Task<Status> CollectionWriter::pause(std::chrono::milliseconds delay) {
  auto promise = std::make_shared<Promise<Status>>();
  InterruptibleWait::Options options;
  options.limit = services_.node.environment().now() + delay;
  options.late = Status::OK();
  co_return co_await until(std::move(promise), std::move(options));
}

uint64_t CollectionWriter::preparedDecisions() const { return services_.catalog.engine().preparedDecisions().get(); }

Task<Status> CollectionWriter::untilDecided(uint64_t seen) {
  unit().abandonSnapshot();
  storage::PreparedDecisions& decisions = services_.catalog.engine().preparedDecisions();
  auto promise = std::make_shared<Promise<Status>>();
  const auto waiter = decisions.whenPast(seen, [promise] { promise->set(Status::OK()); });
  InterruptibleWait::Options options;
  options.abandon = [&decisions, waiter] { decisions.withdraw(waiter); };
  co_return co_await until(std::move(promise), std::move(options));
}

}  // namespace troupe
