#include "storage/catalog/collection_modification.hpp"

#include <algorithm>

#include "storage/catalog/catalog_publish.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {
namespace {

Status invalidChange(std::string reason) { return {ErrorCode::kInvalidOptions, std::move(reason)}; }

Status changeIndex(const Collection& collection, const CollectionChange& change, CatalogEntry& entry) {
  const IndexEntry* index = collection.findIndex(change.index);
  if (!index)
    return {ErrorCode::kIndexNotFound, "cannot find index " + change.index + " for ns " + collection.ns().toString()};
  TROUPE_TRY(checkIndexChange(index->spec, change.indexChange));
  const IndexSpec next = changedSpec(index->spec, change.indexChange);
  for (auto& metadata : entry.indexes)
    if (metadata.ident == index->ident) metadata.spec = next.stored;
  return Status::OK();
}

Status changeValidation(const CollectionChange& change, CollectionOptions& options) {
  if (change.validator) {
    if (change.validator->empty()) {
      options.validator.reset();
    } else {
      options.validator = *change.validator;
    }
  }
  if (change.validationLevel) options.validationLevel = *change.validationLevel;
  if (change.validationAction) options.validationAction = *change.validationAction;
  return Status::OK();
}

/// Lower limits remove nothing here, where all would be one unit of work: the inserts that follow do, each some.
Status changeCapped(const CollectionChange& change, CollectionOptions& options) {
  if (!change.cappedSize && !change.cappedMax) return Status::OK();
  if (!options.capped) return invalidChange("Collection must be capped.");
  if (change.cappedSize) {
    constexpr int64_t kMax = int64_t{1} << 50;
    if (*change.cappedSize < 1 || *change.cappedSize > kMax)
      return {ErrorCode::kBadValue, "BSON field 'cappedSize' value must be from 1 to " + std::to_string(kMax) +
                                        ", actual value '" + std::to_string(*change.cappedSize) + "'"};
    options.cappedSize = roundedCappedSize(*change.cappedSize);
  }
  if (change.cappedMax) options.cappedMax = std::max<int64_t>(0, *change.cappedMax);
  return Status::OK();
}

Status changeView(const Collection& collection, const CollectionChange& change, CollectionOptions& options) {
  if (!change.viewOn && !change.pipeline) return Status::OK();
  if (!collection.isView()) return invalidChange("option only supported on a view: viewOn, pipeline");
  if (change.viewOn) {
    if (change.viewOn->empty()) return {ErrorCode::kBadValue, "'viewOn' cannot be empty"};
    options.viewOn = *change.viewOn;
  }
  if (change.pipeline) options.pipeline = *change.pipeline;
  return Status::OK();
}

}  // namespace

Status checkIndexChange(const IndexSpec& spec, const SpecChange& wanted) {
  if (spec.idIndex && (wanted.hidden || wanted.prepareUnique || wanted.unique || wanted.expireAfterSeconds))
    return {ErrorCode::kBadValue, "can't change options of the _id index"};
  if (wanted.unique && !*wanted.unique) return {ErrorCode::kBadValue, "Cannot make index non-unique"};
  if (wanted.unique && !spec.unique && !spec.prepareUnique)
    return invalidChange("Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first.");
  if (wanted.expireAfterSeconds && spec.fields.size() > 1)
    return invalidChange("TTL indexes are single-field indexes, compound indexes do not support TTL");
  if (wanted.expireAfterSeconds && (*wanted.expireAfterSeconds < 0 || *wanted.expireAfterSeconds > INT32_MAX))
    return invalidChange(
        "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a different number");
  return Status::OK();
}

StatusWith<CollectionPtr> modifyCollection(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                           const CollectionChange& change) {
  const bool forCollections = !change.index.empty() || change.validator || change.validationLevel ||
                              change.validationAction || change.expireAfterSeconds || change.recordPreImages;
  if (collection->isView() && forCollections) return invalidChange("option not supported on a view");
  CatalogEntry entry = collection->toEntry();
  if (!change.index.empty()) TROUPE_TRY(changeIndex(*collection, change, entry));
  TROUPE_TRY(changeValidation(change, entry.options));
  TROUPE_TRY(changeCapped(change, entry.options));
  TROUPE_TRY(changeView(*collection, change, entry.options));
  if (change.expireAfterSeconds) {
    if (!entry.options.clusteredIndex)
      return invalidChange("'expireAfterSeconds' is only supported on collections with a clustered index");
    entry.options.expireAfterSeconds = change.expireAfterSeconds->seconds;
  }
  if (change.recordPreImages) entry.options.recordPreImages = *change.recordPreImages;
  // The new row must be readable: one that is not would keep the next start from opening the catalog.
  TROUPE_TRY(parseCollectionOptions(entry.options.toDocument(true), true).status());
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, collection->ns()));
  TROUPE_ASSIGN(auto after, publishVersion(catalog, unit, entry, collection));
  const ModifyOperation modified{.before = *collection, .after = *after, .change = change, .slot = slot};
  TROUPE_TRY(
      tellObservers({collection.get(), after.get()}, [&](WriteObserver& o) { return o.onModify(unit, modified); }));
  return after;
}

}  // namespace troupe::storage
