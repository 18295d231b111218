#include "actors/server/user_store.hpp"

#include "actors/kernel/node.hpp"
#include "actors/storage/storage_waits.hpp"
#include "messaging/auth/privilege_documents.hpp"
#include "messaging/errors/invariant.hpp"

namespace troupe::server {

bool UserChanges::observes(const storage::CatalogEntry& entry) const { return keepsRights(entry.ns); }

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
  unit.onCommit([this](auto time) {
    forgetAll();
    (void)readable_.awaits(time);
  });
  return Status::OK();
}

StatusWith<std::optional<bson::Document>> UserStore::find(std::string_view user, std::string_view database) const {
  return stored_.find(std::string(database) + "." + std::string(user));
}

StatusWith<std::vector<bson::Document>> UserStore::list(std::string_view database) const {
  std::vector<bson::Document> all;
  TROUPE_TRY(stored_.each([&](bson::View user) {
    if (database.empty() || user["db"].toStringOr() == database) all.emplace_back(user);
    return true;
  }));
  return all;
}

StatusWith<bool> UserStore::anyUser() const {
  bool any = false;
  TROUPE_TRY(stored_.each([&](bson::View) {
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
  storage::HeldLock lock = lockToReadRights(waiting);
  Status status = co_await acquireLock(node, waiting, lock);
  waiting.setPriority(before);
  lock.reset();
  // The caller tries again until it succeeds: others get a turn between two attempts, whatever makes them fail.
  if (status.isOK()) co_await node.nextTurn();
  if (status.isOK()) status = waiting.checkForInterrupt(node.environment().coarseNow());
  co_return status;
}

StatusWith<std::optional<AuthenticatedUser>> UserStore::load(std::string_view user, std::string_view database) const {
  AuthenticatedUser loaded{.name = std::string(user), .database = std::string(database), .version = version()};
  TROUPE_ASSIGN(const auto stored, find(user, database));
  if (!stored) return std::optional<AuthenticatedUser>();
  loaded.id = (*stored)["userId"].valueBytes();
  TROUPE_ASSIGN(auto resolved, rolesOf(*stored));
  loaded.roles = bson::Document(resolved.rolesArray().element().asArray());
  loaded.privileges = std::move(resolved.privileges);
  return std::optional(std::move(loaded));
}

StatusWith<UserKey> UserStore::keyOf(std::string_view user, std::string_view database) const {
  UserKey key{.database = std::string(database), .name = std::string(user)};
  TROUPE_ASSIGN(const auto stored, find(user, database));
  if (stored) key.id = (*stored)["userId"].valueBytes();
  return key;
}

StatusWith<ResolvedRoles> UserStore::rolesOf(bson::View user) const {
  std::vector<auth::RoleName> held;
  if (const bson::Element roles = user["roles"]; roles.is(bson::Type::kArray)) {
    for (const bson::Element& role : roles.asArray())
      if (role.is(bson::Type::kDocument)) held.push_back(auth::roleNameOf(role.asDocument()));
  }
  return roles_.resolve(held);
}

}  // namespace troupe::server
