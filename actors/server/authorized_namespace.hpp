#pragma once
#include <string>
#include <utility>
#include <vector>

#include "messaging/auth/roles.hpp"
#include "storage/catalog/namespace.hpp"

namespace troupe::server {

/// A namespace on which the client of an operation has the privileges that its command needs. Everything that gives a
/// collection to a command asks for one, and only actors/server/namespace_resolution.cpp makes them. Value type; holds
/// for the operation it was made for.
class AuthorizedNamespace : public storage::Namespace {
 private:
  friend class NamespaceResolution;
  explicit AuthorizedNamespace(storage::Namespace ns) : storage::Namespace(std::move(ns)) {}
};

/// A database whose collections the client may look through, as a whole.
class AuthorizedDatabase {
 public:
  const std::string& name() const { return name_; }

 private:
  friend class NamespaceResolution;
  explicit AuthorizedDatabase(std::string_view name) : name_(name) {}
  std::string name_;
};

/// The right to look through the catalog as a whole, as operators do.
class CatalogInspection {
  friend class NamespaceResolution;
  CatalogInspection() = default;
};

/// What was checked for an operation, so that a cursor's next commands can check it again.
struct Grant {
  auth::Action action;
  auth::Resource::Kind kind;
  std::string database, collection;

  static Grant of(auth::Action action, const auth::Resource& resource) {
    return {action, resource.kind, std::string(resource.database), std::string(resource.collection)};
  }
  auth::Resource resource() const { return {kind, database, collection}; }
};

}  // namespace troupe::server
