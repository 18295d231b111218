// createUser, updateUser, dropUser, dropAllUsersFromDatabase, grantRolesToUser, revokeRolesFromUser.
#include <algorithm>

#include "actors/commands/blocking_work.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/role_support.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/user_store.hpp"
#include "messaging/bson/ids.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr Argument kCreateUserArguments[] = {
    stringArg("pwd"),
    documentArg("customData"),
    arrayArg("roles").required(),
    flagArg("digestPassword"),
    arrayArg("mechanisms"),
    arrayArg("authenticationRestrictions"),
    stringArg("passwordDigestor"),
};
constexpr Argument kUpdateUserArguments[] = {
    stringArg("pwd"),
    documentArg("customData"),
    arrayArg("roles"),
    flagArg("digestPassword"),
    arrayArg("mechanisms"),
    arrayArg("authenticationRestrictions"),
    stringArg("passwordDigestor"),
};

StatusWith<std::string> userName(const Request& request) {
  const auto name = request.body().first();
  if (!name.is(bson::Type::kString) || name.asString().empty())
    return Status(ErrorCode::kBadValue, "User document needs 'user' field to be non-empty");
  if (request.db() == "local") return Status(ErrorCode::kBadValue, "Cannot create users in the local database");
  return std::string(name.asString());
}

StatusWith<std::vector<auth::Mechanism>> parseMechanisms(const Request& request) {
  const auto given = request.document("mechanisms");
  std::vector<auth::Mechanism> result;
  if (given.empty()) return std::vector(std::begin(auth::kMechanisms), std::end(auth::kMechanisms));
  for (const bson::Element& e : given) {
    const auto mechanism = std::ranges::find(auth::kMechanisms, e.toStringOr(), auth::mechanismName);
    if (mechanism == std::end(auth::kMechanisms))
      return Status(ErrorCode::kBadValue, "Unknown auth mechanism '" + std::string(e.toStringOr()) + "'");
    if (std::ranges::find(result, *mechanism) != result.end())  // each costs a derivation from the password
      return Status(ErrorCode::kBadValue, "The auth mechanism '" + std::string(e.toStringOr()) + "' is named twice");
    result.push_back(*mechanism);
  }
  return result;
}

/// The stored credentials of the mechanisms in `wanted` alone. Errors: BadValue for one that the user has none for,
/// which need the password.
StatusWith<bson::Document> onlyFor(std::span<const auth::Mechanism> wanted, bson::View stored) {
  bson::Builder left;
  for (const auth::Mechanism mechanism : wanted) {
    const auto name = auth::mechanismName(mechanism);
    const auto credentials = stored[name];
    if (!credentials)
      return Status(ErrorCode::kBadValue, "The user has no credentials for " + std::string(name) +
                                              ": give the password (pwd) as well to have them made");
    left.append(credentials);
  }
  return left.finish();
}

/// Made outside of the coroutine: g++ 12 destroys the captures of a lambda that is written in one twice.
BlockingBody derivation(std::shared_ptr<bson::Document> made, std::string user, std::string password,
                        std::vector<auth::Mechanism> mechanisms, auth::RandomSource secrets) {
  return [made, user, password, mechanisms, secrets](storage::OperationContext&) -> Status {
    TROUPE_ASSIGN(*made, auth::makeUserCredentials(user, password, mechanisms, secrets));
    return Status::OK();
  };
}

/// Derives credentials on a worker: that takes milliseconds on purpose.
Task<StatusWith<bson::Document>> makeCredentials(Request& request, std::string user) {
  if (!request.flag("digestPassword", true))
    co_return Status(ErrorCode::kBadValue, "Use of SCRAM-SHA-256 requires undigested passwords");
  TROUPE_CO_ASSIGN(const auto mechanisms, parseMechanisms(request));
  auto made = std::make_shared<bson::Document>();
  const std::string password(request.text("pwd"));
  auto work = derivation(made, user, password, mechanisms, request.server().secrets);
  const Status status = co_await runBlocking(request, "derive credentials", WorkLength::kShort, work);
  if (!status.isOK()) co_return status;
  co_return *made;
}

/// Changes the one document of a user, as changeRightsDocument.
template <class Change>
Task<Status> changeUser(Request& request, std::string id, Change& change) {
  TROUPE_CO_ASSIGN(const auto lock, co_await lockRights(request));
  co_return co_await changeRightsDocument(request, NamespaceResolution::users(), std::move(id), change);
}

Status userNotFound(const Request& request, const std::string& user) {
  return {ErrorCode::kUserNotFound,
          "Could not find user \"" + user + "\" for db \"" + std::string(request.db()) + "\""};
}

Task<Status> createUser(Request& request) {
  TROUPE_CO_ASSIGN(const auto user, userName(request));
  if (!request.arg("pwd") && request.db() != "$external")
    co_return Status(
        ErrorCode::kBadValue,
        "Must provide a 'pwd' field for all user documents, except those with '$external' as the user's source db");
  TROUPE_CO_TRY(refuseRestrictions(request));
  TROUPE_CO_ASSIGN(const auto roles, co_await parseRoles(request, request.document("roles")));
  TROUPE_CO_TRY(authorizeRoles(request, roles, auth::Action::kGrantRole));
  TROUPE_CO_ASSIGN(const auto credentials, co_await makeCredentials(request, user));
  Environment& environment = request.server().node.environment();
  const bson::Uuid uuid = bson::randomUuid([&environment] { return environment.random(); });
  const std::string id = std::string(request.db()) + "." + user;
  bson::Builder b;
  b.append("_id", id)
      .append("userId", uuid)
      .append("user", user)
      .append("db", request.db())
      .append("credentials", credentials);
  appendRoles(b, roles);
  if (const auto data = request.arg("customData"); data) b.append("customData", data);
  const bson::Document document = b.finish();
  const bool first = request.client().localhostException;
  auto change = [&](const bson::Document* before) -> StatusWith<std::optional<bson::Document>> {
    if (before)
      return Status(ErrorCode(51003), "User \"" + user + "@" + std::string(request.db()) + "\" already exists");
    // Two local clients may both have found no user: only one of them makes the first.
    if (first) {
      TROUPE_ASSIGN(const bool any, request.server().users.anyUser());
      if (any) return Status(ErrorCode::kUnauthorized, "a user exists by now: log in");
    }
    TROUPE_TRY(checkUserRoles(request, roles, roles));
    return std::optional<bson::Document>(document);
  };
  co_return co_await changeUser(request, id, change);
}

/// Password, mechanisms and custom data of any user of the database, or of oneself. Roles are checked by
/// authorizeNewRoles.
Status authorizeUpdate(const Request& request, const std::string& user) {
  using enum auth::Action;
  const auto database = auth::Resource::db(request.db());
  const auto check = [&](auth::Action ofAny, auth::Action ofOwn) {
    if (request.client().isUser(user, request.db()) && request.authorize(ofOwn, database).isOK()) return Status::OK();
    return request.authorize(ofAny, database);
  };
  if (request.arg("pwd") || request.arg("mechanisms")) TROUPE_TRY(check(kChangePassword, kChangeOwnPassword));
  if (request.arg("customData")) TROUPE_TRY(check(kChangeCustomData, kChangeOwnCustomData));
  // Which roles come and go is known once the user is read: without either right not even that is told.
  if (!request.arg("roles") || request.authorize(kRevokeRole, database).isOK()) return Status::OK();
  return request.authorize(kGrantRole, database);
}

Task<Status> updateUser(Request& request) {
  TROUPE_CO_ASSIGN(const auto user, userName(request));
  if (!request.arg("pwd") && !request.arg("customData") && !request.arg("roles") && !request.arg("mechanisms") &&
      !request.arg("authenticationRestrictions")) {
    co_return Status(ErrorCode::kBadValue, "Must specify at least one field to update in updateUser");
  }
  TROUPE_CO_TRY(authorizeUpdate(request, user));
  TROUPE_CO_TRY(refuseRestrictions(request));
  std::optional<std::vector<auth::RoleName>> roles;
  if (request.arg("roles")) {
    TROUPE_CO_ASSIGN(auto parsed, co_await parseRoles(request, request.document("roles")));
    roles = std::move(parsed);
  }
  std::optional<bson::Document> credentials;
  if (request.arg("pwd")) {
    TROUPE_CO_ASSIGN(auto made, co_await makeCredentials(request, user));
    credentials = std::move(made);
  }
  TROUPE_CO_ASSIGN(const auto mechanisms, parseMechanisms(request));
  const bool fewer = request.arg("mechanisms") && !credentials;
  auto change = [&](const bson::Document* before) -> StatusWith<std::optional<bson::Document>> {
    if (!before) return userNotFound(request, user);
    if (fewer) {
      TROUPE_ASSIGN(credentials, onlyFor(mechanisms, before->view()["credentials"].asDocument()));
    }
    if (roles) {
      TROUPE_TRY(authorizeNewRoles(request, storedRoles(*before), *roles));
      TROUPE_TRY(checkUserRoles(request, *roles, *roles));
    }
    bson::Builder b;
    for (const bson::Element& e : before->view()) {
      if (e.name() == "credentials" && credentials) b.append("credentials", *credentials);
      else if (e.name() == "roles" && roles) appendRoles(b, *roles);
      else if (e.name() != "customData" || !request.arg("customData")) b.append(e);
    }
    if (const auto data = request.arg("customData"); data) b.append("customData", data);
    return std::optional<bson::Document>(b.finish());
  };
  co_return co_await changeUser(request, std::string(request.db()) + "." + user, change);
}

Task<Status> changeRoles(Request& request, bool grant) {
  TROUPE_CO_ASSIGN(const auto user, userName(request));
  TROUPE_CO_ASSIGN(const auto wanted, co_await parseRoles(request, request.document("roles")));
  if (wanted.empty())
    co_return Status(ErrorCode::kBadValue, std::string(request.commandName()) + " needs a role in its array \"roles\"");
  TROUPE_CO_TRY(authorizeRoles(request, wanted, grant ? auth::Action::kGrantRole : auth::Action::kRevokeRole));
  auto change = [&](const bson::Document* before) -> StatusWith<std::optional<bson::Document>> {
    if (!before) return userNotFound(request, user);
    std::vector<auth::RoleName> roles = storedRoles(*before);
    for (const auto& role : wanted) {
      const auto at = std::find(roles.begin(), roles.end(), role);
      if (grant && at == roles.end()) roles.push_back(role);
      if (!grant && at != roles.end()) roles.erase(at);
    }
    if (grant) TROUPE_TRY(checkUserRoles(request, wanted, roles));
    bson::Builder b;
    for (const bson::Element& e : before->view()) {
      if (e.name() == "roles") appendRoles(b, roles);
      else b.append(e);
    }
    return std::optional<bson::Document>(b.finish());
  };
  co_return co_await changeUser(request, std::string(request.db()) + "." + user, change);
}

Task<Status> grantRoles(Request& request) { return changeRoles(request, true); }
Task<Status> revokeRoles(Request& request) { return changeRoles(request, false); }

Task<Status> dropUser(Request& request) {
  TROUPE_CO_ASSIGN(const auto user, userName(request));
  auto change = [&](const bson::Document* before) -> StatusWith<std::optional<bson::Document>> {
    if (!before) return userNotFound(request, user);
    return std::optional<bson::Document>();
  };
  co_return co_await changeUser(request, std::string(request.db()) + "." + user, change);
}

Task<Status> dropAllUsers(Request& request) {
  ServerContext& server = request.server();
  auto attempt = [&] { return server.users.list(request.db()); };
  TROUPE_CO_ASSIGN(const auto users, co_await server.users.read(server.node, request.operation(), attempt));
  int32_t n = 0;
  for (const bson::Document& user : users) {
    const std::string id(user["_id"].toStringOr());
    auto change = [](const bson::Document*) -> StatusWith<std::optional<bson::Document>> {
      return std::optional<bson::Document>();
    };
    TROUPE_CO_TRY(co_await changeUser(request, id, change));
    ++n;
  }
  request.reply().append("n", n);
  co_return Status::OK();
}

constexpr Argument kRolesArguments[] = {arrayArg("roles").required()};

using Target = Requirement::Target;
constexpr Command kUserCommands[] = {
    {.name = "createUser",
     .summary = "makes a user",
     .requirement = {Target::kDatabase, auth::Action::kCreateUser},
     .access = Access::kWrite,
     .arguments = kCreateUserArguments,
     .run = createUser},
    {.name = "updateUser",
     .summary = "changes password, roles or data of a user",
     .requirement = {Target::kArguments},
     .access = Access::kWrite,
     .arguments = kUpdateUserArguments,
     .run = updateUser},
    {.name = "dropUser",
     .summary = "removes a user",
     .requirement = {Target::kDatabase, auth::Action::kDropUser},
     .access = Access::kWrite,
     .run = dropUser},
    {.name = "dropAllUsersFromDatabase",
     .summary = "removes all users of a database",
     .requirement = {Target::kDatabase, auth::Action::kDropUser},
     .access = Access::kWrite,
     .run = dropAllUsers},
    {.name = "grantRolesToUser",
     .summary = "gives roles to a user",
     .requirement = {Target::kArguments},
     .access = Access::kWrite,
     .arguments = kRolesArguments,
     .run = grantRoles},
    {.name = "revokeRolesFromUser",
     .summary = "takes roles from a user",
     .requirement = {Target::kArguments},
     .access = Access::kWrite,
     .arguments = kRolesArguments,
     .run = revokeRoles},
};

}  // namespace

std::span<const Command> userCommands() { return kUserCommands; }

}  // namespace troupe::commands
