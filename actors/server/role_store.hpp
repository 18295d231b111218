#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/server/rights_collection.hpp"
#include "messaging/auth/roles.hpp"
#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::server {

/// A user-defined role: its own privileges, and the roles it inherits from.
struct RoleDefinition {
  auth::RoleName name;
  std::vector<auth::Privilege> privileges = {};
  std::vector<auth::RoleName> roles = {};

  /// Of a document of `admin.system.roles`. What is no privilege or no name of a role grants nothing.
  static RoleDefinition of(bson::View stored);
  /// {_id: "db.role", role, db, privileges: [{resource, actions}], roles: [{role, db}]}
  bson::Document toDocument() const;
  std::string id() const { return name.database + "." + name.role; }
};

/// What some roles come to: all that they inherit from, and all that they allow.
struct ResolvedRoles {
  std::vector<auth::RoleName> roles;  ///< the roles themselves first, then those they inherit from; each once
  auth::PrivilegeSet privileges;
  /// False: they exceed a limit of RoleStore, and what is beyond it is left out.
  bool complete = true;
  bool inheritsItself = false;  ///< only of a definition

  /// [{role, db}, ...]
  bson::Value rolesArray() const;
};

/// The user-defined roles of the node: documents of `admin.system.roles`. Thread-safe; reads, threads and errors as
/// those of RightsCollection.
class RoleStore {
 public:
  /// Of one role.
  static constexpr size_t kMaxPrivileges = 1000;
  /// That one user or one role may name.
  static constexpr size_t kMaxRoles = 1000;
  // Of all that a user or a role inherits.
  static constexpr size_t kMaxInherited = 1000;  ///< roles
  static constexpr int kMaxDepth = 20;           ///< roles that inherit from each other, one behind the other
  static constexpr size_t kMaxResources = 4000;  ///< resources of user-defined roles: each command looks through them

  RoleStore(storage::Catalog& catalog, const storage::OperationServices& services)
      : stored_(catalog, services, kRoles) {}

  /// A user-defined role; nothing when there is none.
  StatusWith<std::optional<RoleDefinition>> find(const auth::RoleName& name) const;
  /// Whether the role is built in, or defined by a user.
  StatusWith<bool> exists(const auth::RoleName& name) const;
  /// The names of a database's user-defined roles.
  StatusWith<std::vector<auth::RoleName>> names(std::string_view database) const;
  /// All that the roles inherit from and allow. Roles that there are none of, or no more, allow nothing. Roles that
  /// inherit from each other in a circle, as only a write past the commands leaves them, count once.
  StatusWith<ResolvedRoles> resolve(std::span<const auth::RoleName> roles) const;
  /// The same of one role as it is about to be stored.
  StatusWith<ResolvedRoles> resolve(const RoleDefinition& definition) const;

 private:
  RightsCollection stored_;
};

}  // namespace troupe::server
