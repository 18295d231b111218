#include "storage/catalog/catalog_changes.hpp"

#include <algorithm>

namespace troupe::storage {
namespace {

/// Calls `use(ns, uuid or null, next or null)` for each name that a change concerns.
template <class Changes, class F>
void eachName(const Changes& changes, F&& use) {
  const auto uuidOf = [](const CollectionPtr& c) { return c->isView() ? nullptr : &c->uuid(); };
  for (const auto& change : changes) {
    if (change.previous && (!change.next || change.next->ns() != change.previous->ns()))
      use(change.previous->ns(), uuidOf(change.previous), CollectionPtr());
    if (change.next) use(change.next->ns(), uuidOf(change.next), change.next);
  }
}

}  // namespace

CatalogChanges& CatalogChanges::of(Catalog& catalog, RecoveryUnit& unit) {
  if (auto* made = static_cast<CatalogChanges*>(unit.unitState(UnitPart::kCatalogChanges))) return *made;
  std::unique_ptr<CatalogChanges> owned(new CatalogChanges(catalog, unit));
  CatalogChanges* changes = owned.get();
  unit.bindToUnit(UnitPart::kCatalogChanges, std::move(owned));
  unit.onPreCommit([changes](std::optional<Timestamp> commitTime) {
    changes->mark(commitTime);
    return Status::OK();
  });
  unit.onPublish([changes](std::optional<Timestamp> commitTime) { changes->publish(commitTime); },
                 [changes] { changes->withdraw(); });
  return *changes;
}

void CatalogChanges::add(Change change) {
  change.written = unit_.commitTimestamp();
  changes_.push_back(std::move(change));
}

bool CatalogChanges::touches(int64_t catalogId) const {
  return std::any_of(changes_.begin(), changes_.end(), [&](const Change& change) {
    return (change.next ? change.next : change.previous)->catalogId() == catalogId;
  });
}

std::optional<CollectionPtr> CatalogChanges::find(const Namespace& ns) const {
  std::optional<CollectionPtr> found;
  eachName(changes_, [&](const Namespace& name, const bson::Uuid*, const CollectionPtr& next) {
    if (name == ns) found = next;
  });
  return found;
}

std::optional<CollectionPtr> CatalogChanges::find(const bson::Uuid& uuid) const {
  std::optional<CollectionPtr> found;
  eachName(changes_, [&](const Namespace&, const bson::Uuid* each, const CollectionPtr& next) {
    if (each && *each == uuid) found = next;
  });
  return found;
}

/// Rows that were written before the unit had a commit time carry the one it has in the end.
void CatalogChanges::noteTimes(std::optional<Timestamp> commitTime) {
  for (Change& change : changes_) {
    if (!change.written) change.written = commitTime;
    if (change.next && change.written) change.next->minimumValid_ = change.written->asUint64();
  }
}

/// A version's minimum valid time is set before any reader can meet it, that is with its mark.
void CatalogChanges::mark(std::optional<Timestamp> commitTime) {
  noteTimes(commitTime);
  marked_ = true;
  catalog_.collections().update([&](CatalogSnapshot& snapshot) {
    eachName(changes_, [&](const Namespace& ns, const bson::Uuid* uuid, const CollectionPtr& next) {
      snapshot.markPending(ns, next);
      if (uuid) snapshot.markPending(*uuid, next);
    });
  });
  catalog_.reach(CatalogStep::kMarked);
}

void CatalogChanges::publish(std::optional<Timestamp> commitTime) {
  noteTimes(commitTime);
  catalog_.reach(CatalogStep::kCommitted);
  catalog_.collections().update([&](CatalogSnapshot& snapshot) {
    for (const Change& change : changes_) {
      const Timestamp since = change.written.value_or(Timestamp{});
      if (change.previous && (!change.next || change.next->ns() != change.previous->ns()))
        snapshot.remove(change.previous->ns(), since);
      if (change.next) snapshot.put(change.next, since);
    }
    clearMarks(snapshot);
  });
  catalog_.reach(CatalogStep::kPublished);
}

void CatalogChanges::withdraw() {
  if (!marked_) return;
  catalog_.collections().update([&](CatalogSnapshot& snapshot) { clearMarks(snapshot); });
}

void CatalogChanges::clearMarks(CatalogSnapshot& snapshot) const {
  eachName(changes_, [&](const Namespace& ns, const bson::Uuid* uuid, const CollectionPtr&) {
    snapshot.clearPending(ns);
    if (uuid) snapshot.clearPending(*uuid);
  });
}

}  // namespace troupe::storage
