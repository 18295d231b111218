#include "actors/machines/document_removals.hpp"

#include <algorithm>
#include <utility>

#include "storage/catalog/collection.hpp"
#include "storage/catalog/durable_catalog.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::machines {

void DocumentRemovals::report(const storage::Namespace& ns, Node& node, const Address& service) {
  const std::lock_guard lock(mutex_);
  Services& services = services_[ns.toString()];
  services.node = &node;
  if (std::find(services.told.begin(), services.told.end(), service) == services.told.end())
    services.told.push_back(service);
}

bool DocumentRemovals::observes(const storage::CatalogEntry& entry) const { return entry.ns.db() == kDatabase; }

Status DocumentRemovals::onDocuments(storage::RecoveryUnit& unit, const storage::Collection& collection,
                                     const storage::DocumentChange& change) {
  using Kind = storage::DocumentChange::Kind;
  if (change.kind == Kind::kTruncate) tellOnCommit(unit, collection.ns(), {});
  if (change.kind != Kind::kRemove) return Status::OK();
  for (const bson::View document : change.before) {
    bson::Builder key;
    key.append(document["_id"]);
    tellOnCommit(unit, collection.ns(), key.finish());
  }
  return Status::OK();
}

/// Another version of a collection has the same documents, unless it is called differently.
Status DocumentRemovals::onCollection(storage::RecoveryUnit& unit, const storage::Collection* before,
                                      const storage::Collection* after) {
  if (before && (!after || !(after->ns() == before->ns()))) tellOnCommit(unit, before->ns(), {});
  return Status::OK();
}

void DocumentRemovals::tellOnCommit(storage::RecoveryUnit& unit, const storage::Namespace& ns, bson::Document key) {
  Services services;
  {
    const std::lock_guard lock(mutex_);
    const auto found = services_.find(ns.toString());
    if (found == services_.end()) return;
    services = found->second;
  }
  unit.onCommit([services = std::move(services), key = std::move(key)](auto) {
    for (const Address& service : services.told) services.node->tell(service, local(DocumentRemoved{key}));
  });
}

}  // namespace troupe::machines
