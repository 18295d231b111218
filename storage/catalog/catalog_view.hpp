#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "storage/catalog/catalog.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

/// The catalog as one storage snapshot sees it: every collection it gives fits the rows the snapshot reads, in the
/// newest data and at a read timestamp (CAT-016, CAT-018, RDS-009). Bound to the unit's snapshot, ends with it, and
/// owns the versions rebuilt for it (CAT-017); collections it gave may be held longer. Used by the operation's thread.
class CatalogView final : public BoundState {
 public:
  /// The view of the unit's snapshot. A nested read of the same operation gets the one that is open (RDS-006).
  /// Otherwise opens the snapshot and the version of the catalog that fits it: takes the catalog, opens the snapshot,
  /// and does both again when the catalog, or the state of the operation's node, has changed meanwhile (CAT-019,
  /// RDS-004). Errors: SnapshotTooOld, InterruptedDueToReplStateChange (the catalog is closed), the engine's.
  static StatusWith<CatalogView*> open(Catalog& catalog, RecoveryUnit& unit);

  /// A collection or view of the snapshot's time; null when there was none. Changes of the unit of work itself
  /// are seen. Errors: the engine's, SnapshotUnavailable (its table is being dropped: the read time is older than the
  /// history kept).
  StatusWith<CollectionPtr> find(const Namespace& ns);
  StatusWith<CollectionPtr> find(const bson::Uuid& uuid);
  /// The collections and views of the snapshot's time, also those that have gone or got another name since: of one
  /// database, or of all where `db` is empty; sorted by database and name (CAT-006). Errors: those of `find`.
  StatusWith<std::vector<CollectionPtr>> collections(std::string_view db = {});
  /// For writing (CAT-021): WriteConflict unless the version that fits the snapshot is also the latest one. The caller
  /// holds the collection's lock.
  StatusWith<CollectionPtr> findForWrite(const Namespace& ns);

  /// The version of the catalog taken at set-up: the latest one then, not necessarily that of the read timestamp.
  const CatalogPtr& latest() const { return latest_; }
  /// Collections rebuilt so far.
  size_t rebuilt() const { return older_.size(); }

 private:
  CatalogView(Catalog& catalog, RecoveryUnit& unit, CatalogPtr latest, bool verify)
      : catalog_(catalog), unit_(unit), latest_(std::move(latest)), verify_(verify) {}
  template <class Key>
  StatusWith<CollectionPtr> findBy(const Key& key);
  template <class Key>
  StatusWith<CollectionPtr> verified(const Key& key, std::span<const CollectionPtr> candidates);
  template <class Key>
  StatusWith<CollectionPtr> search(const Key& key);
  template <class Key>
  StatusWith<CollectionPtr> older(int64_t catalogId, const Key& key);
  StatusWith<CollectionPtr> rebuild(const CatalogEntry& entry);
  StatusWith<std::vector<Namespace>> namesIn(std::string_view db);

  Catalog& catalog_;
  RecoveryUnit& unit_;
  CatalogPtr latest_;
  const bool verify_;  ///< the snapshot was not opened together with `latest_`: each lookup asks the durable catalog
  std::map<int64_t, CollectionPtr> older_;
};

}  // namespace troupe::storage
