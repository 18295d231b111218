#include "actors/commands/role_support.hpp"

#include <algorithm>

#include "actors/server/server_context.hpp"
#include "messaging/auth/privilege_documents.hpp"

namespace troupe::commands {
using namespace server;

namespace {

Status unknownRole(const auth::RoleName& name) {
  return {ErrorCode::kRoleNotFound, "Could not find role: " + auth::toString(name)};
}

std::vector<auth::RoleName> without(std::span<const auth::RoleName> some, std::span<const auth::RoleName> others) {
  std::vector<auth::RoleName> left;
  for (const auto& role : some)
    if (std::ranges::find(others, role) == others.end()) left.push_back(role);
  return left;
}

}  // namespace

Status checkRoleCount(size_t count) {
  if (count <= RoleStore::kMaxRoles) return Status::OK();
  return {ErrorCode::kBadValue, "At most " + std::to_string(RoleStore::kMaxRoles) + " roles may be held, not " +
                                    std::to_string(count) + ": grant a role of a larger scope instead"};
}

namespace {

StatusWith<std::vector<auth::RoleName>> rolesNamed(const Request& request, bson::View roles) {
  std::vector<auth::RoleName> result;
  TROUPE_TRY(checkRoleCount(static_cast<size_t>(roles.count())));
  for (const bson::Element& e : roles) {
    auth::RoleName name{std::string(e.toStringOr()), std::string(request.db())};
    if (e.is(bson::Type::kDocument)) name = auth::roleNameOf(e.asDocument());
    if (name.role.empty() || name.database.empty())
      return Status(ErrorCode::kBadValue, "Role names must be strings or {role: <name>, db: <database>}");
    TROUPE_ASSIGN(const bool exists, request.server().users.roles().exists(name));
    if (!exists) return unknownRole(name);
    if (std::ranges::find(result, name) == result.end()) result.push_back(std::move(name));
  }
  return result;
}

}  // namespace

Task<StatusWith<std::vector<auth::RoleName>>> parseRoles(Request& request, bson::View roles) {
  ServerContext& server = request.server();
  auto attempt = [&] { return rolesNamed(request, roles); };
  co_return co_await server.users.read(server.node, request.operation(), attempt);
}

std::vector<auth::RoleName> storedRoles(bson::View holder) {
  std::vector<auth::RoleName> roles;
  for (const bson::Element& e : holder["roles"].asArray()) roles.push_back(auth::roleNameOf(e.asDocument()));
  return roles;
}

void appendRoles(bson::Builder& b, std::span<const auth::RoleName> roles) {
  b.openArray("roles");
  for (const auto& role : roles) b.push(auth::toDocument(role));
  b.close();
}

Status authorizeRoles(const Request& request, std::span<const auth::RoleName> roles, auth::Action action) {
  for (const auto& role : roles) TROUPE_TRY(request.authorize(action, auth::Resource::db(role.database)));
  return Status::OK();
}

Status authorizeNewRoles(const Request& request, std::span<const auth::RoleName> before,
                         std::span<const auth::RoleName> after) {
  TROUPE_TRY(authorizeRoles(request, without(after, before), auth::Action::kGrantRole));
  return authorizeRoles(request, without(before, after), auth::Action::kRevokeRole);
}

Status refuseRestrictions(const Request& request) {
  if (request.document("authenticationRestrictions").empty()) return Status::OK();
  return {ErrorCode::kNotImplemented,
          "authenticationRestrictions are not supported yet: restrict addresses with bind_ip or a firewall"};
}

Status checkRolesExist(const Request& request, std::span<const auth::RoleName> roles) {
  for (const auto& role : roles) {
    TROUPE_ASSIGN(const bool exists, request.server().users.roles().exists(role));
    if (!exists) return unknownRole(role);
  }
  return Status::OK();
}

Status checkComplete(const ResolvedRoles& resolved) {
  if (resolved.complete) return Status::OK();
  return {ErrorCode::kBadValue, "The roles inherit too much: at most " + std::to_string(RoleStore::kMaxInherited) +
                                    " roles, " + std::to_string(RoleStore::kMaxDepth) +
                                    " of them one behind the other, with " + std::to_string(RoleStore::kMaxResources) +
                                    " resources in all"};
}

Status checkUserRoles(const Request& request, std::span<const auth::RoleName> granted,
                      std::span<const auth::RoleName> all) {
  TROUPE_TRY(checkRoleCount(all.size()));
  TROUPE_TRY(checkRolesExist(request, granted));
  TROUPE_ASSIGN(const auto resolved, request.server().users.roles().resolve(all));
  return checkComplete(resolved);
}

Task<StatusWith<storage::HeldLock>> lockRights(Request& request) {
  TROUPE_CO_TRY(request.checkForInterrupt());
  co_return co_await lockCollection(request.server().node, request.operation(), kRoles, storage::LockMode::kX);
}

}  // namespace troupe::commands
