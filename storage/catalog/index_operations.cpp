#include "storage/catalog/index_operations.hpp"

#include <algorithm>

#include "storage/catalog/catalog_publish.hpp"
#include "storage/index/document_text.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/transaction/recovery_unit.hpp"

namespace troupe::storage {
namespace {

using bson::Type;

Status checkFilter(const Catalog& catalog, const Collection& collection, const IndexSpec& spec) {
  if (!spec.partialFilter) return Status::OK();
  if (!catalog.hooks().makeFilter) return {ErrorCode::kCannotCreateIndex, "partial indexes cannot be served here"};
  return catalog.hooks().makeFilter(*spec.partialFilter, collection.collator()).status();
}

/// Whether the index exists already; errors when it contradicts another.
StatusWith<bool> existsAmong(const IndexSpec& spec, std::span<const IndexPtr> indexes) {
  for (const auto& index : indexes) {
    TROUPE_ASSIGN(const SpecMatch match, compareSpecs(spec, index->spec));
    if (match == SpecMatch::kIdentical) return true;
  }
  return false;
}

StatusWith<std::vector<std::string>> nameFor(const Collection& collection, std::string_view name) {
  const IndexEntry* cluster = collection.clusterKey() ? collection.clusterKey().get() : collection.idIndex();
  if (collection.isClustered() && cluster && name == collection.shownName(*cluster))
    return Status(ErrorCode(5979800), "cannot drop the clustered index");
  if (name == "_id_") return Status(ErrorCode::kInvalidOptions, "cannot drop _id index");
  if (!collection.findIndex(name))
    return Status(ErrorCode::kIndexNotFound, "index not found with name [" + std::string(name) + "]");
  return std::vector<std::string>{std::string(name)};
}

StatusWith<std::vector<std::string>> namesForKey(const Collection& collection, bson::View key) {
  std::vector<std::string> names;
  if (collection.clusterKey() && collection.clusterKey()->spec.key.view() == key)
    return Status(ErrorCode(5979800), "cannot drop the clustered index");
  for (const auto& index : collection.indexes())
    if (index->spec.key.view() == key) names.push_back(index->spec.name);
  if (names.empty()) return Status(ErrorCode::kIndexNotFound, "can't find index with key: " + documentText(key));
  if (names.size() > 1)
    return Status(ErrorCode::kAmbiguousIndexKeyPattern, std::to_string(names.size()) + " indexes found for key: " +
                                                            documentText(key) + ", identify by name instead.");
  if (names[0] == "_id_") return Status(ErrorCode::kInvalidOptions, "cannot drop _id index");
  return names;
}

IndexPtr entryOf(const Collection& collection, std::string_view name) {
  return *std::ranges::find_if(collection.indexes(), [&](const IndexPtr& index) { return index->spec.name == name; });
}

bson::Uuid buildOf(const IndexEntry& index) { return index.buildUuid.value_or(bson::Uuid{}); }

/// The caller has reserved the slot, and tells the observers.
StatusWith<CollectionPtr> takeIndexesOut(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                         const std::vector<std::string>& names) {
  CatalogEntry entry = collection->toEntry();
  for (const auto& name : names) {
    const IndexPtr index = entryOf(*collection, name);
    std::erase_if(entry.indexes, [&](const IndexMetadata& metadata) { return metadata.ident == index->ident; });
    dropTableOnCommit(catalog, unit, index->ident, index->access);
  }
  return publishVersion(catalog, unit, entry, collection);
}

}  // namespace

StatusWith<std::vector<IndexSpec>> newIndexes(const Catalog& catalog, const Collection& collection,
                                              const std::vector<bson::View>& specs) {
  std::vector<IndexSpec> wanted;
  for (const auto& view : specs) {
    TROUPE_ASSIGN(IndexSpec spec, parseIndexSpec(view, collection.options().collation));
    if (spec.idIndex && collection.hasIdKey() && spec.collation != collection.options().collation)
      return Status(ErrorCode::kBadValue,
                    "The _id index must have the same collation as the collection. Index collation: " +
                        documentText(spec.collation) +
                        ", collection collation: " + documentText(collection.options().collation));
    TROUPE_TRY(checkFilter(catalog, collection, spec));
    if (spec.expireAfterSeconds && collection.isCapped())
      return Status(ErrorCode::kCannotCreateIndex, "Cannot create TTL index on a capped collection");
    if (spec.idIndex && collection.clusterKey()) continue;  // the records are in that order already
    TROUPE_ASSIGN(const bool exists, existsAmong(spec, collection.indexes()));
    if (exists) continue;
    for (const auto& other : wanted) {
      TROUPE_ASSIGN(const SpecMatch match, compareSpecs(spec, other));
      if (match == SpecMatch::kIdentical)
        return Status(ErrorCode::kIndexAlreadyExists, "Identical index already exists: " + spec.name);
    }
    wanted.push_back(std::move(spec));
    if (collection.indexes().size() + wanted.size() > kMaxIndexesPerCollection)
      return Status(ErrorCode::kCannotCreateIndex, "add index fails, too many indexes for " +
                                                       collection.ns().toString() +
                                                       " key:" + documentText(wanted.back().key));
  }
  return wanted;
}

StatusWith<std::vector<bson::Uuid>> buildsUnderWay(const Collection& collection, const std::vector<bson::View>& specs) {
  std::vector<bson::Uuid> builds;
  for (const auto& view : specs) {
    TROUPE_ASSIGN(const IndexSpec spec, parseIndexSpec(view, collection.options().collation));
    for (const auto& index : collection.indexes()) {
      if (index->ready) continue;
      TROUPE_ASSIGN(const SpecMatch match, compareSpecs(spec, index->spec));
      const bson::Uuid build = index->buildUuid.value_or(bson::Uuid{});
      if (match == SpecMatch::kIdentical && std::ranges::find(builds, build) == builds.end()) builds.push_back(build);
    }
  }
  return builds;
}

StatusWith<CollectionPtr> createEmptyIndex(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                           const IndexSpec& spec) {
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, collection->ns()));
  CatalogEntry entry = collection->toEntry();
  TROUPE_ASSIGN(auto index, createIndexTable(catalog, unit, entry.ns, spec, std::nullopt));
  entry.indexes.push_back(std::move(index));
  TROUPE_ASSIGN(auto after, publishVersion(catalog, unit, entry, collection));
  TROUPE_TRY(tellObservers({after.get()}, [&](WriteObserver& o) { return o.onCreateIndex(unit, *after, spec, slot); }));
  return after;
}

StatusWith<CollectionPtr> copyIndexes(Catalog& catalog, RecoveryUnit& unit, const Collection& from, CollectionPtr to) {
  for (const auto& index : from.indexes()) {
    if (index->spec.idIndex || !index->ready) continue;
    TROUPE_ASSIGN(to, createEmptyIndex(catalog, unit, to, index->spec));
  }
  return to;
}

StatusWith<CollectionPtr> dropIndexes(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                      const std::vector<std::string>& names) {
  CollectionPtr last = collection;
  for (const auto& name : names) {
    TROUPE_TRY(nameFor(*last, name).status());
    const IndexPtr index = entryOf(*last, name);
    TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, collection->ns()));
    TROUPE_ASSIGN(auto next, takeIndexesOut(catalog, unit, last, {name}));
    TROUPE_TRY(
        tellObservers({last.get()}, [&](WriteObserver& o) { return o.onDropIndex(unit, *last, index->spec, slot); }));
    last = std::move(next);
  }
  return last;
}

std::vector<bson::Uuid> buildsIn(const Collection& collection) {
  std::vector<bson::Uuid> builds;
  for (const auto& index : collection.indexes())
    if (!index->ready && std::ranges::find(builds, buildOf(*index)) == builds.end()) builds.push_back(buildOf(*index));
  return builds;
}

StatusWith<CollectionPtr> takeBuildOut(Catalog& catalog, RecoveryUnit& unit, const CollectionPtr& collection,
                                       const bson::Uuid& build) {
  std::vector<std::string> names;
  std::vector<IndexSpec> specs;
  for (const auto& index : collection->indexes()) {
    if (index->ready || buildOf(*index) != build) continue;
    names.push_back(index->spec.name);
    specs.push_back(index->spec);
  }
  if (names.empty()) return collection;
  TROUPE_ASSIGN(const OpTime slot, reserveSlot(unit, collection->ns()));
  TROUPE_ASSIGN(auto after, takeIndexesOut(catalog, unit, collection, names));
  const IndexBuildOperation done{
      .step = IndexBuildOperation::Step::kAbort, .collection = *after, .build = build, .specs = specs, .slot = slot};
  TROUPE_TRY(tellObservers({after.get()}, [&](WriteObserver& o) { return o.onIndexBuild(unit, done); }));
  return after;
}

StatusWith<std::vector<std::string>> indexNamesFor(const Collection& collection, const bson::Element& index) {
  if (index.is(Type::kString) && index.asString() == "*") {
    std::vector<std::string> names;
    for (const auto& each : collection.indexes())
      if (!each->spec.idIndex) names.push_back(each->spec.name);
    return names;
  }
  if (index.is(Type::kString)) return nameFor(collection, index.asString());
  if (index.is(Type::kDocument)) return namesForKey(collection, index.asDocument());
  if (!index.is(Type::kArray))
    return Status(ErrorCode::kTypeMismatch, "BSON field 'dropIndexes.index' is the wrong type '" +
                                                std::string(typeName(index.type())) +
                                                "', expected types '[string, object, array]'");
  std::vector<std::string> names;
  for (const auto& each : index.asArray()) {
    if (!each.is(Type::kString))
      return Status(ErrorCode::kTypeMismatch, "dropIndexes: the names of indexes must be strings");
    TROUPE_ASSIGN(auto name, nameFor(collection, each.asString()));
    if (std::find(names.begin(), names.end(), name[0]) != names.end())  // the first of them has dropped it
      return Status(ErrorCode::kIndexNotFound, "index not found with name [" + name[0] + "]");
    names.push_back(std::move(name[0]));
  }
  return names;
}

/// The answer of a command has to hold them: an operator who has resolved these asks again.
constexpr size_t kMostViolationBytes = size_t{8} << 20;

StatusWith<bson::Document> uniqueViolations(RecoveryUnit& unit, const Collection& collection, const IndexEntry& index) {
  bson::Builder out;
  TROUPE_ASSIGN(auto rows, index.access->cursor(unit));
  TROUPE_ASSIGN(auto records, collection.records().cursor(unit));
  std::string key;
  RecordId first;
  bool open = false;
  bool full = false;
  const auto addId = [&](const RecordId& id) -> Status {
    TROUPE_ASSIGN(const bool found, records.seekExact(id));
    if (!found) return Status::OK();
    const bson::Element shown = records.document()["_id"];
    full = out.size() + static_cast<size_t>(shown.size()) > kMostViolationBytes;
    if (!full) out.push(shown);
    return Status::OK();
  };
  for (;;) {
    if (unit.operation()) TROUPE_TRY(unit.operation()->checkForInterrupt({}));  // killed; its waiter minds the time
    TROUPE_ASSIGN(const bool found, rows.next());
    const bool same = found && rows.key() == key;
    if (open && (full || !same)) {
      out.close().close();
      open = false;
    }
    if (full || !found) return out.finish();
    if (same) {
      if (!open) {
        out.pushDocument().openArray("ids");
        TROUPE_TRY(addId(first));
      }
      open = true;
      if (!full) TROUPE_TRY(addId(rows.id()));
    } else {
      key = rows.key();
      first = rows.id();
    }
  }
}

}  // namespace troupe::storage
