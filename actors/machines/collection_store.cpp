#include "actors/machines/collection_store.hpp"

#include <optional>
#include <string>
#include <utility>

#include "actors/machines/document_removals.hpp"
#include "actors/storage/storage_waits.hpp"
#include "storage/catalog/catalog_operations.hpp"
#include "storage/transaction/conflict_retry.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::machines {

using storage::CollectionPtr;
using storage::LockGuard;
using storage::ResourceLocks;

namespace {

const FaultSite kWriteFails("machines.store.write-fails", 0.05, "a document cannot be written: its conflicts outlast the retries");
const FaultSite kWriteSlow("machines.store.write-slow", 0.05, "storage takes up to 300 ms for a document");
const FaultSite kNoSession("machines.store.no-session", 0.05, "the engine has no session to give");
const FaultSite kFlushFails("machines.store.flush-fails", 0.03, "a document is written, and nobody can say that it is safe");
const FaultSite kReadFails("machines.store.read-fails", 0.2, "documents cannot be read");

Status flushFailure() { return {ErrorCode::kInternalError, "the journal cannot be flushed"}; }
Status readFailure() { return {ErrorCode::kInterrupted, "the documents cannot be read just now"}; }

StatusWith<std::optional<bson::Document>> readOne(const CollectionPtr& collection, storage::RecoveryUnit& unit, bson::View key) {
  std::optional<bson::Document> found;
  TROUPE_ASSIGN(const auto record, collection->findById(unit, key["_id"]));
  if (record)
    TROUPE_TRY(collection->find(unit, *record, [&](bson::View document) { found = bson::Document(document); }).status());
  return found;
}

/// Reads up to `limit` records from `from` on.
StatusWith<DocumentBatch> readBatch(const CollectionPtr& collection, storage::RecoveryUnit& unit, int64_t from, size_t limit) {
  DocumentBatch batch;
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(unit));
  TROUPE_ASSIGN(bool found, cursor.seekNear(storage::RecordId{from}));
  while (found && batch.documents.size() < limit) {
    batch.documents.emplace_back(cursor.document());
    batch.next = cursor.id().value + 1;
    TROUPE_ASSIGN(found, cursor.next());
  }
  batch.last = !found;
  return batch;
}

}  // namespace

/// One transaction, tried again at once after conflicts; `retry` says whether to try again later.
template <class Body>
Status CollectionStore::attempt(storage::RecoveryUnit& unit, storage::ConflictRetry& retry, const Body& body) {
  Environment& environment = access_.node.environment();
  if (environment.fires(kNoSession)) return {ErrorCode::kExceededMemoryLimit, "no session is left"};
  if (environment.fires(kWriteFails)) return {ErrorCode::kWriteConflict, "the document is written by others again and again"};
  return storage::writeConflictRetry(retry, unit, [&]() -> Status {
    storage::WriteUnitOfWork work(unit);
    TROUPE_TRY(body());
    return work.commit();
  });
}

/// After a conflict it waits without the locks, and leaves it to the caller to look again.
Task<Status> CollectionStore::create() {
  storage::ConflictRetry retry;
  {
    const auto locks = co_await takeLocks(access_.locks, locksToChange(ns_));
    if (access_.catalog.find(ns_)) co_return Status::OK();
    storage::RecoveryUnit unit(access_.sessions);
    const Status status = attempt(unit, retry, [&] { return storage::createCollection(access_.catalog, unit, ns_, {}).status(); });
    if (status.isOK() || !retry.pendingDelay()) co_return status;
  }
  co_await access_.node.sleepFor(*retry.pendingDelay());
  co_return Status::OK();
}

/// Without waiting, where the collection is there and nobody changes what it is: nearly always.
std::optional<CollectionStore::Open> CollectionStore::tryOpen() {
  if (!access_.locks.tryAcquire(stripe_, LockMode::kShared)) return std::nullopt;
  LockGuard lock(access_.locks, stripe_, LockMode::kShared);
  CollectionPtr collection = access_.catalog.find(ns_);
  if (!collection) return std::nullopt;
  return Open{std::move(lock), std::move(collection)};
}

Task<StatusWith<CollectionStore::Open>> CollectionStore::open(bool createMissing) {
  for (;;) {
    if (!access_.locks.tryAcquire(stripe_, LockMode::kShared)) co_await acquired(access_.locks, stripe_, LockMode::kShared);
    LockGuard lock(access_.locks, stripe_, LockMode::kShared);
    CollectionPtr collection = access_.catalog.find(ns_);
    if (collection || !createMissing) co_return Open{std::move(lock), std::move(collection)};
    lock.reset();
    if (Status created = co_await create(); !created.isOK()) co_return created;
  }
}

/// One coroutine, and no other where nothing waits: the way of every transition of every machine.
Task<Status> CollectionStore::write(bson::Document document, Change change, bool createMissing, Durability durability) {
  Environment& environment = access_.node.environment();
  if (environment.fires(kWriteSlow)) co_await access_.node.sleepFor(std::chrono::milliseconds(environment.random() % 300));
  {
    std::optional<Open> opened = tryOpen();
    if (!opened) {
      auto waited = co_await open(createMissing);
      if (!waited.isOK()) co_return waited.status();
      if (!waited->collection) co_return Status::OK();
      opened = std::move(*waited);
    }
    storage::RecoveryUnit unit(access_.sessions);
    storage::ConflictRetry retry;
    for (;;) {
      const Status status = attempt(unit, retry, [&] { return (this->*change)(*opened->collection, unit, document); });
      if (status.isOK()) break;
      if (!retry.pendingDelay()) co_return status;
      co_await access_.node.sleepFor(*retry.pendingDelay());
    }
  }
  const auto ticket = access_.durability.take();
  if (durability == Durability::kLocal) co_return Status::OK();
  if (environment.fires(kFlushFails)) co_return flushFailure();
  co_return co_await untilDurable(access_.durability, ticket, access_.wakeFlusher);
}

Status CollectionStore::replace(const storage::Collection& collection, storage::RecoveryUnit& unit, bson::View document) {
  std::atomic<int64_t>& place = places_[std::hash<std::string_view>()(document["_id"].raw()) % places_.size()];
  const storage::RecordId guess{place.load(std::memory_order_relaxed)};
  TROUPE_ASSIGN(const auto written, collection.put(unit, document, guess));
  if (written != guess) place.store(written.value, std::memory_order_relaxed);
  return Status::OK();
}

Status CollectionStore::erase(const storage::Collection& collection, storage::RecoveryUnit& unit, bson::View key) {
  TROUPE_ASSIGN(const auto record, collection.findById(unit, key["_id"]));
  if (!record) return Status::OK();
  bson::Document before;
  TROUPE_TRY(collection.find(unit, *record, [&](bson::View found) { before = bson::Document(found); }).status());
  return collection.remove(unit, *record, before);
}

Task<Status> CollectionStore::put(bson::Document document, Durability durability) {
  return write(std::move(document), &CollectionStore::replace, true, durability);
}

Task<Status> CollectionStore::remove(bson::Document key, Durability durability) {
  return write(std::move(key), &CollectionStore::erase, false, durability);
}

Task<StatusWith<std::optional<bson::Document>>> CollectionStore::find(bson::Document key) {
  const auto collection = access_.catalog.find(ns_);
  if (access_.node.environment().fires(kReadFails)) co_return readFailure();
  if (!collection) co_return std::optional<bson::Document>();
  storage::RecoveryUnit unit(access_.sessions);
  co_return readOne(collection, unit, key);
}

Task<StatusWith<DocumentBatch>> CollectionStore::load(int64_t from, size_t limit) {
  const auto collection = access_.catalog.find(ns_);
  if (access_.node.environment().fires(kReadFails)) co_return readFailure();
  if (!collection) co_return DocumentBatch{{}, 0, true};
  storage::RecoveryUnit unit(access_.sessions);
  co_return readBatch(collection, unit, from, limit);
}

/// Writers take their tickets as soon as they have committed.
Task<Status> CollectionStore::settle() {
  if (access_.durability.durable() == access_.durability.taken()) co_return Status::OK();
  const auto ticket = access_.durability.take();
  if (access_.node.environment().fires(kFlushFails)) co_return flushFailure();
  co_return co_await untilDurable(access_.durability, ticket, access_.wakeFlusher);
}

void CollectionStore::reportRemovals(const Address& service) {
  if (access_.removals) access_.removals->report(ns_, access_.node, service);
}

}  // namespace troupe::machines
