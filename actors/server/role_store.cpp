#include "actors/server/role_store.hpp"

#include <map>
#include <set>
#include <utility>

#include "messaging/auth/privilege_documents.hpp"

namespace troupe::server {
namespace {

/// Collects what roles inherit, level by level, within the limits of RoleStore. Each role of a user has its share of
/// them, and what one does not need goes to the others: so no role pushes another one out.
class Resolution {
 public:
  using Find = std::function<StatusWith<std::optional<RoleDefinition>>(const auth::RoleName&)>;
  /// `definition`: takes the place of the stored one; may be null.
  explicit Resolution(Find find, const RoleDefinition* definition = nullptr)
      : find_(std::move(find)), definition_(definition) {}

  StatusWith<ResolvedRoles> of(std::span<const auth::RoleName> roles) {
    std::vector<auth::RoleName> pending;
    std::set<Key> given;
    for (const auto& role : roles) {
      if (!given.insert(keyOf(role)).second) continue;
      if (!auth::isBuiltinRole(role.role, role.database)) pending.push_back(role);
      else TROUPE_TRY(take(role));
    }
    Limits left{RoleStore::kMaxInherited, RoleStore::kMaxResources};
    for (int round = 1; !pending.empty(); ++round) {
      TROUPE_ASSIGN(pending, share(std::move(pending), left, round == kRounds));
    }
    listRoles(roles);
    return std::move(result_);
  }

 private:
  /// How often what some roles leave is shared among the others.
  static constexpr int kRounds = 4;
  struct Limits {
    size_t inherited, resources;
  };
  /// What one role of the user comes to.
  struct Reach {
    std::vector<auth::RoleName> roles;  ///< itself first
    std::vector<const RoleDefinition*> definitions;
    size_t resources = 0;
    bool isComplete = true;
    bool inheritsItself = false;
  };

  /// Adopts the roles that their share suffices for; gives the others, for which what is left may be enough. Once it is
  /// no use, or the last round, they get what their share allows.
  StatusWith<std::vector<auth::RoleName>> share(std::vector<auth::RoleName> pending, Limits& left, bool isLast) {
    const Limits each{left.inherited / pending.size(), left.resources / pending.size()};
    std::vector<auth::RoleName> others;
    std::vector<Reach> cut;
    for (const auto& role : pending) {
      TROUPE_ASSIGN(Reach reach, reachOf(role, each));
      if (!reach.isComplete) {
        others.push_back(role);
        cut.push_back(std::move(reach));
        continue;
      }
      TROUPE_TRY(adopt(reach));
      left.inherited -= reach.roles.empty() ? 0 : reach.roles.size() - 1;
      left.resources -= reach.resources;
    }
    if (!isLast && others.size() < pending.size()) return others;
    for (const Reach& reach : cut) TROUPE_TRY(adopt(reach));
    return std::vector<auth::RoleName>();
  }

  StatusWith<Reach> reachOf(const auth::RoleName& first, const Limits& limits) {
    Reach reach;
    std::set<Key> seen{keyOf(first)};
    std::vector<auth::RoleName> next{first};
    for (int depth = 0; !next.empty() && reach.isComplete; ++depth) {
      if (depth > RoleStore::kMaxDepth) {
        reach.isComplete = false;
        break;
      }
      for (const auto& role : std::exchange(next, {})) {
        TROUPE_ASSIGN(const RoleDefinition* const definition, definitionOf(role));
        if (!definition && !auth::isBuiltinRole(role.role, role.database)) continue;
        if (definition && reach.resources + definition->privileges.size() > limits.resources) {
          reach.isComplete = false;
          continue;
        }
        reach.roles.push_back(role);
        if (!definition) continue;
        reach.definitions.push_back(definition);
        reach.resources += definition->privileges.size();
        for (const auto& inherited : definition->roles) {
          if (definition_ && inherited == definition_->name) reach.inheritsItself = true;
          if (seen.contains(keyOf(inherited))) continue;
          if (seen.size() > limits.inherited) {
            reach.isComplete = false;
            break;
          }
          seen.insert(keyOf(inherited));
          next.push_back(inherited);
        }
      }
    }
    return reach;
  }

  Status adopt(const Reach& reach) {
    for (const auto& role : reach.roles) TROUPE_TRY(take(role));
    for (const RoleDefinition* definition : reach.definitions)
      for (const auto& privilege : definition->privileges)
        result_.privileges.add(privilege.resource, privilege.actions);
    result_.complete = result_.complete && reach.isComplete;
    result_.inheritsItself = result_.inheritsItself || reach.inheritsItself;
    return Status::OK();
  }

  /// Null: it is built in, or there is none.
  StatusWith<const RoleDefinition*> definitionOf(const auth::RoleName& role) {
    if (auth::isBuiltinRole(role.role, role.database)) return static_cast<const RoleDefinition*>(nullptr);
    if (definition_ && definition_->name == role) return definition_;
    const auto [known, isNew] = known_.try_emplace(keyOf(role));
    if (isNew) {
      TROUPE_ASSIGN(known->second, find_(role));
    }
    return static_cast<const RoleDefinition*>(known->second ? &*known->second : nullptr);
  }

  Status take(const auth::RoleName& role) {
    if (!taken_.insert(keyOf(role)).second) return Status::OK();
    inOrder_.push_back(role);
    if (!auth::isBuiltinRole(role.role, role.database)) return Status::OK();
    return result_.privileges.addRole(role.role, role.database);
  }

  /// The roles themselves first, then those they inherit from.
  void listRoles(std::span<const auth::RoleName> given) {
    const auto list = [this](const auth::RoleName& role) {
      if (taken_.erase(keyOf(role)) > 0) result_.roles.push_back(role);
    };
    for (const auto& role : given) list(role);
    for (const auto& role : inOrder_) list(role);
  }

  using Key = std::pair<std::string, std::string>;
  static Key keyOf(const auth::RoleName& role) { return {role.database, role.role}; }

  const Find find_;
  const RoleDefinition* const definition_;
  std::map<Key, std::optional<RoleDefinition>> known_;
  std::set<Key> taken_;
  std::vector<auth::RoleName> inOrder_;
  ResolvedRoles result_;
};

}  // namespace

RoleDefinition RoleDefinition::of(bson::View stored) {
  RoleDefinition role{.name = auth::roleNameOf(stored)};
  if (const auto privileges = stored["privileges"]; privileges.is(bson::Type::kArray)) {
    for (const bson::Element& e : privileges.asArray())
      if (auto privilege = auth::storedPrivilege(e)) role.privileges.push_back(std::move(*privilege));
  }
  if (const auto roles = stored["roles"]; roles.is(bson::Type::kArray)) {
    for (const bson::Element& e : roles.asArray())
      if (e.is(bson::Type::kDocument)) role.roles.push_back(auth::roleNameOf(e.asDocument()));
  }
  return role;
}

bson::Document RoleDefinition::toDocument() const {
  bson::Builder b;
  b.append("_id", id()).append("role", name.role).append("db", name.database);
  b.openArray("privileges");
  for (const auto& privilege : privileges) b.push(auth::toDocument(privilege));
  b.close().openArray("roles");
  for (const auto& role : roles) b.push(auth::toDocument(role));
  b.close();
  return b.finish();
}

bson::Value ResolvedRoles::rolesArray() const {
  bson::Builder list;
  for (const auto& role : roles) list.push(auth::toDocument(role));
  return list.finishArray();
}

StatusWith<std::optional<RoleDefinition>> RoleStore::find(const auth::RoleName& name) const {
  TROUPE_ASSIGN(const auto stored, stored_.find(name.database + "." + name.role));
  if (!stored) return std::optional<RoleDefinition>();
  return std::optional(RoleDefinition::of(*stored));
}

StatusWith<bool> RoleStore::exists(const auth::RoleName& name) const {
  if (auth::isBuiltinRole(name.role, name.database)) return true;
  TROUPE_ASSIGN(const auto stored, stored_.find(name.database + "." + name.role));
  return stored.has_value();
}

StatusWith<std::vector<auth::RoleName>> RoleStore::names(std::string_view database) const {
  std::vector<auth::RoleName> all;
  TROUPE_TRY(stored_.each([&](bson::View stored) {
    if (stored["db"].toStringOr() == database) all.push_back(auth::roleNameOf(stored));
    return true;
  }));
  return all;
}

StatusWith<ResolvedRoles> RoleStore::resolve(std::span<const auth::RoleName> roles) const {
  Resolution resolution([this](const auth::RoleName& name) { return find(name); });
  return resolution.of(roles);
}

StatusWith<ResolvedRoles> RoleStore::resolve(const RoleDefinition& definition) const {
  Resolution resolution([this](const auth::RoleName& name) { return find(name); }, &definition);
  return resolution.of({&definition.name, 1});
}

}  // namespace troupe::server
