#include "actors/server/role_store.hpp"

#include <set>
#include <utility>

#include "messaging/auth/privilege_documents.hpp"

namespace troupe::server {
namespace {

/// Collects what roles inherit, level by level, within the limits of RoleStore.
class Resolution {
 public:
  using Find = std::function<StatusWith<std::optional<RoleDefinition>>(const auth::RoleName&)>;

  /// `definition`: takes the place of the stored one; may be null.
  explicit Resolution(Find find, const RoleDefinition* definition = nullptr)
      : find_(std::move(find)), definition_(definition) {}

  StatusWith<ResolvedRoles> of(std::span<const auth::RoleName> roles) {
    for (const auto& role : roles) enqueue(role);
    limit_ = seen_.size() + RoleStore::kMaxInherited;
    for (int depth = 0; !next_.empty(); ++depth) {
      if (depth > RoleStore::kMaxDepth) {
        result_.complete = false;
        break;
      }
      for (const auto& role : std::exchange(next_, {})) TROUPE_TRY(take(role));
    }
    return std::move(result_);
  }

 private:
  void enqueue(const auth::RoleName& role) {
    std::pair<std::string, std::string> key(role.database, role.role);
    if (seen_.contains(key)) return;
    if (limit_ && seen_.size() >= *limit_) {
      result_.complete = false;
      return;
    }
    seen_.insert(std::move(key));
    next_.push_back(role);
  }

  Status take(const auth::RoleName& role) {
    if (auth::isBuiltinRole(role.role, role.database)) {
      result_.roles.push_back(role);
      return result_.privileges.addRole(role.role, role.database);
    }
    if (definition_ && definition_->name == role) {
      takeDefinition(*definition_);
      return Status::OK();
    }
    TROUPE_ASSIGN(const auto found, find_(role));
    if (found) takeDefinition(*found);
    return Status::OK();
  }

  void takeDefinition(const RoleDefinition& role) {
    resources_ += role.privileges.size();
    if (resources_ > RoleStore::kMaxResources) {
      result_.complete = false;
      return;
    }
    result_.roles.push_back(role.name);
    for (const auto& privilege : role.privileges) result_.privileges.add(privilege.resource, privilege.actions);
    for (const auto& inherited : role.roles) {
      if (definition_ && inherited == definition_->name) result_.inheritsItself = true;
      enqueue(inherited);
    }
  }

  const Find find_;
  const RoleDefinition* const definition_;
  std::set<std::pair<std::string, std::string>> seen_;
  std::optional<size_t> limit_;
  std::vector<auth::RoleName> next_;
  size_t resources_ = 0;
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
