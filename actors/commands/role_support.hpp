#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/commands/write_support.hpp"
#include "actors/server/role_store.hpp"
#include "actors/server/user_store.hpp"

namespace troupe::commands {
using namespace server;

/// The roles that an array of a command names, each once. A plain string names a role of the command's database.
/// Errors: BadValue (no name, or more than RoleStore::kMaxRoles), RoleNotFound.
/// Waits while roles cannot be read: the operation holds no locks. `roles` is the request's.
Task<StatusWith<std::vector<auth::RoleName>>> parseRoles(Request& request, bson::View roles);
/// Errors: BadValue for more than RoleStore::kMaxRoles.
Status checkRoleCount(size_t count);
/// The roles of a stored document of a user.
std::vector<auth::RoleName> storedRoles(bson::View holder);
void appendRoles(bson::Builder& b, std::span<const auth::RoleName> roles);

/// Granting or revoking a role needs the right to do so in the role's database. Errors: Unauthorized.
Status authorizeRoles(const Request& request, std::span<const auth::RoleName> roles, auth::Action action);
/// Other roles in place of the old ones: those that come are granted, those that go are revoked. Errors: Unauthorized.
Status authorizeNewRoles(const Request& request, std::span<const auth::RoleName> before,
                         std::span<const auth::RoleName> after);
/// The argument authenticationRestrictions: the address a client comes from is not checked, so that no user or role is
/// made to which that is promised. Errors: NotImplemented unless it is empty.
Status refuseRestrictions(const Request& request);

/// For callers that hold `lockRights`, so that it stays so. Errors: RoleNotFound.
Status checkRolesExist(const Request& request, std::span<const auth::RoleName> roles);
/// Errors: BadValue where roles inherit more than RoleStore looks at.
Status checkComplete(const ResolvedRoles& resolved);
/// Whether a user may be given the roles `granted`, and hold `all` then. For callers that hold `lockRights`. Errors:
/// RoleNotFound, BadValue.
Status checkUserRoles(const Request& request, std::span<const auth::RoleName> granted,
                      std::span<const auth::RoleName> all);

/// Changes of users and roles take turns: each sees the roles that are there, and no two together close a circle.
/// Errors: those of lockCollection.
Task<StatusWith<storage::HeldLock>> lockRights(Request& request);

/// changeDocument of a user or role; a crash does not undo it. The caller holds `lockRights`.
template <class Change>
Task<Status> changeRightsDocument(Request& request, AuthorizedNamespace ns, std::string id, Change& change) {
  request.operation().writeConcern.journaled = true;
  co_return co_await changeDocument(request, std::move(ns), std::move(id), change);
}

}  // namespace troupe::commands
