#include "actors/machines/collection_store.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include "actors/machines/document_removals.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/records/checked_document.hpp"

namespace troupe::machines {

using storage::CollectionPtr;

namespace {

const FaultSite kWriteSlow("machines.store.write-slow", 0.05, "storage takes up to 300 ms for a document");
const FaultSite kReadFails("machines.store.read-fails", 0.2, "documents cannot be read");
const FaultSite kSettlingFails("machines.store.settling-fails", 0.1, "nobody can say whether what was found is safe");

Status readFailure() { return {ErrorCode::kInterrupted, "the documents cannot be read just now"}; }

StatusWith<std::optional<bson::Document>> readOne(const CollectionPtr& collection, storage::RecoveryUnit& unit,
                                                  bson::View key) {
  TROUPE_ASSIGN(const auto record, collection->findById(unit, key["_id"]));
  if (!record) return std::optional<bson::Document>();
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(unit));
  TROUPE_ASSIGN(const bool found, cursor.seekExact(*record));
  if (!found) return std::optional<bson::Document>();
  TROUPE_ASSIGN(const bson::View document, storage::checkedDocument(cursor.bytes(), collection->ns().toString()));
  return std::optional(bson::Document(document));
}

/// Reads up to `limit` records from `from` on.
StatusWith<DocumentBatch> readBatch(const CollectionPtr& collection, storage::RecoveryUnit& unit, int64_t from,
                                    size_t limit) {
  if (collection->records().kind() != storage::RecordIds::kNumbers)
    return Status(ErrorCode::kIllegalOperation,
                  "state documents in a clustered collection are not served: " + collection->ns().toString());
  DocumentBatch batch;
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(unit));
  TROUPE_ASSIGN(bool found, cursor.seekNear(storage::RecordId(from)));
  while (found && batch.documents.size() < limit) {
    TROUPE_ASSIGN(const bson::View document, storage::checkedDocument(cursor.bytes(), collection->ns().toString()));
    batch.documents.emplace_back(document);
    batch.next = cursor.id().number() + 1;
    TROUPE_ASSIGN(found, cursor.next());
  }
  batch.last = !found;
  return batch;
}

}  // namespace

CollectionStore::CollectionStore(StorageAccess access, storage::Namespace ns)
    : access_(std::move(access)), ns_(std::move(ns)) {
  for (auto& lane : lanes_) lane = std::make_shared<GroupCommit>(access_, ns_);
}

GroupCommit& CollectionStore::laneOf(bson::View key) const {
  const size_t hash = std::hash<std::string_view>()(key["_id"].raw());
  return *lanes_[(hash >> 32) % lanes_.size()];  // a lane spreads its guesses by the low bits
}

Task<Status> CollectionStore::put(bson::Document document, Durability durability) {
  return write(std::move(document), GroupCommit::Change::kPut, durability);
}

Task<Status> CollectionStore::remove(bson::Document key, Durability durability) {
  return write(std::move(key), GroupCommit::Change::kRemove, durability);
}

/// Taken before anything is awaited: a write that is late belongs to the term it was asked for in.
std::optional<int64_t> CollectionStore::servedTerm() const {
  const int64_t now = term_;
  return now == 0 ? std::nullopt : std::optional(now);
}

Task<Status> CollectionStore::write(bson::Document document, GroupCommit::Change change, Durability durability) {
  const auto term = servedTerm();
  Environment& environment = access_.node.environment();
  if (environment.fires(kWriteSlow))
    co_await access_.node.sleepFor(std::chrono::milliseconds(environment.random() % 300));
  GroupCommit& lane = laneOf(document);
  TROUPE_CO_TRY(co_await lane.write(std::move(document), change, durability, term));
  if (durability != Durability::kMajority || !access_.majority || !ns_.isReplicated()) co_return Status::OK();
  co_return co_await access_.majority(term);
}

Task<StatusWith<std::optional<bson::Document>>> CollectionStore::find(bson::Document key) {
  co_await laneOf(key).written();
  const auto collection = this->collection();
  if (access_.node.environment().fires(kReadFails)) co_return readFailure();
  if (!collection.isOK()) co_return collection.status();
  if (!*collection) co_return std::optional<bson::Document>();
  storage::OperationContext operation(access_.operations, storage::OperationOrigin::kMachine);
  co_return readOne(*collection, operation.recoveryUnit(), key);
}

Task<StatusWith<DocumentBatch>> CollectionStore::load(int64_t from, size_t limit) {
  for (const auto& lane : lanes_) co_await lane->written();
  if (access_.node.environment().fires(kReadFails)) co_return readFailure();
  co_return loadNow(from, limit);
}

/// Null when there is none. A service that started from nothing while the catalog is closed would forget its votes.
StatusWith<storage::CollectionPtr> CollectionStore::collection() const {
  const auto catalog = access_.catalog.snapshot();
  if (catalog->closed())
    return Status(ErrorCode::kInterruptedDueToReplStateChange, "the catalog is closed and will be read again");
  return catalog->find(ns_);
}

StatusWith<DocumentBatch> CollectionStore::loadNow(int64_t from, size_t limit) const {
  TROUPE_ASSIGN(const auto collection, this->collection());
  if (!collection) return DocumentBatch{{}, 0, true};
  storage::OperationContext operation(access_.operations, storage::OperationOrigin::kMachine);
  return readBatch(collection, operation.recoveryUnit(), from, limit);
}

/// What was found may be a write that its host has not seen a majority take, or one of an earlier primary: acted upon
/// now, it would be rolled back afterwards. Writers take their tickets as soon as they have committed, the applier of
/// another member's log takes none: what is replicated is flushed in any case.
Task<Status> CollectionStore::settle() {
  if (access_.node.environment().fires(kSettlingFails))
    co_return Status(ErrorCode::kInternalError, "the journal cannot be flushed");
  const bool needsMajority = access_.majority && ns_.isReplicated();
  if (!needsMajority && access_.durability.durable() == access_.durability.taken()) co_return Status::OK();
  const auto term = servedTerm();
  const auto ticket = access_.durability.take();
  TROUPE_CO_TRY(co_await untilDurable(access_.durability, ticket, access_.wakeFlusher));
  if (!needsMajority) co_return Status::OK();
  co_return co_await access_.majority(term);
}

void CollectionStore::reportRemovals(const Address& service) {
  if (access_.removals) access_.removals->report(ns_, access_.node, service);
}

}  // namespace troupe::machines
