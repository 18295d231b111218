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

Status DocumentRemovals::onRemove(storage::RecoveryUnit& unit, const storage::Collection& collection,
                                  const storage::RemoveOperation& removed) {
  bson::Builder key;
  key.append(removed.document["_id"]);
  return tellOnCommit(unit, collection.ns(), key.finish());
}

Status DocumentRemovals::onTruncate(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime&) {
  return tellOnCommit(unit, collection.ns(), {});
}

Status DocumentRemovals::onDrop(storage::RecoveryUnit& unit, const storage::Collection& collection, const OpTime&) {
  return tellOnCommit(unit, collection.ns(), {});
}

/// Under the old name there is nothing any more, under the new one other documents than before.
Status DocumentRemovals::onRename(storage::RecoveryUnit& unit, const storage::RenameOperation& renamed) {
  if (renamed.droppedTarget) TROUPE_TRY(tellOnCommit(unit, renamed.after.ns(), {}));
  return tellOnCommit(unit, renamed.before.ns(), {});
}

Status DocumentRemovals::tellOnCommit(storage::RecoveryUnit& unit, const storage::Namespace& ns, bson::Document key) {
  Services services;
  {
    const std::lock_guard lock(mutex_);
    const auto found = services_.find(ns.toString());
    if (found == services_.end()) return Status::OK();
    services = found->second;
  }
  unit.onCommit([services = std::move(services), key = std::move(key)](auto) {
    for (const Address& service : services.told) services.node->tell(service, local(DocumentRemoved{key}));
  });
  return Status::OK();
}

}  // namespace troupe::machines
