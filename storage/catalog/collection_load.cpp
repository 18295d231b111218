#include "storage/catalog/collection_load.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "storage/oplog/write_slots.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {

namespace {

bool isPlain(const Collection& collection) {
  if (collection.isView() || collection.options().capped || collection.isClustered()) return false;
  const auto isOther = [](const auto& index) { return index->ready && !index->spec.idIndex; };
  return collection.idIndex() && std::ranges::none_of(collection.indexes(), isOther);
}

Status isNotFilled(const std::string& why) { return {ErrorCode::kIllegalOperation, why}; }

}  // namespace

CollectionLoad::CollectionLoad(CollectionPtr collection, size_t maxKeyBytes)
    : collection_(std::move(collection)), maxKeyBytes_(maxKeyBytes) {
  keys_.push_back({.index = collection_->idIndex(), .rows = {}, .load = {}});
  for (const auto& index : collection_->indexes())
    if (!index->spec.idIndex) keys_.push_back({.index = index.get(), .rows = {}, .load = {}});
}

StatusWith<std::unique_ptr<CollectionLoad>> CollectionLoad::begin(Catalog& catalog, const bson::Uuid& uuid,
                                                                  size_t maxKeyBytes) {
  const CollectionPtr collection = catalog.snapshot()->find(uuid);
  if (!collection) return Status(ErrorCode::kNamespaceNotFound, "there is no collection " + uuid.toString());
  Engine& engine = catalog.engine();
  if (engine.initialDataTimestamp() != bson::Timestamp{}) return isNotFilled("the data of this node have a time");
  if (!isPlain(*collection)) return isNotFilled(collection->ns().toString() + " is written to in units of work");
  std::unique_ptr<CollectionLoad> load(new CollectionLoad(collection, maxKeyBytes));
  TROUPE_ASSIGN(load->records_, engine.bulkLoad(collection->records().table()));
  for (Keys& keys : load->keys_) {
    TROUPE_ASSIGN(keys.load, engine.bulkLoad(keys.index->access->table()));
  }
  return load;
}

Status CollectionLoad::add(bson::View document) {
  if (!document["_id"].ok())
    return {ErrorCode::kInvalidIdField, "a document of " + collection_->ns().toString() + " has no _id"};
  TROUPE_TRY(records_->add(RecordKey(++last_), document.bytes()));
  bytes_ += static_cast<int64_t>(document.size());
  for (Keys& keys : keys_) TROUPE_TRY(addKeys(keys, document));
  if (last_ == std::numeric_limits<uint32_t>::max()) keyBytes_ = maxKeyBytes_;  // numbers of a sorter end here
  return Status::OK();
}

Status CollectionLoad::addKeys(Keys& keys, bson::View document) {
  const IndexEntry& index = *keys.index;
  if (!index.covers(document)) return Status::OK();
  TROUPE_TRY(keysOf(index, document, KeyLimits::none(), Unindexable::kHasNoKeys, scratch_));
  if (scratch_.multikey) index.state->setVisible(scratch_.paths);  // its row is written when the build ends
  const RecordId id(last_);
  const size_t before = keys.rows.bytes();
  for (const IndexKey& key : scratch_.keys) {
    row_.clear();
    value_.clear();
    index.access->appendRow(key, id, row_, value_);
    keys.rows.add(row_, value_, static_cast<uint32_t>(last_));
  }
  keyBytes_ += keys.rows.bytes() - before;
  return Status::OK();
}

Status CollectionLoad::finishRecords() {
  TROUPE_TRY(records_->finish());
  collection_->records().correctSize(last_, bytes_);
  findReplaced();
  return Status::OK();
}

/// Of records with the same `_id` the last one counts.
void CollectionLoad::findReplaced() {
  RowSorter& ids = keys_.front().rows;
  ids.sort();
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    if (ids[i].key == ids[i + 1].key) replaced_.push_back(ids[i].number);
  std::ranges::sort(replaced_);
}

Status CollectionLoad::finishIndex(size_t index) {
  Keys& keys = keys_[index];
  RowSorter rows = std::exchange(keys.rows, {});
  rows.sort();
  for (size_t i = 0; i < rows.size(); ++i) {
    const RowSorter::Row row = rows[i];
    if (!std::ranges::binary_search(replaced_, row.number)) TROUPE_TRY(keys.load->add(row.key, row.value));
  }
  return keys.load->finish();
}

Status CollectionLoad::removeReplaced(RecoveryUnit& unit) {
  if (replaced_.empty()) return Status::OK();
  WriteUnitOfWork work(unit);
  RecordStore& records = collection_->records();
  TROUPE_TRY(admitDerived(unit, collection_->ns(), {records.table().id}));
  for (const uint32_t number : replaced_) {
    int64_t size = 0;
    const auto measure = [&](bson::View document) { size = static_cast<int64_t>(document.size()); };
    TROUPE_TRY(records.find(unit, RecordId(number), measure).status());
    TROUPE_TRY(records.remove(unit, RecordId(number), size));
  }
  return work.commit();
}

}  // namespace troupe::storage
