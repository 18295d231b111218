#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/commands/client.hpp"
#include "messaging/auth/credentials.hpp"
#include "messaging/auth/roles.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::storage {
class Catalog;
class SessionPool;
}  // namespace troupe::storage

namespace troupe::commands {

/// The users of the node: documents of `admin.system.users` ({_id: "db.user", userId, user, db, credentials, roles,
/// customData?, mechanisms?}). Reads go to the collection, so that a change is seen by the next log-in. Thread-safe;
/// calls read storage on the caller's thread.
class UserStore {
 public:
  UserStore(storage::Catalog& catalog, storage::SessionPool& sessions) : catalog_(catalog), sessions_(sessions) {}

  static constexpr std::string_view kCollection = "admin.system.users";
  /// The user's document; nothing when there is none.
  StatusWith<std::optional<bson::Document>> find(std::string_view user, std::string_view database) const;
  /// All users' documents, of one database or (empty) of all.
  StatusWith<std::vector<bson::Document>> list(std::string_view database) const;
  /// Whether any user exists; while none does, a local client may make the first (the localhost exception).
  bool anyUser() const;
  /// The user with what its roles allow now; nothing when there is none. Errors: RoleNotFound for a role this server does
  /// not have.
  StatusWith<std::optional<AuthenticatedUser>> load(std::string_view user, std::string_view database) const;
  /// What the roles of a user's document allow.
  static StatusWith<auth::PrivilegeSet> privilegesOf(bson::View user);

  /// Grows with every change of users, so that connections see that what they know of theirs may be out of date.
  int64_t version() const { return version_.load(std::memory_order_acquire); }
  void noteChange() { version_.fetch_add(1, std::memory_order_acq_rel); }

 private:
  storage::Catalog& catalog_;
  storage::SessionPool& sessions_;
  std::atomic<int64_t> version_{1};
};

}  // namespace troupe::commands
