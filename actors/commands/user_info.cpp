// usersInfo, rolesInfo.
#include <algorithm>
#include <set>

#include "actors/commands/families.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/user_store.hpp"
#include "messaging/errors/co_status.hpp"

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

Task<Status> usersInfo(Request& request) {
  ServerContext& server = request.server();
  auto attempt = [&] { return chosenUsers(request); };
  TROUPE_CO_ASSIGN(const auto users, co_await server.users.read(server.node, request.operation(), attempt));
  bson::Builder& reply = request.reply();
  reply.openArray("users");
  for (const bson::Document& user : users) {
    TROUPE_CO_TRY(mayAnswerMore(request, reply.size()));
    reply.pushDocument();
    for (const bson::Element& e : user.view()) {
      if (e.name() != "credentials" || request.flag("showCredentials")) reply.append(e);
    }
    reply.openArray("mechanisms");
    for (const bson::Element& e : user["credentials"].asDocument()) reply.push(e.name());
    reply.close();
    if (request.flag("showPrivileges")) {
      const auto privileges = UserStore::privilegesOf(user);
      if (privileges.isOK()) reply.append("inheritedPrivileges", privileges->toArray());
    }
    reply.close();
  }
  reply.close();
  co_return Status::OK();
}

constexpr Argument kRolesInfoArguments[] = {flagArg("showBuiltinRoles"), flagArg("showPrivileges"),
                                            flagArg("showAuthenticationRestrictions")};

/// One role that rolesInfo was asked for by name; unknown ones are left out.
Status appendRole(Request& request, const bson::Element& what) {
  const bool named = what.is(bson::Type::kDocument);
  const auto role = named ? what.asDocument()["role"].toStringOr() : what.toStringOr();
  const auto db = named ? what.asDocument()["db"].toStringOr() : request.db();
  if (role.empty() || db.empty())
    return {ErrorCode::kBadValue, "rolesInfo takes 1, a role's name, {role, db}, or an array of these"};
  const auto known = auth::builtinRoleNames(db);
  if (std::find(known.begin(), known.end(), role) == known.end()) return Status::OK();
  bson::Builder& reply = request.reply();
  TROUPE_TRY(mayAnswerMore(request, reply.size()));
  reply.pushDocument().append("role", role).append("db", db).append("isBuiltin", true);
  reply.openArray("roles").close().openArray("inheritedRoles").close();
  auth::PrivilegeSet privileges;
  if (request.flag("showPrivileges") && privileges.addRole(role, db).isOK()) {
    reply.append("privileges", privileges.toArray());
    reply.append("inheritedPrivileges", privileges.toArray());
  }
  reply.close();
  return Status::OK();
}

Status appendRoles(Request& request) {
  const auto what = request.body().first();
  if (what.is(bson::Type::kArray)) {
    for (const bson::Element& e : what.asArray()) TROUPE_TRY(appendRole(request, e));
    return Status::OK();
  }
  if (!what.isNumber()) return appendRole(request, what);
  if (!request.flag("showBuiltinRoles")) return Status::OK();
  for (const auto name : auth::builtinRoleNames(request.db())) {
    const bson::Value element{std::string(name)};
    TROUPE_TRY(appendRole(request, element.element()));
  }
  return Status::OK();
}

Task<Status> rolesInfo(Request& request) {
  request.reply().openArray("roles");
  const Status status = appendRoles(request);
  if (status.isOK()) request.reply().close();
  co_return status;
}

using Target = Requirement::Target;
constexpr Command kUserInfoCommands[] = {
    {.name = "usersInfo",
     .summary = "what is stored of users",
     .requirement = {Target::kArguments},
     .arguments = kUsersInfoArguments,
     .run = usersInfo},
    {.name = "rolesInfo",
     .summary = "the built-in roles",
     .requirement = {Target::kAuthenticated},
     .arguments = kRolesInfoArguments,
     .run = rolesInfo},
};

}  // namespace

std::span<const Command> userInfoCommands() { return kUserInfoCommands; }

}  // namespace troupe::commands
