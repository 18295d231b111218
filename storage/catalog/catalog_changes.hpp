#pragma once
#include <optional>
#include <vector>

#include "storage/catalog/catalog.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {

/// The catalog changes of one unit of work, published in two phases (CAT-018). Before the engine commits, the names and
/// UUIDs concerned are marked as pending in the catalog; after it has committed, the new versions take their places and
/// the marks go, in one step. A reader whose snapshot opened in between meets the marks and asks the durable catalog in
/// its own snapshot which version fits (catalog_view.hpp). A rollback removes the marks only (CAT-012).
/// Bound to its unit and used by its thread. The caller holds the exclusive locks of all collections concerned, so no
/// two units mark the same name.
class CatalogChanges final : public BoundState {
 public:
  /// The changes of the unit of work that is open on `unit`; made at the first call.
  static CatalogChanges& of(Catalog& catalog, RecoveryUnit& unit);
  /// The changes of the open unit of work; null when it has changed nothing in the catalog.
  static const CatalogChanges* in(const RecoveryUnit& unit) {
    return static_cast<const CatalogChanges*>(unit.unitState(UnitPart::kCatalogChanges));
  }

  /// `next` takes the place of `previous` (null: it is new). Its row has been written at the unit's present commit
  /// time.
  void put(CollectionPtr next, CollectionPtr previous) { add({std::move(previous), std::move(next), {}}); }
  void remove(CollectionPtr previous) { add({std::move(previous), nullptr, {}}); }

  /// Whether the unit has written the row of this catalog id.
  bool touches(int64_t catalogId) const;
  /// The name as the unit itself has changed it: null when it removed it; nothing when it did not touch it.
  std::optional<CollectionPtr> find(const Namespace& ns) const;
  std::optional<CollectionPtr> find(const bson::Uuid& uuid) const;

 private:
  struct Change {
    CollectionPtr previous, next;
    std::optional<Timestamp> written;  ///< nothing: the unit had no commit time yet
  };
  CatalogChanges(Catalog& catalog, RecoveryUnit& unit) : catalog_(catalog), unit_(unit) {}
  void add(Change change);
  void noteTimes(std::optional<Timestamp> commitTime);
  void mark(std::optional<Timestamp> commitTime);
  void publish(std::optional<Timestamp> commitTime);
  void withdraw();
  void clearMarks(CatalogSnapshot& snapshot) const;

  Catalog& catalog_;
  RecoveryUnit& unit_;
  std::vector<Change> changes_;
  bool marked_ = false;
};

}  // namespace troupe::storage
