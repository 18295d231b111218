#include "storage/oplog/copied_data.hpp"

#include "storage/catalog/catalog_operations.hpp"
#include "storage/catalog/catalog_view.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

namespace {

/// What is the same already stays untouched, as it mostly is when a source is read again.
Status putOne(RecoveryUnit& unit, const Collection& collection, bson::View document) {
  const bson::Element id = document["_id"];
  if (!id.ok()) return {ErrorCode::kInvalidIdField, "a document of " + collection.ns().toString() + " has no _id"};
  TROUPE_ASSIGN(const auto record, collection.findById(unit, id));
  if (!record) return collection.insert(unit, document).status();
  bson::Document before;
  TROUPE_TRY(collection.find(unit, *record, [&](bson::View found) { before = bson::Document(found); }).status());
  if (before.bytes() == document.bytes()) return Status::OK();
  return collection.update(unit, *record, before, document);
}

}  // namespace

Status createCopied(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns, const CollectionOptions& options) {
  if (options.uuid && catalog.snapshot()->find(*options.uuid)) return Status::OK();
  WriteUnitOfWork work(unit);
  TROUPE_TRY(createCollection(catalog, unit, ns, options).status());
  return work.commit();
}

Status putCopied(Catalog& catalog, RecoveryUnit& unit, const bson::Uuid& uuid, std::span<const bson::View> documents) {
  WriteUnitOfWork work(unit);
  TROUPE_ASSIGN(CatalogView* const view, CatalogView::open(catalog, unit));
  TROUPE_ASSIGN(const CollectionPtr collection, view->find(uuid));
  if (!collection) return {ErrorCode::kNamespaceNotFound, "there is no collection " + uuid.toString()};
  for (const bson::View document : documents) TROUPE_TRY(putOne(unit, *collection, document));
  return work.commit();
}

Status dropCopied(Catalog& catalog, RecoveryUnit& unit, const Namespace& ns) {
  WriteUnitOfWork work(unit);
  const CollectionPtr collection = catalog.snapshot()->find(ns);
  if (!collection) return Status::OK();
  TROUPE_TRY(dropCollection(catalog, unit, collection));
  return work.commit();
}

}  // namespace troupe::storage
