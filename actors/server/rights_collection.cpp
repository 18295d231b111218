#include "actors/server/rights_collection.hpp"

#include "storage/catalog/catalog.hpp"
#include "storage/records/checked_document.hpp"

namespace troupe::server {
namespace {

/// Takes the lock if its holders permit it, before all that wait for it: those may wait for an operator who has to log
/// in first (fsyncUnlock).
bool tryOvertaking(storage::Locker& locker, storage::HeldLock& lock) {
  while (!lock.tryAcquire()) {
    const auto taken = locker.acquire(lock.next(), lock.nextMode(), {.compatibleFirst = true}, [](const Status&) {});
    if (taken.wait) locker.giveUp(taken.wait);
    if (taken.wait || !taken.status.isOK()) return false;
    lock.granted();
  }
  return true;
}

/// An operation that reads rights.
class RightsRead {
 public:
  explicit RightsRead(const storage::OperationServices& services) : operation_(services) {
    operation_.setPriority(storage::AdmissionPriority::kImmediate);
  }
  Status begin() {
    if (operation_.tryAdmit(false) && (lock_.tryAcquire() || tryOvertaking(*operation_.locker(), lock_)))
      return Status::OK();
    return {ErrorCode::kLockTimeout, "users and roles cannot be read: the data is about to be closed"};
  }
  storage::RecoveryUnit& unit() { return operation_.recoveryUnit(); }

 private:
  storage::OperationContext operation_;
  storage::HeldLock lock_ = lockToReadRights(operation_);
};

/// Nothing makes a view of that name; a catalog that names one has no rights to read.
Status checkIsCollection(const storage::Collection& collection) {
  if (!collection.isView()) return Status::OK();
  return {ErrorCode::kDataCorruptionDetected, collection.ns().toString() + " is a view: drop it"};
}

}  // namespace

storage::HeldLock lockToReadRights(storage::OperationContext& operation) {
  return storage::HeldLock::inEveryRole(operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kIS);
}

StatusWith<std::optional<bson::Document>> RightsCollection::find(std::string_view id) const {
  RightsRead read(services_);
  TROUPE_TRY(read.begin());
  const auto collection = catalog_.find(ns_);
  if (!collection) return std::optional<bson::Document>();
  TROUPE_TRY(checkIsCollection(*collection));
  storage::RecoveryUnit& unit = read.unit();
  const bson::Document key = bson::doc("_id", id);
  TROUPE_ASSIGN(const auto record, collection->findById(unit, key.view().first()));
  if (!record) return std::optional<bson::Document>();
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(unit));
  TROUPE_ASSIGN(const bool found, cursor.seekExact(*record));
  if (!found) return std::optional<bson::Document>();
  TROUPE_ASSIGN(const bson::View stored, storage::checkedDocument(cursor.bytes(), ns_.toString()));
  return std::optional(bson::Document(stored));
}

Status RightsCollection::each(const std::function<bool(bson::View)>& use) const {
  RightsRead read(services_);
  TROUPE_TRY(read.begin());
  const auto collection = catalog_.find(ns_);
  if (!collection) return Status::OK();
  TROUPE_TRY(checkIsCollection(*collection));
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(read.unit()));
  for (;;) {
    TROUPE_ASSIGN(const bool found, cursor.next());
    if (!found) return Status::OK();
    TROUPE_ASSIGN(const bson::View document, storage::checkedDocument(cursor.bytes(), ns_.toString()));
    if (!use(document)) return Status::OK();
  }
}

}  // namespace troupe::server
