#include "messaging/auth/roles.hpp"

#include <algorithm>
#include <array>

#include "messaging/auth/builtin_roles.hpp"
#include "messaging/bson/json.hpp"

namespace troupe::auth {
namespace {

constexpr std::array<std::string_view, kActionCount> kActionNames = {
#define TROUPE_ACTION(name, text) text,
#include "messaging/auth/actions.inc"
#undef TROUPE_ACTION
};

bool coversDatabase(const ResourcePattern& pattern, std::string_view database) {
  if (pattern.database.empty()) return database != "local" && database != "config";
  return pattern.database == database;
}

const BuiltinRole* findRole(std::string_view role, std::string_view database) {
  const auto roles = builtinRoles();
  const auto found = std::ranges::find(roles, role, &BuiltinRole::name);
  return found == roles.end() || (found->adminOnly && database != "admin") ? nullptr : &*found;
}

bson::Document toDocument(const ResourcePattern& pattern) {
  if (pattern.kind == ResourcePattern::Kind::kCluster) return bson::doc("cluster", true);
  if (pattern.kind == ResourcePattern::Kind::kAny) return bson::doc("anyResource", true);
  return bson::doc("db", pattern.database, "collection", pattern.collection);
}

std::vector<std::string_view> sortedNames(const ActionSet& set) {
  if (set.all()) return {"anyAction"};
  std::vector<std::string_view> names;
  for (size_t i = 0; i < kActionCount; ++i)
    if (set.test(i)) names.push_back(kActionNames[i]);
  std::ranges::sort(names);
  return names;
}

}  // namespace

std::string_view actionName(Action action) { return kActionNames[static_cast<size_t>(action)]; }

std::optional<Action> actionByName(std::string_view name) {
  const auto found = std::ranges::find(kActionNames, name);
  if (found == kActionNames.end()) return {};
  return static_cast<Action>(found - kActionNames.begin());
}

ActionSet actions(std::initializer_list<Action> list) {
  ActionSet set;
  for (const auto action : list) set.set(static_cast<size_t>(action));
  return set;
}

bool ResourcePattern::covers(const Resource& resource) const {
  if (kind == Kind::kAny) return true;
  if (kind == Kind::kCluster) return resource.kind == Resource::Kind::kCluster;
  if (resource.kind == Resource::Kind::kCluster || !coversDatabase(*this, resource.database)) return false;
  if (resource.kind == Resource::Kind::kDatabase) return collection.empty();
  return collection.empty() ? !resource.collection.starts_with("system.") : collection == resource.collection;
}

bool isBuiltinRole(std::string_view role, std::string_view database) { return findRole(role, database) != nullptr; }

std::vector<std::string_view> builtinRoleNames(std::string_view database) {
  std::vector<std::string_view> names;
  for (const auto& role : builtinRoles())
    if (!role.adminOnly || database == "admin") names.push_back(role.name);
  return names;
}

/// Where a row of a role that is held on `held` grants; empty: each database.
static std::string_view databaseOf(const BuiltinGrant& grant, std::string_view held) {
  if (grant.database == kOwn) return held;
  if (grant.database == kOwnOrEach) return held == "admin" ? "" : held;
  return grant.database;
}

Status PrivilegeSet::addRole(std::string_view role, std::string_view database) {
  const auto* builtin = findRole(role, database);
  if (!builtin)
    return {ErrorCode::kRoleNotFound, "Could not find role: " + std::string(role) + "@" + std::string(database)};
  for (const auto included : builtin->includes) TROUPE_TRY(addRole(included, database));
  for (const auto& grant : builtin->grants) {
    add({grant.kind, std::string(databaseOf(grant, database)), std::string(grant.collection)}, grant.actions);
  }
  return {};
}

void PrivilegeSet::add(const ResourcePattern& resource, const ActionSet& actions) {
  const auto found = std::ranges::find(privileges_, resource, &Privilege::resource);
  if (found == privileges_.end()) privileges_.push_back({resource, actions});
  else found->actions |= actions;
}

bool PrivilegeSet::allows(Action action, const Resource& resource) const {
  return std::ranges::any_of(privileges_, [&](const Privilege& privilege) {
    return privilege.actions.test(static_cast<size_t>(action)) && privilege.resource.covers(resource);
  });
}

bool PrivilegeSet::allowsAnythingIn(std::string_view database) const {
  return std::ranges::any_of(privileges_, [&](const Privilege& privilege) {
    const auto kind = privilege.resource.kind;
    return kind == ResourcePattern::Kind::kAny ||
           (kind == ResourcePattern::Kind::kNamespace && coversDatabase(privilege.resource, database));
  });
}

bool PrivilegeSet::allowsAnythingOn(std::string_view database, std::string_view collection) const {
  const Resource resource = Resource::coll(database, collection);
  return std::ranges::any_of(privileges_, [&](const Privilege& privilege) {
    return privilege.actions.any() && privilege.resource.covers(resource);
  });
}

bson::Value PrivilegeSet::toArray() const {
  bson::Builder list;
  for (const auto& privilege : privileges_)
    list.push(bson::doc("resource", toDocument(privilege.resource), "actions", sortedNames(privilege.actions)));
  return list.finishArray();
}

Status unauthorized(std::string_view database, bson::View command) {
  // The first field only: arguments may be large or secret.
  constexpr size_t kMaxShown = 200;
  const auto first = command.first();
  auto shown = std::string(first.name());
  if (first.ok()) shown += ": " + (first.isObjectLike() ? "..." : bson::toRelaxedJson(first));
  if (shown.size() > kMaxShown) shown = shown.substr(0, kMaxShown) + "...";
  return {ErrorCode::kUnauthorized,
          "not authorized on " + std::string(database) + " to execute command { " + shown + " }"};
}

}  // namespace troupe::auth
