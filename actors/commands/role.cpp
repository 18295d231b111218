// createRole, updateRole, dropRole, dropAllRolesFromDatabase, and what roles are granted: privileges, other roles.
#include <algorithm>

#include "actors/commands/families.hpp"
#include "actors/commands/role_support.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/auth/privilege_documents.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/records/checked_document.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// Codes that drivers know.
constexpr auto kRoleAlreadyExists = ErrorCode(51002);

Status invalidModification(std::string why) { return {ErrorCode::kInvalidRoleModification, std::move(why)}; }

StatusWith<auth::RoleName> roleName(const Request& request) {
  const auto name = request.body().first();
  if (!name.is(bson::Type::kString) || name.asString().empty())
    return Status(ErrorCode::kBadValue, std::string(request.commandName()) + " needs the name of a role");
  return auth::RoleName{std::string(name.asString()), std::string(request.db())};
}

Status roleNotFound(const auth::RoleName& role) {
  return {ErrorCode::kRoleNotFound, "Role '" + auth::toString(role) + "' not found"};
}

/// The role of a command that changes one. Errors: BadValue, InvalidRoleModification for built-in roles.
StatusWith<auth::RoleName> changeableRole(const Request& request) {
  TROUPE_ASSIGN(auto role, roleName(request));
  if (auth::isBuiltinRole(role.role, role.database))
    return invalidModification(auth::toString(role) + " is a built-in role and cannot be modified");
  return role;
}

StatusWith<auth::RoleName> newRole(const Request& request) {
  TROUPE_ASSIGN(auto role, roleName(request));
  if (role.database == "local") return Status(ErrorCode::kBadValue, "Cannot create roles in the local database");
  if (role.database == "$external")
    return Status(ErrorCode::kBadValue, "Cannot create roles in the $external database");
  if (auth::isBuiltinRole(role.role, role.database))
    return Status(ErrorCode::kBadValue, "Cannot create roles with the same name as a built-in role");
  return role;
}

Status checkPrivilegeCount(size_t count) {
  if (count <= RoleStore::kMaxPrivileges) return Status::OK();
  return {ErrorCode::kBadValue, "A role may have at most " + std::to_string(RoleStore::kMaxPrivileges) +
                                    " privileges, not " + std::to_string(count)};
}

/// Adds actions to the privilege of the same resource, or a privilege.
void grant(std::vector<auth::Privilege>& held, const auth::Privilege& more) {
  const auto at = std::ranges::find(held, more.resource, &auth::Privilege::resource);
  if (at == held.end()) held.push_back(more);
  else at->actions |= more.actions;
}

/// Takes actions away from the privilege of the same resource; from none that covers it otherwise.
void revoke(std::vector<auth::Privilege>& held, const auth::Privilege& less) {
  const auto at = std::ranges::find(held, less.resource, &auth::Privilege::resource);
  if (at == held.end()) return;
  at->actions &= ~less.actions;
  if (at->actions.none()) held.erase(at);
}

StatusWith<std::vector<auth::Privilege>> parsePrivileges(const Request& request) {
  const bson::View given = request.document("privileges");
  TROUPE_TRY(checkPrivilegeCount(static_cast<size_t>(given.count())));
  std::vector<auth::Privilege> privileges;
  for (const bson::Element& e : given) {
    TROUPE_ASSIGN(const auto privilege, auth::parsePrivilege(e));
    grant(privileges, privilege);
  }
  return privileges;
}

/// Granting or revoking a privilege needs the right to do so on the database it is for; in `admin` where it is for
/// several, or for the cluster.
Status authorizePrivileges(const Request& request, const std::vector<auth::Privilege>& privileges,
                           auth::Action action) {
  for (const auto& privilege : privileges) {
    const std::string& database = privilege.resource.database;
    TROUPE_TRY(request.authorize(action, auth::Resource::db(database.empty() ? "admin" : database)));
  }
  return Status::OK();
}

Status authorizeRestrictions(const Request& request) {
  if (!request.arg("authenticationRestrictions")) return Status::OK();
  return request.authorize(auth::Action::kSetAuthenticationRestriction, auth::Resource::db(request.db()));
}

/// Roles of `admin` reach everything, others their own database alone.
Status checkScope(const RoleDefinition& role) {
  const std::string& database = role.name.database;
  if (database == "admin") return Status::OK();
  const bool isOwn = std::ranges::all_of(role.privileges, [&](const auth::Privilege& privilege) {
    return privilege.resource.kind == auth::ResourcePattern::Kind::kNamespace &&
           privilege.resource.database == database;
  });
  if (!isOwn)
    return invalidModification("Roles on the '" + database +
                               "' database cannot be granted privileges that target other databases or the cluster");
  if (!std::ranges::all_of(role.roles, [&](const auth::RoleName& other) { return other.database == database; }))
    return invalidModification("Roles on the '" + database + "' database cannot be granted roles from other databases");
  return Status::OK();
}

/// Whether a role that is granted something may be stored so; `granted`: roles that it gets now. The caller holds
/// `lockRights`.
Status checkDefinition(const Request& request, const RoleDefinition& role, const std::vector<auth::RoleName>& granted) {
  TROUPE_TRY(checkScope(role));
  TROUPE_TRY(checkPrivilegeCount(role.privileges.size()));
  TROUPE_TRY(checkRoleCount(role.roles.size()));
  TROUPE_TRY(checkRolesExist(request, granted));
  TROUPE_ASSIGN(const auto resolved, request.server().users.roles().resolve(role));
  if (resolved.inheritsItself)
    return invalidModification("Granting these roles to " + auth::toString(role.name) +
                               " would introduce a cycle in the role graph");
  return checkComplete(resolved);
}

/// Changes the role that the command names: `change` takes its definition and gives a Status. `granted`: roles that it
/// gets then; null: nothing is granted, so that a role beyond the limits can become smaller, by several commands too.
template <class Change>
Task<Status> changeRole(Request& request, const auth::RoleName& name, const std::vector<auth::RoleName>* granted,
                        Change& change) {
  TROUPE_CO_ASSIGN(const auto lock, co_await lockRights(request));
  auto changeDocument = [&](const bson::Document* before) -> StatusWith<std::optional<bson::Document>> {
    if (!before) return roleNotFound(name);
    RoleDefinition role = RoleDefinition::of(*before);
    TROUPE_TRY(change(role));
    if (granted) TROUPE_TRY(checkDefinition(request, role, *granted));
    return std::optional(role.toDocument());
  };
  const std::string id = name.database + "." + name.role;
  co_return co_await changeRightsDocument(request, NamespaceResolution::roles(), id, changeDocument);
}

Task<Status> createRole(Request& request) {
  TROUPE_CO_ASSIGN(const auto name, newRole(request));
  TROUPE_CO_TRY(authorizeRestrictions(request));
  TROUPE_CO_TRY(refuseRestrictions(request));
  TROUPE_CO_ASSIGN(const auto privileges, parsePrivileges(request));
  TROUPE_CO_TRY(authorizePrivileges(request, privileges, auth::Action::kGrantRole));
  TROUPE_CO_ASSIGN(const auto roles, co_await parseRoles(request, request.document("roles")));
  TROUPE_CO_TRY(authorizeRoles(request, roles, auth::Action::kGrantRole));
  const RoleDefinition role{name, privileges, roles};
  TROUPE_CO_ASSIGN(const auto lock, co_await lockRights(request));
  auto change = [&](const bson::Document* before) -> StatusWith<std::optional<bson::Document>> {
    if (before) return Status(kRoleAlreadyExists, "Role \"" + auth::toString(name) + "\" already exists");
    TROUPE_TRY(checkDefinition(request, role, roles));
    return std::optional(role.toDocument());
  };
  const std::string id = role.id();
  co_return co_await changeRightsDocument(request, NamespaceResolution::roles(), id, change);
}

/// What takes the place of roles and privileges goes, wherever it reached: that needs the right to revoke everywhere.
Task<Status> updateRole(Request& request) {
  TROUPE_CO_TRY(request.authorize(auth::Action::kRevokeRole, auth::Resource::db("")));
  TROUPE_CO_ASSIGN(const auto name, changeableRole(request));
  const bool newPrivileges = request.arg("privileges").ok(), newRoles = request.arg("roles").ok();
  if (!newPrivileges && !newRoles && !request.arg("authenticationRestrictions"))
    co_return Status(ErrorCode::kBadValue, "Must specify at least one field to update in updateRole");
  TROUPE_CO_TRY(authorizeRestrictions(request));
  TROUPE_CO_TRY(refuseRestrictions(request));
  TROUPE_CO_ASSIGN(const auto privileges, parsePrivileges(request));
  TROUPE_CO_TRY(authorizePrivileges(request, privileges, auth::Action::kGrantRole));
  TROUPE_CO_ASSIGN(const auto roles, co_await parseRoles(request, request.document("roles")));
  TROUPE_CO_TRY(authorizeRoles(request, roles, auth::Action::kGrantRole));
  auto change = [&](RoleDefinition& role) {
    if (newPrivileges) role.privileges = privileges;
    if (newRoles) role.roles = roles;
    return Status::OK();
  };
  co_return co_await changeRole(request, name, &roles, change);
}

Task<Status> changePrivileges(Request& request, bool granting) {
  TROUPE_CO_ASSIGN(const auto name, changeableRole(request));
  TROUPE_CO_ASSIGN(const auto privileges, parsePrivileges(request));
  if (privileges.empty())
    co_return Status(ErrorCode::kBadValue,
                     std::string(request.commandName()) + " needs a privilege in its array \"privileges\"");
  TROUPE_CO_TRY(
      authorizePrivileges(request, privileges, granting ? auth::Action::kGrantRole : auth::Action::kRevokeRole));
  auto change = [&](RoleDefinition& role) {
    for (const auto& privilege : privileges) {
      if (granting) grant(role.privileges, privilege);
      else revoke(role.privileges, privilege);
    }
    return Status::OK();
  };
  const std::vector<auth::RoleName> none;
  co_return co_await changeRole(request, name, granting ? &none : nullptr, change);
}

Task<Status> grantPrivileges(Request& request) { return changePrivileges(request, true); }
Task<Status> revokePrivileges(Request& request) { return changePrivileges(request, false); }

Task<Status> grantRolesToRole(Request& request) {
  TROUPE_CO_ASSIGN(const auto name, changeableRole(request));
  TROUPE_CO_ASSIGN(const auto wanted, co_await parseRoles(request, request.document("roles")));
  if (wanted.empty()) co_return Status(ErrorCode::kBadValue, "grantRolesToRole needs a role in its array \"roles\"");
  TROUPE_CO_TRY(authorizeRoles(request, wanted, auth::Action::kGrantRole));
  auto change = [&](RoleDefinition& role) {
    for (const auto& more : wanted)
      if (std::ranges::find(role.roles, more) == role.roles.end()) role.roles.push_back(more);
    return Status::OK();
  };
  co_return co_await changeRole(request, name, &wanted, change);
}

Task<Status> revokeRolesFromRole(Request& request) {
  TROUPE_CO_ASSIGN(const auto name, changeableRole(request));
  TROUPE_CO_ASSIGN(const auto unwanted, co_await parseRoles(request, request.document("roles")));
  if (unwanted.empty())
    co_return Status(ErrorCode::kBadValue, "revokeRolesFromRole needs a role in its array \"roles\"");
  TROUPE_CO_TRY(authorizeRoles(request, unwanted, auth::Action::kRevokeRole));
  auto change = [&](RoleDefinition& role) {
    for (const auto& less : unwanted) std::erase(role.roles, less);
    return Status::OK();
  };
  co_return co_await changeRole(request, name, nullptr, change);
}

/// Removes user-defined roles, and takes them from all users and roles that hold them: otherwise a later role of the
/// same name would be theirs.
class RoleRemoval {
 public:
  /// `role`: empty for all of the database.
  RoleRemoval(Request& request, std::string database, std::string role)
      : request_(request), database_(std::move(database)), role_(std::move(role)) {}

  /// One attempt, in a unit of work. `users`: may be null.
  Status run(const storage::Collection& roles, const storage::Collection* users) {
    removed_ = 0;
    TROUPE_TRY(cleanUp(roles));
    return users ? cleanUp(*users) : Status::OK();
  }
  int32_t removed() const { return removed_; }

 private:
  bool goes(const auth::RoleName& name) const {
    return name.database == database_ && (role_.empty() ? !name.role.empty() : name.role == role_) &&
           !auth::isBuiltinRole(name.role, name.database);
  }
  bool holdsOne(bson::View document) const {
    const bson::Element roles = document["roles"];
    if (!roles.is(bson::Type::kArray)) return false;
    for (const bson::Element& e : roles.asArray())
      if (e.is(bson::Type::kDocument) && goes(auth::roleNameOf(e.asDocument()))) return true;
    return false;
  }

  Status cleanUp(const storage::Collection& collection) {
    storage::RecoveryUnit& unit = request_.operation().recoveryUnit();
    const bool ofRoles = collection.ns() == kRoles;
    // Found first and changed afterwards: the scan meets no document that it has changed itself.
    std::vector<storage::RecordId> concerned;
    {
      TROUPE_ASSIGN(auto cursor, collection.records().cursor(unit));
      for (;;) {
        TROUPE_TRY(request_.checkForInterrupt());
        TROUPE_ASSIGN(const bool found, cursor.next());
        if (!found) break;
        TROUPE_ASSIGN(const bson::View document, storage::checkedDocument(cursor.bytes(), collection.ns().toString()));
        if ((ofRoles && goes(auth::roleNameOf(document))) || holdsOne(document)) concerned.push_back(cursor.id());
      }
    }
    for (const storage::RecordId& id : concerned) {
      TROUPE_TRY(request_.checkForInterrupt());
      bson::Document before;
      TROUPE_TRY(collection.find(unit, id, [&](bson::View found) { before = bson::Document(found); }).status());
      if (ofRoles && goes(auth::roleNameOf(before))) {
        TROUPE_TRY(collection.remove(unit, id, before));
        ++removed_;
      } else {
        TROUPE_TRY(collection.update(unit, id, before, withoutRoles(before)));
      }
    }
    return Status::OK();
  }

  bson::Document withoutRoles(bson::View document) const {
    bson::Builder b;
    for (const bson::Element& field : document) {
      if (field.name() != "roles") {
        b.append(field);
        continue;
      }
      b.openArray("roles");
      for (const bson::Element& e : field.asArray())
        if (!e.is(bson::Type::kDocument) || !goes(auth::roleNameOf(e.asDocument()))) b.push(e);
      b.close();
    }
    return b.finish();
  }

  Request& request_;
  const std::string database_, role_;
  int32_t removed_ = 0;
};

Task<Status> removeRoles(Request& request, RoleRemoval& removal) {
  TROUPE_CO_ASSIGN(const auto lock, co_await lockRights(request));
  TROUPE_CO_ASSIGN(const auto roles, co_await openForWrite(request, NamespaceResolution::roles(), IfMissing::kLeave));
  if (!roles.collection) co_return Status::OK();
  TROUPE_CO_ASSIGN(const auto users, co_await openForWrite(request, NamespaceResolution::users(), IfMissing::kLeave));
  auto body = [&]() -> Status { return removal.run(*roles.collection, users.collection.get()); };
  request.operation().writeConcern.journaled = true;  // a crash must not undo a change of rights
  co_return co_await writerOf(request).commit(body);
}

Task<Status> dropRole(Request& request) {
  TROUPE_CO_ASSIGN(const auto role, changeableRole(request));
  RoleRemoval removal(request, role.database, role.role);
  TROUPE_CO_TRY(co_await removeRoles(request, removal));
  co_return removal.removed() > 0 ? Status::OK() : roleNotFound(role);
}

Task<Status> dropAllRoles(Request& request) {
  RoleRemoval removal(request, std::string(request.db()), "");
  TROUPE_CO_TRY(co_await removeRoles(request, removal));
  request.reply().append("n", removal.removed());
  co_return Status::OK();
}

constexpr Argument kCreateRoleArguments[] = {arrayArg("privileges").required(), arrayArg("roles").required(),
                                             arrayArg("authenticationRestrictions")};
constexpr Argument kUpdateRoleArguments[] = {arrayArg("privileges"), arrayArg("roles"),
                                             arrayArg("authenticationRestrictions")};
constexpr Argument kPrivilegesArguments[] = {arrayArg("privileges").required()};
constexpr Argument kRolesOfRoleArguments[] = {arrayArg("roles").required()};

constexpr Command kRoleCommands[] = {
    {.name = "createRole",
     .summary = "makes a role",
     .requirement = {Requirement::Target::kDatabase, auth::Action::kCreateRole},
     .access = Access::kWrite,
     .arguments = kCreateRoleArguments,
     .run = createRole},
    {.name = "updateRole",
     .summary = "gives a role other privileges or other roles to inherit from",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kWrite,
     .arguments = kUpdateRoleArguments,
     .run = updateRole},
    {.name = "dropRole",
     .summary = "removes a role, also from users and roles that hold it",
     .requirement = {Requirement::Target::kDatabase, auth::Action::kDropRole},
     .access = Access::kWrite,
     .run = dropRole},
    {.name = "dropAllRolesFromDatabase",
     .summary = "removes all user-defined roles of a database",
     .requirement = {Requirement::Target::kDatabase, auth::Action::kDropRole},
     .access = Access::kWrite,
     .run = dropAllRoles},
    {.name = "grantPrivilegesToRole",
     .summary = "adds privileges to a role",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kWrite,
     .arguments = kPrivilegesArguments,
     .run = grantPrivileges},
    {.name = "revokePrivilegesFromRole",
     .summary = "takes privileges from a role",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kWrite,
     .arguments = kPrivilegesArguments,
     .run = revokePrivileges},
    {.name = "grantRolesToRole",
     .summary = "makes a role inherit from others",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kWrite,
     .arguments = kRolesOfRoleArguments,
     .run = grantRolesToRole},
    {.name = "revokeRolesFromRole",
     .summary = "ends what a role inherits from others",
     .requirement = {Requirement::Target::kArguments},
     .access = Access::kWrite,
     .arguments = kRolesOfRoleArguments,
     .run = revokeRolesFromRole},
};

}  // namespace

std::span<const Command> roleCommands() { return kRoleCommands; }

}  // namespace troupe::commands
