#include "storage/catalog/namespace.hpp"

#include <algorithm>
#include <array>

#include "messaging/bson/validate.hpp"

namespace troupe::storage {
namespace {

Status invalidName(std::string reason) { return {ErrorCode::kInvalidNamespace, std::move(reason)}; }

/// Names after "system." that the server makes or reads itself; those ending in a dot are prefixes.
constexpr std::array<std::string_view, 15> kSystemNames = {
    "users",    "roles",       "version", "views",     "js",           "profile",   "buckets.",   "keys",
    "sessions", "indexBuilds", "replset", "preimages", "backup_users", "new_users", "rollback.id"};

bool knownSystemName(std::string_view name) {
  return std::any_of(kSystemNames.begin(), kSystemNames.end(), [&](std::string_view known) {
    return known.ends_with('.') ? name.starts_with(known) : name == known;
  });
}

}  // namespace

Namespace::Namespace(std::string_view db, std::string_view collection) : dbSize_(db.size()) {
  full_.reserve(db.size() + 1 + collection.size());
  full_ += db;
  if (collection.empty()) return;
  full_ += '.';
  full_ += collection;
}

Namespace Namespace::split(std::string_view full) {
  const size_t dot = full.find('.');
  if (dot == std::string_view::npos) return {full, {}};
  return {full.substr(0, dot), full.substr(dot + 1)};
}

StatusWith<Namespace> Namespace::parse(std::string_view full) {
  if (full.find('.') == std::string_view::npos)
    return invalidName("Invalid namespace specified '" + std::string(full) + "'");
  Namespace ns = split(full);
  TROUPE_TRY(validateNamespace(ns));
  return ns;
}

Status validateDatabaseName(std::string_view db) {
  if (db.size() > kMaxDatabaseNameBytes)
    return invalidName("db name must be at most 63 characters, found: " + std::to_string(db.size()));
  const auto forbidden = [](char c) {
    return c == '/' || c == '\\' || c == '.' || c == ' ' || c == '"' || c == '$' || c == '\0';
  };
  if (db.empty() || std::any_of(db.begin(), db.end(), forbidden))
    return invalidName("Invalid database name: '" + std::string(db) + "'");
  return Status::OK();
}

Status validateNamespace(const Namespace& ns) {
  TROUPE_TRY(validateDatabaseName(ns.db()));
  const std::string_view name = ns.collection();
  if (name.empty()) return invalidName("Invalid namespace specified '" + std::string(ns.db()) + ".'");
  if (name.find('\0') != std::string_view::npos) return invalidName("namespaces cannot have embedded null characters");
  if (name.front() == '.') return invalidName("Collection names cannot start with '.': " + std::string(name));
  if (name.back() == '.') return invalidName("Collection names cannot end with '.': " + std::string(name));
  if (ns.toString().size() > kMaxNamespaceBytes)
    return invalidName("Fully qualified namespace is too long. Namespace: " + ns.toString() + " Max: 255");
  return Status::OK();
}

Status validateForCreate(const Namespace& ns) {
  TROUPE_TRY(validateNamespace(ns));
  if (!bson::isUtf8(ns.toString()))
    return invalidName("Invalid namespace: it is not UTF-8");  // clients read names as strings
  const std::string_view name = ns.collection();
  if (name.find('$') != std::string_view::npos && !(ns.isLocal() && name == "oplog.$main"))
    return invalidName("Invalid collection name: " + std::string(name));
  const bool systemCollection = name == "system" || ns.isSystem();
  if (systemCollection && !(ns.isSystem() && (ns.db() == "config" || knownSystemName(name.substr(7)))))
    return invalidName("Invalid system namespace: " + ns.toString());
  return Status::OK();
}

}  // namespace troupe::storage
