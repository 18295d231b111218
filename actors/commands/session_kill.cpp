// killSessions, killAllSessions, killAllSessionsByPattern: sessions end with their cursors and what runs in them. (SES)
#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "actors/commands/families.hpp"
#include "actors/commands/session_arguments.hpp"
#include "actors/commands/session_choice.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_cache.hpp"
#include "actors/server/user_store.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

/// Owners of sessions that are looked at in one piece.
constexpr size_t kOwnersAtOnce = 256;

bool mayKillAny(const Request& request) {
  return request.authorize(auth::Action::kKillAnySession, auth::Resource::cluster()).isOK();
}

/// One of the client's own, or of any user where the client may kill all sessions: then an id without `uid` stands for
/// the sessions of that id, whoever owns them.
Status choose(const Request& request, bson::View lsid, bool any, SessionChoice& choice) {
  TROUPE_ASSIGN(const auto id, SessionKey::idOf(lsid));
  if (any && !lsid["uid"].ok()) return choice.addId(id);
  const auto named = any ? SessionKey::ofStored(lsid) : sessionOf(request.client(), lsid);
  TROUPE_ASSIGN(const SessionKey key, named);
  return choice.add(key);
}

/// No sessions stand for all of the own ones.
Task<Status> killSessions(Request& request) {
  SessionChoice choice(request.operation().memory());
  const bool any = mayKillAny(request);
  const std::function<Status(bson::View)> add = [&](bson::View lsid) { return choose(request, lsid, any, choice); };
  TROUPE_CO_TRY(co_await eachSession(request, &add));
  const std::string& owner = request.client().sessionOwner;
  if (choice.empty()) TROUPE_CO_TRY(choice.addOwner(owner.empty() ? SessionKey::nobody() : owner));
  const auto killed = co_await killChosen(request, &choice);
  co_return killed.status();
}

/// Of a user or a role: database, name.
using Name = std::pair<std::string, std::string>;
using Names = std::set<Name>;

/// Owners that are one of the users, if there are any, and have one of the roles.
struct RolePattern {
  Names users, roles;
};

/// What patterns ask of the users that own sessions.
struct OwnerPatterns {
  Names users;
  std::vector<RolePattern> roles;
};

/// Of an entry of a set, and of a pattern, about.
constexpr size_t kNameBytes = 128, kPatternBytes = 256;

/// Former users of that name are meant as well as the present one.
bool isOneOf(const std::vector<UserKey>& owners, const Names& users) {
  return std::ranges::any_of(owners, [&](const UserKey& owner) {
    return users.contains({owner.database, owner.name});
  });
}

size_t bytesOf(const Name& name) { return kNameBytes + name.first.size() + name.second.size(); }

StatusWith<std::string> nameIn(bson::View document, std::string_view field, std::string_view what) {
  const bson::Element name = document[field];
  if (name.is(bson::Type::kString)) return std::string(name.asString());
  return Status(ErrorCode::kTypeMismatch, std::string(what) + " must be {" +
                                              std::string(what == "a role" ? "role" : "user") + ", db}, two strings");
}

/// Of {user, db} or {role, db}.
StatusWith<Name> fullName(const bson::Element& given, bool isRole) {
  const std::string_view what = isRole ? "a role" : "a user";
  if (!given.is(bson::Type::kDocument))
    return Status(ErrorCode::kTypeMismatch,
                  std::string(what) + " must be a document {" + (isRole ? "role" : "user") + ", db}");
  TROUPE_ASSIGN(std::string name, nameIn(given.asDocument(), isRole ? "role" : "user", what));
  TROUPE_ASSIGN(std::string database, nameIn(given.asDocument(), "db", what));
  return Name(std::move(database), std::move(name));
}

/// Adds the names in a list of documents to `names`.
Task<Status> addNames(Request& request, const bson::Element& list, bool areRoles, SessionChoice* choice, Names* names) {
  if (!list.is(bson::Type::kArray))
    co_return Status(ErrorCode::kTypeMismatch, "'" + std::string(list.name()) + "' must be an array of documents");
  Steps steps;
  for (const bson::Element& e : list.asArray()) {
    TROUPE_CO_ASSIGN(Name name, fullName(e, areRoles));
    TROUPE_CO_TRY(choice->charge(bytesOf(name)));
    names->insert(std::move(name));
    if (steps.areMany()) TROUPE_CO_TRY(co_await request.yield());
  }
  co_return Status::OK();
}

Status addUser(Name user, SessionChoice& choice, Names& users) {
  TROUPE_TRY(choice.charge(bytesOf(user)));
  users.insert(std::move(user));
  return Status::OK();
}

/// The roles of the users, their own and inherited ones.
Task<StatusWith<Names>> rolesOf(Request& request, const std::vector<UserKey>* users) {
  const UserStore& store = request.server().users;
  Names roles;
  for (const UserKey& user : *users) {
    auto read = [&store, &user] { return store.load(user.name, user.database); };
    const auto loaded = co_await store.read(request.server().node, request.operation(), read);
    if (!loaded.isOK()) co_return loaded.status();
    if (!*loaded || (*loaded)->id != user.id) continue;
    for (const bson::Element& role : (*loaded)->roles.view())
      roles.emplace(role.asDocument()["db"].toStringOr(), role.asDocument()["role"].toStringOr());
  }
  co_return roles;
}

/// Whether one of the patterns is about these users. Their roles are read once, and only where a pattern asks for them.
Task<StatusWith<bool>> arePatternsAbout(Request& request, std::vector<UserKey> users, const OwnerPatterns* patterns) {
  if (isOneOf(users, patterns->users)) co_return true;
  std::optional<Names> roles;
  Steps steps;
  for (const RolePattern& pattern : patterns->roles) {
    if (steps.areMany()) TROUPE_CO_TRY(co_await request.yield());
    if (!pattern.users.empty() && !isOneOf(users, pattern.users)) continue;
    if (!roles) {
      TROUPE_CO_ASSIGN(roles, co_await rolesOf(request, &users));
    }
    if (std::ranges::any_of(*roles, [&](const Name& role) { return pattern.roles.contains(role); })) co_return true;
  }
  co_return false;
}

/// Adds what the users have alone, also where the node has forgotten whose it is.
Task<Status> addUsers(Request& request, const Names* users, SessionChoice* choice) {
  const UserStore& store = request.server().users;
  Steps steps;
  for (const Name& user : *users) {
    auto read = [&store, &user] { return store.keyOf(user.second, user.first); };
    TROUPE_CO_ASSIGN(const UserKey key, co_await store.read(request.server().node, request.operation(), read));
    TROUPE_CO_TRY(choice->addOwner(SessionKey::ownerOf(key)));
    if (steps.areMany()) TROUPE_CO_TRY(co_await request.yield());
  }
  co_return Status::OK();
}

/// Owners that were looked at.
using Digests = std::unordered_set<std::string>;

/// Adds the owner of that digest if the patterns are about its users. Each is looked at once.
Task<Status> addOwnerOf(Request& request, std::string_view digest, const std::vector<UserKey>* users,
                        const OwnerPatterns* patterns, SessionChoice* choice, Digests* looked) {
  if (!looked->insert(std::string(digest)).second) co_return Status::OK();
  TROUPE_CO_TRY(choice->charge(kNameBytes));
  auto copy = *users;
  TROUPE_CO_ASSIGN(const bool are, co_await arePatternsAbout(request, std::move(copy), patterns));
  co_return are ? choice->addOwner(digest) : Status::OK();
}

/// Adds the owners that the patterns are about, in one pass over those of the node's sessions and one over those of
/// its cursors, whose sessions may have given their places in the cache to others; both go in pieces. What users have
/// with others on one connection, or had before they were dropped and made again, is found here.
Task<Status> addOwners(Request& request, const OwnerPatterns* patterns, SessionChoice* choice) {
  if (patterns->users.empty() && patterns->roles.empty()) co_return Status::OK();
  TROUPE_CO_TRY(co_await addUsers(request, &patterns->users, choice));
  Digests looked;
  for (SessionCache::Place place; !place.atEnd;) {
    const auto owners = request.server().sessions.owners(place, kOwnersAtOnce);
    for (const auto& owner : owners)
      TROUPE_CO_TRY(co_await addOwnerOf(request, owner.digest, &owner.users, patterns, choice, &looked));
    TROUPE_CO_TRY(co_await request.yield());
  }
  for (TablePlace place; !place.atEnd;) {
    const auto sessions = request.server().cursors.ownedSessions(place, kOwnersAtOnce);
    for (const auto& session : sessions)
      TROUPE_CO_TRY(co_await addOwnerOf(request, session.key.owner(), &session.owners, patterns, choice, &looked));
    TROUPE_CO_TRY(co_await request.yield());
  }
  co_return Status::OK();
}

/// Documents {user, db}; none: everybody's sessions.
Task<Status> killAllSessions(Request& request) {
  SessionChoice choice(request.operation().memory());
  OwnerPatterns patterns;
  const std::function<Status(bson::View)> add = [&](bson::View pattern) -> Status {
    TROUPE_ASSIGN(std::string user, nameIn(pattern, "user", "a user"));
    TROUPE_ASSIGN(std::string database, nameIn(pattern, "db", "a user"));
    return addUser({std::move(database), std::move(user)}, choice, patterns.users);
  };
  TROUPE_CO_TRY(co_await eachDocument(request, "each pattern must be a document {user, db}", &add));
  TROUPE_CO_TRY(co_await addOwners(request, &patterns, &choice));
  if (choice.empty()) choice.addAll();
  const auto killed = co_await killChosen(request, &choice);
  co_return killed.status();
}

/// {users, roles}: owners that are one of the users, and have one of the roles; either may be left out.
Task<Status> addUserPattern(Request& request, bson::View pattern, SessionChoice* choice, OwnerPatterns* patterns) {
  RolePattern read;
  if (pattern["users"].ok()) TROUPE_CO_TRY(co_await addNames(request, pattern["users"], false, choice, &read.users));
  if (pattern["roles"].ok()) TROUPE_CO_TRY(co_await addNames(request, pattern["roles"], true, choice, &read.roles));
  if (!read.roles.empty()) {
    TROUPE_CO_TRY(choice->charge(kPatternBytes));
    patterns->roles.push_back(std::move(read));
    co_return Status::OK();
  }
  Steps steps;
  for (const Name& user : read.users) {
    TROUPE_CO_TRY(addUser(user, *choice, patterns->users));
    if (steps.areMany()) TROUPE_CO_TRY(co_await request.yield());
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

Task<Status> addPattern(Request& request, bson::View pattern, SessionChoice* choice, OwnerPatterns* patterns) {
  TROUPE_CO_TRY(checkPattern(pattern));
  if (const bson::Element lsid = pattern["lsid"]; lsid.ok()) {
    if (!lsid.is(bson::Type::kDocument))
      co_return Status(ErrorCode::kTypeMismatch, "'lsid' must be a document {id, uid}");
    co_return choose(request, lsid.asDocument(), true, *choice);
  }
  if (const bson::Element uid = pattern["uid"]; uid.ok()) {
    if (!uid.is(bson::Type::kBinary) || uid.asBinary().bytes.size() != SessionKey::kOwnerBytes)
      co_return Status(ErrorCode::kTypeMismatch, "'uid' must be the digest of a user, 32 bytes of binData");
    co_return choice->addOwner(uid.asBinary().bytes);
  }
  co_return co_await addUserPattern(request, pattern, choice, patterns);
}

/// No pattern: everybody's sessions.
Task<Status> killAllSessionsByPattern(Request& request) {
  TROUPE_CO_ASSIGN(const bson::View list, ownArray(request));
  SessionChoice choice(request.operation().memory());
  OwnerPatterns patterns;
  Steps steps;
  for (const bson::Element& e : list) {
    TROUPE_CO_ASSIGN(const bson::View pattern, documentIn(e, "each pattern must be a document"));
    TROUPE_CO_TRY(co_await addPattern(request, pattern, &choice, &patterns));
    if (steps.areMany()) TROUPE_CO_TRY(co_await request.yield());
  }
  TROUPE_CO_TRY(co_await addOwners(request, &patterns, &choice));
  if (list.empty()) choice.addAll();
  int64_t known = 0;
  if (!choice.empty()) {  // somebody has such a role
    TROUPE_CO_ASSIGN(known, co_await killChosen(request, &choice));
  }
  request.reply().append("sessions", known);
  co_return Status::OK();
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
