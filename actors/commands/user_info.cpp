// usersInfo, rolesInfo.
#include <algorithm>
#include <set>

#include "actors/commands/families.hpp"
#include "actors/commands/query_support.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/user_store.hpp"
#include "messaging/auth/privilege_documents.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/query/match/match_parser.hpp"
#include "storage/query/plan/plan_stage.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// Between the answers for two names of an array: a client may name any number. Errors: those of an interrupt,
/// BSONObjectTooLarge.
Status mayAnswerMore(const Request& request, size_t bytes) {
  TROUPE_TRY(request.checkForInterrupt());
  if (bytes <= static_cast<size_t>(bson::kMaxDocumentSize)) return Status::OK();
  return {ErrorCode::kBSONObjectTooLarge, "the reply would be larger than " + std::to_string(bson::kMaxDocumentSize) +
                                              " bytes: ask for fewer names at a time"};
}

/// There are none yet, of users or roles: see refuseRestrictions.
void appendNoRestrictions(bson::Builder& b) {
  b.openArray("authenticationRestrictions").close().openArray("inheritedAuthenticationRestrictions").close();
}

constexpr Argument kUsersInfoArguments[] = {flagArg("showCredentials"), flagArg("showPrivileges"),
                                            flagArg("showCustomData"), documentArg("filter"),
                                            flagArg("showAuthenticationRestrictions")};

/// Users that usersInfo selects: one, several, all of the database, or all.
/// Whether the client may see a user is decided by the name alone, before the user is looked for: an answer does not
/// tell which users exist. Errors: Unauthorized.
StatusWith<std::vector<bson::Document>> chosenUsers(const Request& request) {
  const auto what = request.body().first();
  const auto mayView = [&](std::string_view db) {
    return request.authorize(auth::Action::kViewUser, auth::Resource::db(db));
  };
  if (what.isNumber()) {
    TROUPE_TRY(mayView(request.db()));
    return request.server().users.list(request.db());
  }
  if (what.is(bson::Type::kDocument) && what.asDocument().has("forAllDBs")) {
    TROUPE_TRY(mayView("admin"));
    TROUPE_ASSIGN(auto all, request.server().users.list(""));
    std::erase_if(all, [&](const bson::Document& user) { return !mayView(user["db"].toStringOr()).isOK(); });
    return all;
  }
  std::vector<bson::Document> found;
  size_t bytes = 0;
  std::set<std::pair<std::string_view, std::string_view>> asked;
  const auto add = [&](const bson::Element& e) -> Status {
    TROUPE_TRY(mayAnswerMore(request, bytes));
    const bool named = e.is(bson::Type::kDocument);
    const auto user = named ? e.asDocument()["user"].toStringOr() : e.toStringOr();
    const auto db = named ? e.asDocument()["db"].toStringOr() : request.db();
    if (user.empty())
      return {ErrorCode::kBadValue,
              "usersInfo takes 1, a user name, {user, db}, an array of these, or {forAllDBs: true}"};
    if (!request.client().isUser(user, db) || request.flag("showCredentials")) TROUPE_TRY(mayView(db));
    if (!asked.emplace(user, db).second) return Status::OK();
    TROUPE_ASSIGN(auto document, request.server().users.find(user, db));
    if (!document) return Status::OK();
    bytes += document->view().size();
    found.push_back(std::move(*document));
    return Status::OK();
  };
  if (what.is(bson::Type::kArray)) {
    for (const bson::Element& e : what.asArray()) TROUPE_TRY(add(e));
  } else {
    TROUPE_TRY(add(what));
  }
  return found;
}

/// A user as the client may see it. Errors: those of reading roles.
StatusWith<bson::Document> shownUser(const Request& request, bson::View user) {
  bson::Builder b;
  for (const bson::Element& e : user) {
    const bool isHidden = (e.name() == "credentials" && !request.flag("showCredentials")) ||
                          (e.name() == "customData" && !request.flag("showCustomData", true));
    if (!isHidden) b.append(e);
  }
  b.openArray("mechanisms");
  for (const bson::Element& e : user["credentials"].asDocument()) b.push(e.name());
  b.close();
  if (request.flag("showPrivileges")) {
    TROUPE_ASSIGN(const auto resolved, request.server().users.rolesOf(user));
    b.append("inheritedRoles", resolved.rolesArray());
    b.append("inheritedPrivileges", resolved.privileges.toArray());
  }
  if (request.flag("showAuthenticationRestrictions")) appendNoRestrictions(b);
  return b.finish();
}

Status checkUserFilter(const Request& request) {
  const auto what = request.body().first();
  const bool namesUsers = !what.isNumber() && !(what.is(bson::Type::kDocument) && what.asDocument().has("forAllDBs"));
  if (!request.arg("filter") || !namesUsers) return Status::OK();
  return {ErrorCode::kInvalidOptions, "'filter' goes with usersInfo of a database or of all, not with users by name"};
}

/// The filter sees what the client does.
Task<Status> usersInfo(Request& request) {
  TROUPE_CO_TRY(checkUserFilter(request));
  ServerContext& server = request.server();
  QueryResources resources(server, request.operation());
  TROUPE_CO_TRY(prepareContext(resources, request, {}, {}));
  TROUPE_CO_ASSIGN(const auto filter, query::parseMatch(request.document("filter"), resources.context));
  const query::RowFilter wanted(filter.get());
  auto attempt = [&] { return chosenUsers(request); };
  TROUPE_CO_ASSIGN(const auto users, co_await server.users.read(server.node, request.operation(), attempt));
  bson::Builder& reply = request.reply();
  reply.openArray("users");
  for (const bson::Document& user : users) {
    TROUPE_CO_TRY(mayAnswerMore(request, reply.size()));
    TROUPE_CO_ASSIGN(const bson::Document shown, shownUser(request, user));
    TROUPE_CO_ASSIGN(const bool passes, wanted.passes(shown, &resources));
    if (passes) reply.push(shown);
  }
  reply.close();
  co_return Status::OK();
}

constexpr Argument kRolesInfoArguments[] = {flagArg("showBuiltinRoles"), flagArg("showPrivileges"),
                                            flagArg("showAuthenticationRestrictions")};

/// Users may view the roles that they hold, and those of databases for which they have `viewRole`. The role need not
/// exist: refusals do not tell whether it does. Errors: Unauthorized.
Status mayViewRole(const Request& request, const auth::RoleName& role) {
  for (const auto& user : request.client().users) {
    for (const bson::Element& held : user.roles.view())
      if (held.is(bson::Type::kDocument) && auth::roleNameOf(held.asDocument()) == role) return Status::OK();
  }
  return request.authorize(auth::Action::kViewRole, auth::Resource::db(role.database));
}

/// One role, whether it is built in or not; left out when there is none.
Status appendRole(Request& request, const auth::RoleName& name) {
  bson::Builder& reply = request.reply();
  TROUPE_TRY(mayAnswerMore(request, reply.size()));
  const RoleStore& store = request.server().users.roles();
  const bool isBuiltin = auth::isBuiltinRole(name.role, name.database);
  RoleDefinition role{.name = name};
  if (!isBuiltin) {
    TROUPE_ASSIGN(auto found, store.find(name));
    if (!found) return Status::OK();
    role = std::move(*found);
  }
  TROUPE_ASSIGN(const auto inherited, store.resolve(role.roles));
  reply.pushDocument();
  if (!isBuiltin) reply.append("_id", role.id());
  reply.append("role", name.role).append("db", name.database).append("isBuiltin", isBuiltin);
  reply.openArray("roles");
  for (const auto& direct : role.roles) reply.push(auth::toDocument(direct));
  reply.close().append("inheritedRoles", inherited.rolesArray());
  if (request.flag("showPrivileges")) {
    auth::PrivilegeSet own, all;
    if (isBuiltin) TROUPE_TRY(own.addRole(name.role, name.database));
    for (const auto& privilege : role.privileges) own.add(privilege.resource, privilege.actions);
    const auth::PrivilegeSet* const parts[] = {&own, &inherited.privileges};
    for (const auto* part : parts)
      for (const auto& privilege : part->privileges()) all.add(privilege.resource, privilege.actions);
    reply.append("privileges", own.toArray()).append("inheritedPrivileges", all.toArray());
  }
  if (request.flag("showAuthenticationRestrictions")) appendNoRestrictions(reply);
  reply.close();
  return Status::OK();
}

/// One role that rolesInfo was asked for by name.
Status appendNamedRole(Request& request, const bson::Element& what) {
  auth::RoleName name{std::string(what.toStringOr()), std::string(request.db())};
  if (what.is(bson::Type::kDocument)) name = auth::roleNameOf(what.asDocument());
  if (name.role.empty() || name.database.empty())
    return {ErrorCode::kBadValue, "rolesInfo takes 1, a role's name, {role, db}, or an array of these"};
  TROUPE_TRY(mayViewRole(request, name));
  return appendRole(request, name);
}

Status appendAskedRoles(Request& request) {
  const auto what = request.body().first();
  if (what.is(bson::Type::kArray)) {
    for (const bson::Element& e : what.asArray()) TROUPE_TRY(appendNamedRole(request, e));
    return Status::OK();
  }
  if (!what.isNumber()) return appendNamedRole(request, what);
  TROUPE_TRY(request.authorize(auth::Action::kViewRole, auth::Resource::db(request.db())));
  TROUPE_ASSIGN(const auto defined, request.server().users.roles().names(request.db()));
  for (const auto& name : defined) TROUPE_TRY(appendRole(request, name));
  if (!request.flag("showBuiltinRoles")) return Status::OK();
  for (const auto name : auth::builtinRoleNames(request.db()))
    TROUPE_TRY(appendRole(request, auth::RoleName{std::string(name), std::string(request.db())}));
  return Status::OK();
}

/// The whole reply, in place of what an earlier attempt has left.
Status answerWithRoles(Request& request) {
  request.message().discard();
  request.reply().openArray("roles");
  TROUPE_TRY(appendAskedRoles(request));
  request.reply().close();
  return Status::OK();
}

Task<Status> rolesInfo(Request& request) {
  ServerContext& server = request.server();
  auto attempt = [&] { return answerWithRoles(request); };
  co_return co_await server.users.read(server.node, request.operation(), attempt);
}

using Target = Requirement::Target;
constexpr Command kUserInfoCommands[] = {
    {.name = "usersInfo",
     .summary = "what is stored of users",
     .requirement = {Target::kArguments},
     .arguments = kUsersInfoArguments,
     .run = usersInfo},
    {.name = "rolesInfo",
     .summary = "roles, what they inherit and what they allow",
     .requirement = {Target::kArguments},
     .arguments = kRolesInfoArguments,
     .run = rolesInfo},
};

}  // namespace

std::span<const Command> userInfoCommands() { return kUserInfoCommands; }

}  // namespace troupe::commands
