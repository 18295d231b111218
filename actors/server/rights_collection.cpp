#include "actors/server/rights_collection.hpp"

#include "storage/catalog/catalog.hpp"
#include "storage/records/checked_document.hpp"

namespace troupe::server {
namespace {

/// An operation that reads rights.
class RightsRead {
 public:
  explicit RightsRead(const storage::OperationServices& services) : operation_(services) {
    operation_.setPriority(storage::AdmissionPriority::kImmediate);
  }
  Status begin() {
    if (operation_.tryAdmit(false) && lock_.tryAcquire()) return Status::OK();
    return {ErrorCode::kLockTimeout, "users and roles cannot be read: the data is about to be closed"};
  }
  storage::RecoveryUnit& unit() { return operation_.recoveryUnit(); }

 private:
  storage::OperationContext operation_;
  storage::HeldLock lock_ = lockToReadRights(operation_);
};

}  // namespace

storage::HeldLock lockToReadRights(storage::OperationContext& operation) {
  return storage::HeldLock::inEveryRole(operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kIS);
}

StatusWith<std::optional<bson::Document>> RightsCollection::find(std::string_view id) const {
  RightsRead read(services_);
  TROUPE_TRY(read.begin());
  const auto collection = catalog_.find(ns_);
  if (!collection) return std::optional<bson::Document>();
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
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(read.unit()));
  for (;;) {
    TROUPE_ASSIGN(const bool found, cursor.next());
    if (!found) return Status::OK();
    TROUPE_ASSIGN(const bson::View document, storage::checkedDocument(cursor.bytes(), ns_.toString()));
    if (!use(document)) return Status::OK();
  }
}

}  // namespace troupe::server
