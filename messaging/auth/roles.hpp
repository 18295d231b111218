#pragma once
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messaging/bson/document.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::auth {

/// An action of a privilege. Names as operators know them: `actionName(Action::kFind)` is "find".
enum class Action : uint8_t {
#define TROUPE_ACTION(name, text) name,
#include "messaging/auth/actions.inc"
#undef TROUPE_ACTION
  kCount
};
inline constexpr size_t kActionCount = static_cast<size_t>(Action::kCount);
using ActionSet = std::bitset<kActionCount>;

std::string_view actionName(Action action);
std::optional<Action> actionByName(std::string_view name);
ActionSet actions(std::initializer_list<Action> list);

/// The resource of a privilege.
struct Resource {
  enum class Kind : uint8_t { kCollection, kDatabase, kCluster };
  Kind kind = Kind::kCluster;
  std::string_view database;
  std::string_view collection;

  static Resource cluster() { return {}; }
  static Resource db(std::string_view name) { return {Kind::kDatabase, name, {}}; }
  static Resource coll(std::string_view database, std::string_view collection) {
    return {Kind::kCollection, database, collection};
  }
};

/// Which resources a privilege covers. An empty database stands for all but local and config, an empty collection for
/// all but system collections and for actions on the database itself ({db: "x", collection: ""} covers "dropDatabase"
/// on x).
struct ResourcePattern {
  enum class Kind : uint8_t { kNamespace, kCluster, kAny };
  Kind kind = Kind::kNamespace;
  std::string database;
  std::string collection;

  bool covers(const Resource& resource) const;
  bool operator==(const ResourcePattern&) const = default;
};

struct Privilege {
  ResourcePattern resource;
  ActionSet actions;
};

/// A role as users hold it: {role, db}.
struct RoleName {
  std::string role;
  std::string database;
  bool operator==(const RoleName&) const = default;
};

/// Whether a role of that name is built in for that database (readAnyDatabase, root ... exist in admin only).
bool isBuiltinRole(std::string_view role, std::string_view database);
/// The names of the roles built into a database.
std::vector<std::string_view> builtinRoleNames(std::string_view database);

/// All that a user, by all roles, may do. A value; asked for each command.
class PrivilegeSet {
 public:
  /// Adds the privileges of a built-in role. Errors: RoleNotFound.
  Status addRole(std::string_view role, std::string_view database);
  void add(const ResourcePattern& resource, const ActionSet& actions);

  bool allows(Action action, const Resource& resource) const;
  /// Whether some resource in the database is covered, e.g. to list only databases the user may see.
  bool allowsAnythingIn(std::string_view database) const;
  /// The same of one collection.
  bool allowsAnythingOn(std::string_view database, std::string_view collection) const;
  bool empty() const { return privileges_.empty(); }
  std::span<const Privilege> privileges() const { return privileges_; }
  /// [{resource: {db, collection}, actions: [...]}, ...] as connectionStatus and usersInfo show it.
  bson::Value toArray() const;

 private:
  std::vector<Privilege> privileges_;
};

/// Unauthorized (13) as drivers see it: "not authorized on <db> to execute command { find: ... }".
Status unauthorized(std::string_view database, bson::View command);

}  // namespace troupe::auth
