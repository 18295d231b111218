#include "actors/server/user_store.hpp"

#include "actors/storage/storage_waits.hpp"
#include "messaging/errors/invariant.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/operation/held_lock.hpp"
#include "storage/records/checked_document.hpp"

namespace troupe::server {

namespace {

/// The lock under which users are read, in every role: a change of the role keeps nobody from logging in.
storage::HeldLock lockToRead(storage::OperationContext& operation) {
  return storage::HeldLock::inEveryRole(operation, storage::ResourceType::kGlobal, {}, storage::LockMode::kIS);
}

/// An operation that reads users.
class UserRead {
 public:
  explicit UserRead(const storage::OperationServices& services) : operation_(services) {
    operation_.setPriority(storage::AdmissionPriority::kImmediate);
  }
  Status begin() {
    if (operation_.tryAdmit(false) && lock_.tryAcquire()) return Status::OK();
    return {ErrorCode::kLockTimeout, "users cannot be read: the data is about to be closed"};
  }
  storage::RecoveryUnit& unit() { return operation_.recoveryUnit(); }

 private:
  storage::OperationContext operation_;
  storage::HeldLock lock_ = lockToRead(operation_);
};

/// Calls `use` with each user's document until it answers false.
template <class F>
Status eachUser(storage::Catalog& catalog, const storage::OperationServices& services, F&& use) {
  UserRead read(services);
  TROUPE_TRY(read.begin());
  const auto collection = catalog.find(kUsers);
  if (!collection) return Status::OK();
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(read.unit()));
  for (;;) {
    TROUPE_ASSIGN(const bool found, cursor.next());
    if (!found) return Status::OK();
    TROUPE_ASSIGN(const bson::View user, storage::checkedDocument(cursor.bytes(), kUsers.toString()));
    if (!use(user)) return Status::OK();
  }
}

}  // namespace

bool UserChanges::observes(const storage::CatalogEntry& entry) const { return entry.ns == kUsers; }

Status UserChanges::onInsert(storage::RecoveryUnit& unit, const storage::Collection&, const storage::InsertOperation&) {
  return countOnCommit(unit);
}

Status UserChanges::onUpdate(storage::RecoveryUnit& unit, const storage::Collection&, const storage::UpdateOperation&) {
  return countOnCommit(unit);
}

Status UserChanges::onRemove(storage::RecoveryUnit& unit, const storage::Collection&, const storage::RemoveOperation&) {
  return countOnCommit(unit);
}

Status UserChanges::onTruncate(storage::RecoveryUnit& unit, const storage::Collection&, const OpTime&) {
  return countOnCommit(unit);
}

Status UserChanges::onCreate(storage::RecoveryUnit& unit, const storage::Collection&, const OpTime&) {
  return countOnCommit(unit);
}

Status UserChanges::onDrop(storage::RecoveryUnit& unit, const storage::Collection&, const OpTime&) {
  return countOnCommit(unit);
}

Status UserChanges::onRename(storage::RecoveryUnit& unit, const storage::RenameOperation&) {
  return countOnCommit(unit);
}

Status UserChanges::countOnCommit(storage::RecoveryUnit& unit) {
  unit.onCommit([this](auto) { version_.fetch_add(1, std::memory_order_acq_rel); });
  return Status::OK();
}

StatusWith<std::optional<bson::Document>> UserStore::find(std::string_view user, std::string_view database) const {
  UserRead read(services_);
  TROUPE_TRY(read.begin());
  const auto collection = catalog_.find(kUsers);
  if (!collection) return std::optional<bson::Document>();
  storage::RecoveryUnit& unit = read.unit();
  const bson::Document id = bson::doc("_id", std::string(database) + "." + std::string(user));
  TROUPE_ASSIGN(const auto record, collection->findById(unit, id.view().first()));
  if (!record) return std::optional<bson::Document>();
  TROUPE_ASSIGN(auto cursor, collection->records().cursor(unit));
  TROUPE_ASSIGN(const bool found, cursor.seekExact(*record));
  if (!found) return std::optional<bson::Document>();
  TROUPE_ASSIGN(const bson::View stored, storage::checkedDocument(cursor.bytes(), kUsers.toString()));
  return std::optional(bson::Document(stored));
}

StatusWith<std::vector<bson::Document>> UserStore::list(std::string_view database) const {
  std::vector<bson::Document> all;
  TROUPE_TRY(eachUser(catalog_, services_, [&](bson::View user) {
    if (database.empty() || user["db"].toStringOr() == database) all.emplace_back(user);
    return true;
  }));
  return all;
}

StatusWith<bool> UserStore::anyUser() const {
  bool any = false;
  TROUPE_TRY(eachUser(catalog_, services_, [&](bson::View) {
    any = true;
    return false;
  }));
  return any;
}

/// Takes the lock itself, and lets go of it: the read that follows has an operation of its own.
Task<Status> UserStore::untilReadable(Node& node, storage::OperationContext& waiting) const {
  invariant(!waiting.locker() || !waiting.locker()->holdsAny(), "an operation that awaits users holds no locks");
  const storage::AdmissionPriority before = waiting.priority();
  waiting.setPriority(storage::AdmissionPriority::kImmediate);
  storage::HeldLock lock = lockToRead(waiting);
  Status status = co_await acquireLock(node, waiting, lock);
  waiting.setPriority(before);
  co_return status;
}

StatusWith<std::optional<AuthenticatedUser>> UserStore::load(std::string_view user, std::string_view database) const {
  AuthenticatedUser loaded{.name = std::string(user), .database = std::string(database), .version = version()};
  TROUPE_ASSIGN(const auto stored, find(user, database));
  if (!stored) return std::optional<AuthenticatedUser>();
  loaded.id = (*stored)["userId"].valueBytes();
  TROUPE_ASSIGN(loaded.privileges, privilegesOf(*stored));
  if (const auto roles = (*stored)["roles"]; roles.is(bson::Type::kArray))
    loaded.roles = bson::Document(roles.asArray());
  return std::optional(std::move(loaded));
}

StatusWith<auth::PrivilegeSet> UserStore::privilegesOf(bson::View user) {
  auth::PrivilegeSet privileges;
  const bson::Element roles = user["roles"];
  if (!roles.is(bson::Type::kArray)) return privileges;
  for (const bson::Element& role : roles.asArray()) {
    if (!role.is(bson::Type::kDocument)) continue;
    TROUPE_TRY(privileges.addRole(role.asDocument()["role"].toStringOr(), role.asDocument()["db"].toStringOr()));
  }
  return privileges;
}

}  // namespace troupe::server
