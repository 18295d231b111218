// killSessions, killAllSessions, killAllSessionsByPattern: sessions end with their cursors and what runs in them. (SES)
#include <algorithm>
#include <string>
#include <vector>

#include "actors/commands/families.hpp"
#include "actors/commands/session_arguments.hpp"
#include "actors/commands/session_inspection.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/user_store.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

bool mayKillAny(const Request& request) {
  return request.authorize(auth::Action::kKillAnySession, auth::Resource::cluster()).isOK();
}

/// Kills what runs in the chosen sessions and ends them; those that are chosen by their owner are looked for in pieces.
Task<Status> killChosen(Request& request, const SessionChoice* choice) {
  ServerContext& server = request.server();
  if (choice->isNamed()) {
    killNamedSessions(server, *choice, &request.client());
    co_return Status::OK();
  }
  killWorkOf(server, *choice, &request.client());
  for (SessionCache::Place place; !place.atEnd;) {
    const auto now = server.node.environment().now();
    for (const SessionCache::Row& row : server.sessions.look(place, kSessionsAtOnce, SessionCache::Which::kLive))
      if (choice->contains(row.key)) server.sessions.end(row.key, now);
    TROUPE_CO_TRY(co_await request.yield());
  }
  co_return Status::OK();
}

/// One of the client's own, or of any user where the client may kill all sessions: then an id without `uid` stands for
/// the sessions of that id, whoever owns them.
Status choose(const Request& request, bson::View lsid, bool any, SessionChoice& choice) {
  TROUPE_ASSIGN(const auto id, SessionKey::idOf(lsid));
  if (any && !lsid["uid"].ok()) {
    choice.addId(id);
    return Status::OK();
  }
  const auto named = any ? SessionKey::ofStored(lsid) : sessionOf(request.client(), lsid);
  TROUPE_ASSIGN(const SessionKey key, named);
  choice.add(key);
  return Status::OK();
}

/// No sessions stand for all of the own ones.
Task<Status> killSessions(Request& request) {
  TROUPE_CO_ASSIGN(const auto named, namedSessions(request));
  SessionChoice choice;
  const bool any = mayKillAny(request);
  for (const bson::View lsid : named) TROUPE_CO_TRY(choose(request, lsid, any, choice));
  const std::string& owner = request.client().sessionOwner;
  if (named.empty()) choice.addOwner(owner.empty() ? SessionKey::nobody() : owner);
  co_return co_await killChosen(request, &choice);
}

/// Whether "ann@admin, bob@shop" names the user.
bool namesUser(std::string_view names, std::string_view user) {
  for (size_t from = 0; from <= names.size();) {
    const size_t end = std::min(names.find(", ", from), names.size());
    if (names.substr(from, end - from) == user) return true;
    from = end + 2;
  }
  return false;
}

StatusWith<std::string> nameIn(bson::View document, std::string_view field, std::string_view what) {
  const bson::Element name = document[field];
  if (name.is(bson::Type::kString)) return std::string(name.asString());
  return Status(ErrorCode::kTypeMismatch, std::string(what) + " must be {" +
                                              std::string(what == "a role" ? "role" : "user") + ", db}, two strings");
}

/// "name@db" of {user, db} or {role, db}.
StatusWith<std::string> fullName(const bson::Element& given, bool isRole) {
  const std::string_view what = isRole ? "a role" : "a user";
  if (!given.is(bson::Type::kDocument))
    return Status(ErrorCode::kTypeMismatch,
                  std::string(what) + " must be a document {" + (isRole ? "role" : "user") + ", db}");
  TROUPE_ASSIGN(std::string name, nameIn(given.asDocument(), isRole ? "role" : "user", what));
  TROUPE_ASSIGN(const std::string database, nameIn(given.asDocument(), "db", what));
  return name + "@" + database;
}

StatusWith<std::vector<std::string>> fullNames(const bson::Element& list, bool areRoles) {
  if (!list.is(bson::Type::kArray))
    return Status(ErrorCode::kTypeMismatch, "'" + std::string(list.name()) + "' must be an array of documents");
  std::vector<std::string> names;
  for (const bson::Element& e : list.asArray()) {
    TROUPE_ASSIGN(auto name, fullName(e, areRoles));
    names.push_back(std::move(name));
  }
  return names;
}

/// The sessions of a user, alone or with others on one connection.
void addUser(const ServerContext& server, const std::string& user, SessionChoice& choice) {
  choice.addOwner(SessionKey::ownerOf(user));
  for (const auto& [digest, names] : server.sessions.owners())
    if (namesUser(names, user)) choice.addOwner(digest);
}

/// Documents {user, db}; none: everybody's sessions.
Task<Status> killAllSessions(Request& request) {
  TROUPE_CO_ASSIGN(const auto patterns, documentsOf(request, "each pattern must be a document {user, db}"));
  SessionChoice choice;
  if (patterns.empty()) choice.addAll();
  for (const bson::View pattern : patterns) {
    TROUPE_CO_ASSIGN(const std::string user, nameIn(pattern, "user", "a user"));
    TROUPE_CO_ASSIGN(const std::string database, nameIn(pattern, "db", "a user"));
    addUser(request.server(), user + "@" + database, choice);
  }
  co_return co_await killChosen(request, &choice);
}

/// Whether one of the users "name@db, ..." has one of the roles, himself or by inheritance.
Task<StatusWith<bool>> hasRole(Request& request, std::string names, const std::vector<std::string>* roles) {
  const UserStore& store = request.server().users;
  for (size_t from = 0; from < names.size();) {
    const size_t end = std::min(names.find(", ", from), names.size());
    const std::string full = names.substr(from, end - from);
    from = end + 2;
    const size_t at = full.rfind('@');
    if (at == std::string::npos) continue;
    auto read = [&store, user = full.substr(0, at), database = full.substr(at + 1)] {
      return store.load(user, database);
    };
    const auto loaded = co_await store.read(request.server().node, request.operation(), read);
    if (!loaded.isOK()) co_return loaded.status();
    if (!*loaded) continue;
    for (const bson::Element& role : (*loaded)->roles.view()) {
      const std::string name =
          std::string(role.asDocument()["role"].toStringOr()) + "@" + std::string(role.asDocument()["db"].toStringOr());
      if (std::ranges::count(*roles, name) > 0) co_return true;
    }
  }
  co_return false;
}

/// {users, roles}: owners that are one of the users, and have one of the roles; either may be left out.
Task<Status> addOwners(Request& request, bson::View pattern, SessionChoice* choice) {
  std::vector<std::string> users, roles;
  if (pattern["users"].ok()) {
    TROUPE_CO_ASSIGN(users, fullNames(pattern["users"], false));
  }
  if (pattern["roles"].ok()) {
    TROUPE_CO_ASSIGN(roles, fullNames(pattern["roles"], true));
  }
  if (roles.empty()) {
    for (const std::string& user : users) addUser(request.server(), user, *choice);
    co_return Status::OK();
  }
  const auto owners = request.server().sessions.owners();
  for (const auto& [digest, names] : owners) {
    TROUPE_CO_TRY(request.checkForInterrupt());
    const bool isOne = users.empty() || std::ranges::any_of(users, [&owned = names](const std::string& user) {
                         return namesUser(owned, user);
                       });
    if (!isOne) continue;
    TROUPE_CO_ASSIGN(const bool has, co_await hasRole(request, names, &roles));
    if (has) choice->addOwner(digest);
  }
  co_return Status::OK();
}

Status checkPattern(bson::View pattern) {
  for (const bson::Element& e : pattern)
    if (e.name() != "lsid" && e.name() != "uid" && e.name() != "users" && e.name() != "roles")
      return {ErrorCode::kUnknownField, "a pattern of sessions has no field '" + std::string(e.name()) +
                                            "': it is {lsid: {id, uid}}, {uid} or {users, roles}"};
  const int kinds = pattern["lsid"].ok() + pattern["uid"].ok() + (pattern["users"].ok() || pattern["roles"].ok());
  if (kinds == 1) return Status::OK();
  return {ErrorCode::kBadValue, "a pattern of sessions is one of {lsid: {id, uid}}, {uid} and {users, roles}"};
}

Task<Status> addPattern(Request& request, bson::View pattern, SessionChoice* choice) {
  TROUPE_CO_TRY(checkPattern(pattern));
  if (const bson::Element lsid = pattern["lsid"]; lsid.ok()) {
    if (!lsid.is(bson::Type::kDocument))
      co_return Status(ErrorCode::kTypeMismatch, "'lsid' must be a document {id, uid}");
    co_return choose(request, lsid.asDocument(), true, *choice);
  }
  if (const bson::Element uid = pattern["uid"]; uid.ok()) {
    if (!uid.is(bson::Type::kBinary) || uid.asBinary().bytes.size() != SessionKey::kOwnerBytes)
      co_return Status(ErrorCode::kTypeMismatch, "'uid' must be the digest of a user, 32 bytes of binData");
    choice->addOwner(uid.asBinary().bytes);
    co_return Status::OK();
  }
  co_return co_await addOwners(request, pattern, choice);
}

/// No pattern: everybody's sessions.
Task<Status> killAllSessionsByPattern(Request& request) {
  TROUPE_CO_ASSIGN(const auto patterns, documentsOf(request, "each pattern must be a document"));
  SessionChoice choice;
  if (patterns.empty()) choice.addAll();
  for (const bson::View pattern : patterns) TROUPE_CO_TRY(co_await addPattern(request, pattern, &choice));
  if (choice.empty()) co_return Status::OK();  // nobody has such a role
  co_return co_await killChosen(request, &choice);
}

constexpr Command kSessionKillCommands[] = {
    {.name = "killSessions",
     .summary = "ends sessions, their cursors and running operations",
     .requirement = {Requirement::Target::kAuthenticated},
     .stableApi = true,
     .run = killSessions},
    {.name = "killAllSessions",
     .summary = "ends all sessions, or those of some users, their cursors and running operations",
     .requirement = {Requirement::Target::kCluster, auth::Action::kKillAnySession},
     .run = killAllSessions},
    {.name = "killAllSessionsByPattern",
     .summary = "ends the sessions of an id, a user or a role, their cursors and running operations",
     .requirement = {Requirement::Target::kCluster, auth::Action::kKillAnySession},
     .run = killAllSessionsByPattern},
};

}  // namespace

std::span<const Command> sessionKillCommands() { return kSessionKillCommands; }

}  // namespace troupe::commands
