#pragma once
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "actors/machines/collection_store.hpp"
#include "actors/machines/primary_only_service.hpp"
#include "actors/replication/replica_view.hpp"
#include "supervisors/supervision/tree.hpp"

namespace troupe::supervisors {

/// Dependencies that a node gives to its services; outlives them.
struct ServiceParts {
  std::shared_ptr<machines::StorageAccess> storage;
  const replication::Membership* membership = nullptr;  ///< null on a node that stands alone, which is its own primary
  /// As ServiceLimits::term.
  std::optional<int64_t> term() const {
    if (!membership) return 0;
    const auto now = membership->view();
    return now->isWritable() ? std::optional(now->topology.memory.term) : std::nullopt;
  }
};

/// A service of an extension on every node that holds data: an actor with the path `servicePath(name)`. If it fails too
/// often it is set aside, and the rest of the node goes on; a start does not wait for one that has failed.
struct Service {
  std::string name;
  bool primaryOnly =
      false;  ///< it is told of each change of the node's role (machines::BecomePrimary, machines::StepDown)
  std::function<ChildSpec(const ServiceParts&)> make;
};

/// "/node/services/<name>": where messages to a service go (`kReceiver`).
std::string servicePath(std::string_view name);

/// An actor of type A, made as A(args...) for each of its lives.
template <class A, class... Args>
Service service(std::string name, Args... args) {
  auto make = [name, args...](const ServiceParts&) { return permanent<A>(name, args...).park(); };
  return {std::move(name), false, std::move(make)};
}

/// The machines of type M, one for each document of `collection` ("database.collection"), while this node is primary.
/// Throws std::invalid_argument for a name that no collection may have.
template <machines::MachineType M>
Service primaryOnly(std::string name, std::string_view collection, machines::HostOptions<M> options = {}) {
  const auto ns = storage::Namespace::parse(collection);
  if (!ns.isOK()) throw std::invalid_argument(ns.status().reason());
  auto make = [name, ns = *ns, options = std::move(options)](const ServiceParts& parts) {
    std::shared_ptr<machines::DocumentStore> documents =
        std::make_shared<machines::CollectionStore>(*parts.storage, ns);
    machines::ServiceLimits limits;
    limits.term = [parts] { return parts.term(); };
    return permanent<machines::PrimaryOnlyService<M>>(name, std::move(documents), options, limits).park();
  };
  return {std::move(name), true, std::move(make)};
}

}  // namespace troupe::supervisors
