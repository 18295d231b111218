#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "actors/kernel/task.hpp"
#include "actors/server/client.hpp"
#include "actors/server/readable_commits.hpp"
#include "actors/server/rights_collection.hpp"
#include "actors/server/role_store.hpp"
#include "messaging/auth/credentials.hpp"
#include "messaging/auth/roles.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/catalog/write_observer.hpp"
#include "storage/operation/operation_context.hpp"

namespace troupe {
class Node;
}
namespace troupe::storage {
class Catalog;
}

namespace troupe::server {

/// Counts committed changes of `admin.system.users` and `admin.system.roles`, so that connections notice when the
/// rights they remember are out of date. A member that follows another one commits a change before its readers see it:
/// there it counts a second time once they do, for a connection that looked in between has read the older rights.
/// Thread-safe.
class UserChanges final : public storage::WriteObserver {
 public:
  /// Of a member, before its first commit; this outlives `progress`.
  void follow(replication::ReplicationProgress& progress) { readable_.follow(progress); }
  /// Grows once a change has been committed, and again when it is read.
  int64_t version() const { return version_.load(std::memory_order_acquire); }
  /// What was committed may have been undone, by a rollback: nothing that is remembered holds any more (RBK-016).
  void forgetAll() { version_.fetch_add(1, std::memory_order_acq_rel); }

  bool observes(const storage::CatalogEntry& entry) const override;
  Status onInsert(storage::RecoveryUnit& unit, const storage::Collection& users,
                  const storage::InsertOperation& inserted) override;
  Status onUpdate(storage::RecoveryUnit& unit, const storage::Collection& users,
                  const storage::UpdateOperation& updated) override;
  Status onRemove(storage::RecoveryUnit& unit, const storage::Collection& users,
                  const storage::RemoveOperation& removed) override;
  Status onTruncate(storage::RecoveryUnit& unit, const storage::Collection& users, const OpTime& slot) override;
  Status onCreate(storage::RecoveryUnit& unit, const storage::Collection& users, const OpTime& slot) override;
  Status onDrop(storage::RecoveryUnit& unit, const storage::Collection& users, const OpTime& slot) override;
  Status onRename(storage::RecoveryUnit& unit, const storage::RenameOperation& renamed) override;

 private:
  Status countOnCommit(storage::RecoveryUnit& unit);
  std::atomic<int64_t> version_{1};
  ReadableCommits readable_{[this] { forgetAll(); }};
};

/// The users of the node: documents of `admin.system.users` ({_id: "db.user", userId, user, db, credentials, roles,
/// customData?, mechanisms?}), and their roles. Reads go to the collections, so that a change is seen by the next
/// log-in. Thread-safe; reads, threads and errors as those of RightsCollection, but for `read`, which waits.
class UserStore {
 public:
  UserStore(storage::Catalog& catalog, const storage::OperationServices& services, const UserChanges& changes)
      : stored_(catalog, services, kUsers), roles_(catalog, services), changes_(changes) {}

  static constexpr std::string_view kCollection = "admin.system.users";
  /// The user's document; nothing when there is none.
  StatusWith<std::optional<bson::Document>> find(std::string_view user, std::string_view database) const;
  /// All users' documents, of one database or (empty) of all.
  StatusWith<std::vector<bson::Document>> list(std::string_view database) const;
  /// Whether any user exists; while none does, a local client may make the first (the localhost exception).
  StatusWith<bool> anyUser() const;
  /// The user with what its roles allow now; nothing when there is none.
  StatusWith<std::optional<AuthenticatedUser>> load(std::string_view user, std::string_view database) const;
  /// The user that has the name now; one without an id when the store has none, as the cluster itself.
  StatusWith<UserKey> keyOf(std::string_view user, std::string_view database) const;
  /// What the roles of a user's document come to.
  StatusWith<ResolvedRoles> rolesOf(bson::View user) const;

  const RoleStore& roles() const { return roles_; }

  /// Waits, without holding a thread, until users can be read once more, after a read that failed with LockTimeout.
  /// `waiting`: the operation that needs them, which holds no locks and can be killed meanwhile. Errors: those of an
  /// interrupt.
  Task<Status> untilReadable(Node& node, storage::OperationContext& waiting) const;
  /// The result of `attempt` (a callable that reads users and gives a Status or StatusWith), made again after each wait
  /// for as long as they cannot be read. `attempt` lives in the caller's frame.
  template <class Attempt>
  Task<std::invoke_result_t<Attempt&>> read(Node& node, storage::OperationContext& waiting, Attempt& attempt) const {
    for (;;) {
      auto outcome = attempt();
      if (!isRefused(outcome)) co_return outcome;
      Status status = co_await untilReadable(node, waiting);
      if (!status.isOK()) co_return status;
    }
  }

  /// As UserChanges::version.
  int64_t version() const { return changes_.version(); }

 private:
  static bool isRefused(const Status& outcome) { return outcome == ErrorCode::kLockTimeout; }
  template <class T>
  static bool isRefused(const StatusWith<T>& outcome) {
    return !outcome.isOK() && isRefused(outcome.status());
  }

  const RightsCollection stored_;
  const RoleStore roles_;
  const UserChanges& changes_;
};

}  // namespace troupe::server
