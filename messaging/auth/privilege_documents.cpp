#include "messaging/auth/privilege_documents.hpp"

namespace troupe::auth {
namespace {

/// As of a namespace: longer names belong to no collection.
constexpr size_t kMaxNameBytes = 255;

Status wrongResource() {
  return {ErrorCode::kFailedToParse,
          "a resource is {db: <database>, collection: <collection>}, {cluster: true} or {anyResource: true}"};
}

StatusWith<ResourcePattern> parseResource(bson::View resource) {
  const bool isNamespace = resource.has("db") && resource.has("collection");
  if (resource.count() != (isNamespace ? 2 : 1)) return wrongResource();
  if (!isNamespace) {
    const bson::Element only = resource.first();
    if (!only.is(bson::Type::kBool) || !only.truthy()) return wrongResource();
    if (only.name() == "cluster")
      return ResourcePattern{.kind = ResourcePattern::Kind::kCluster, .database = {}, .collection = {}};
    if (only.name() == "anyResource")
      return ResourcePattern{.kind = ResourcePattern::Kind::kAny, .database = {}, .collection = {}};
    return wrongResource();
  }
  const bson::Element db = resource["db"], collection = resource["collection"];
  if (!db.is(bson::Type::kString) || !collection.is(bson::Type::kString)) return wrongResource();
  if (db.asString().size() + collection.asString().size() > kMaxNameBytes)
    return Status(ErrorCode::kBadValue, "the names of a resource are longer than those of a collection may be");
  return ResourcePattern{.database = std::string(db.asString()), .collection = std::string(collection.asString())};
}

enum class UnknownActions { kRefuse, kIgnore };

StatusWith<ActionSet> parseActions(bson::View names, UnknownActions unknown) {
  ActionSet set;
  for (const bson::Element& e : names) {
    const auto name = e.toStringOr();
    if (name == "anyAction") {
      set.set();
    } else if (const auto action = actionByName(name)) {
      set.set(static_cast<size_t>(*action));
    } else if (unknown == UnknownActions::kRefuse) {
      constexpr size_t kMaxShown = 100;
      return Status(ErrorCode::kBadValue,
                    "Unrecognized action privilege strings: " + std::string(name.substr(0, kMaxShown)));
    }
  }
  return set;
}

StatusWith<Privilege> parse(const bson::Element& given, UnknownActions unknown) {
  if (!given.is(bson::Type::kDocument))
    return Status(ErrorCode::kTypeMismatch, "a privilege must be a document {resource: {...}, actions: [...]}, not a " +
                                                std::string(bson::typeName(given.type())));
  const bson::View privilege = given.asDocument();
  const bson::Element resource = privilege["resource"], actions = privilege["actions"];
  if (!resource.is(bson::Type::kDocument) || !actions.is(bson::Type::kArray) || privilege.count() != 2)
    return Status(ErrorCode::kFailedToParse, "a privilege has two fields: resource, a document, and actions, an array");
  TROUPE_ASSIGN(auto pattern, parseResource(resource.asDocument()));
  TROUPE_ASSIGN(const auto set, parseActions(actions.asArray(), unknown));
  return Privilege{std::move(pattern), set};
}

}  // namespace

StatusWith<Privilege> parsePrivilege(const bson::Element& given) {
  TROUPE_ASSIGN(auto privilege, parse(given, UnknownActions::kRefuse));
  if (privilege.actions.none()) return Status(ErrorCode::kBadValue, "a privilege needs an action in \"actions\"");
  return privilege;
}

std::optional<Privilege> storedPrivilege(const bson::Element& stored) {
  auto privilege = parse(stored, UnknownActions::kIgnore);
  if (!privilege.isOK() || privilege->actions.none()) return std::nullopt;
  return std::move(*privilege);
}

bson::Document toDocument(const Privilege& privilege) {
  PrivilegeSet one;
  one.add(privilege.resource, privilege.actions);
  return bson::Document(one.toArray().element().asArray().first().asDocument());
}

RoleName roleNameOf(bson::View named) {
  return {std::string(named["role"].toStringOr()), std::string(named["db"].toStringOr())};
}

bson::Document toDocument(const RoleName& role) { return bson::doc("role", role.role, "db", role.database); }

std::string toString(const RoleName& role) { return role.role + "@" + role.database; }

}  // namespace troupe::auth
