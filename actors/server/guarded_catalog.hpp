#pragma once
#include <optional>
#include <vector>

#include "actors/server/authorized_namespace.hpp"
#include "storage/catalog/catalog.hpp"
#include "storage/catalog/catalog_view.hpp"

namespace troupe::server {

/// The catalog as the snapshot of an operation sees it, for authorised names. Ends with the snapshot, as the
/// CatalogView behind it.
class CatalogReader {
 public:
  explicit CatalogReader(storage::CatalogView& view) : view_(&view) {}

  /// A collection or view of the snapshot's time; null when there was none. Errors: those of CatalogView::find.
  StatusWith<storage::CollectionPtr> find(const AuthorizedNamespace& ns) const { return view_->find(ns); }
  /// All collections and views. Errors: those of CatalogView::find.
  StatusWith<std::vector<storage::CollectionPtr>> everything(const CatalogInspection&) const {
    return view_->collections();
  }
  /// The collections and views of a database, sorted by name. Errors: those of CatalogView::find.
  StatusWith<std::vector<storage::CollectionPtr>> collections(const AuthorizedDatabase& database) const {
    return view_->collections(database.name());
  }

 private:
  storage::CatalogView* view_;
};

/// The node's catalog as commands use it: names become collections only after the client's privileges were checked.
/// Thread-safe; the catalog outlives it.
class GuardedCatalog {
 public:
  explicit GuardedCatalog(storage::Catalog& catalog) : catalog_(catalog) {}

  /// The latest version of a collection or view; null when there is none.
  storage::CollectionPtr find(const AuthorizedNamespace& ns) const { return catalog_.find(ns); }
  /// The latest versions of a database's collections and views, sorted by name.
  std::vector<storage::CollectionPtr> collections(const AuthorizedDatabase& database) const {
    return catalog_.snapshot()->collections(database.name());
  }
  storage::PendingDatabaseDrops& databaseDrops() const { return catalog_.pendingDrops(); }
  /// The catalog that fits the unit's snapshot, which is opened with it unless it is open. Errors: those of
  /// CatalogView::open.
  StatusWith<CatalogReader> read(storage::RecoveryUnit& unit) const {
    TROUPE_ASSIGN(storage::CatalogView* const view, storage::CatalogView::open(catalog_, unit));
    return CatalogReader(*view);
  }
  /// Whether a name stands for something; for counting by names, which clients see by their privileges only. Nothing is
  /// known while the catalog is closed.
  bool exists(const storage::Namespace& ns) const {
    const storage::CatalogPtr latest = catalog_.snapshot();
    return !latest->closed() && latest->find(ns) != nullptr;
  }
  /// The UUID of a collection, for comparing it with one that a client has given; nothing for views and where there is
  /// none.
  std::optional<bson::Uuid> uuidOf(const storage::Namespace& ns) const {
    const auto collection = catalog_.find(ns);
    return collection && !collection->isView() ? std::optional(collection->uuid()) : std::nullopt;
  }
  /// The name of a collection, which the caller shows to a client only if its privileges reach it.
  std::optional<storage::Namespace> nameOf(const bson::Uuid& uuid) const { return catalog_.snapshot()->nameOf(uuid); }
  /// The sorted names of all databases that are not empty. A caller shows a client only those its privileges reach
  /// (NamespaceResolution::visibleDatabase).
  std::vector<std::string> databaseNames() const { return catalog_.snapshot()->databases(); }

  // Of the catalog as a whole.
  Status flush() const { return catalog_.flush(); }
  Status checkpoint(const storage::CheckpointOptions& options) const { return catalog_.checkpoint(options); }
  bool isReplicated() const { return catalog_.hooks().replicated; }
  size_t pendingDrops() const { return catalog_.reaper().size(); }

  /// The whole catalog, for work of the node itself, and to be handed on together with a collection that was found
  /// here. A tidy rule (`guarded_catalog`) finds commands that look something up in it.
  storage::Catalog& unguarded() const { return catalog_; }

 private:
  storage::Catalog& catalog_;
};

}  // namespace troupe::server
