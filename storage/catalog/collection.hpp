#pragma once
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/catalog/collection_options.hpp"
#include "storage/catalog/durable_catalog.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/catalog/write_observer.hpp"
#include "storage/index/index_access.hpp"
#include "storage/index/index_spec.hpp"
#include "storage/records/record_store.hpp"

namespace troupe::storage {

/// What the keys of a document that the unit writes may take in each index. What another node has written already is
/// not refused here, where that would end replication; nor is anything that is removed.
KeyLimits keyLimits(const RecoveryUnit& unit);

/// Decides whether a partial index holds a document.
using DocumentFilter = std::function<bool(bson::View)>;
/// Makes a filter from a partialFilterExpression; given to the catalog by the layer that knows the query language.
using FilterFactory = std::function<StatusWith<DocumentFilter>(bson::View expression, const bson::Collator* collator)>;

/// State shared by all versions of one index (CAT-014): usage counters and the multikey flags, which only ever turn on
/// (IDX-006). Readers see a flag before the write that needs it commits, so a plan never trusts a stale "not multikey";
/// the catalog is written only when the durable flag is still missing (IDX-007). Thread-safe.
class IndexState {
 public:
  bool multikey() const { return multikey_.load(std::memory_order_acquire); }
  /// Bit i: component i of the field's path held an array.
  uint64_t path(size_t field) const { return paths_[field].load(std::memory_order_acquire); }
  MultikeyPaths paths(size_t fields) const;

  bool durable(const MultikeyPaths& paths) const;
  void setVisible(const MultikeyPaths& paths);
  void setDurable(const MultikeyPaths& paths);

  SuspectedKeys suspects;            ///< while a unique index is being built
  std::atomic<int64_t> accesses{0};  ///< $indexStats
  std::atomic<int64_t> sinceMillis{0};

 private:
  std::array<std::atomic<uint64_t>, kMaxIndexFields> paths_{};
  std::array<std::atomic<uint64_t>, kMaxIndexFields> durablePaths_{};
  std::atomic<bool> multikey_{false};
  std::atomic<bool> durable_{false};
};

/// One index of a collection version. Immutable but for the shared state.
struct IndexEntry {
  IndexSpec spec;
  std::string ident;
  bool ready = true;  ///< false while it is being built: writers keep it up, readers ignore it
  std::optional<bson::Uuid> buildUuid;
  std::shared_ptr<IndexState> state;
  std::shared_ptr<const IndexAccess> access;
  DocumentFilter filter;  ///< null unless partial

  bool multikey() const { return state->multikey(); }
  /// For planning: built and not hidden.
  bool usable() const { return ready && !spec.hidden; }
  /// Whether the index holds the document at all (partial indexes).
  bool covers(bson::View document) const { return !filter || filter(document); }
};
using IndexPtr = std::shared_ptr<const IndexEntry>;

/// What becomes of a document that an index cannot hold (KeyGenerator::isUnindexable).
enum class Unindexable : uint8_t {
  kRefused,    ///< an error
  kHasNoKeys,  ///< it is left out of the index
};
/// Keys of a document that the index covers. Errors: those of KeyGenerator::generate.
Status keysOf(const IndexEntry& index, bson::View document, const KeyLimits& limits, Unindexable unindexable,
              KeySet& out);
/// Keys of a document that the unit writes or indexes. One that another node has written is left out of an index that
/// cannot hold it where the log may tell of such a document: while the index is being built, and in a replay, which may
/// meet what was there before the index came or after it went.
Status keysToAdd(const RecoveryUnit& unit, const IndexEntry& index, bson::View document, KeySet& out);
/// Keys of a document that goes. One that the index cannot hold has none there: it may go, as it must before the build
/// of that index can end.
Status keysToRemove(const IndexEntry& index, bson::View document, KeySet& out);

/// One version of a collection or view: an immutable object, shared by all operations that use this version of the
/// catalog. Document writes go through it, so that data and all index keys change in one storage transaction (IDX-009).
/// Thread-safe. Writes need a unit of work on the recovery unit, and the collection's intent lock (IX) held by the
/// caller; inserts into capped collections need its exclusive lock, since they remove old ones. Errors of writes:
/// DuplicateKey, CannotIndexParallelArrays, CannotBuildIndexKeys, WriteConflict (retry the unit), BSONObjectTooLarge,
/// NotWritablePrimary and InterruptedDueToReplStateChange (write_slots.hpp).
class Collection {
 public:
  const Namespace& ns() const { return ns_; }
  const bson::Uuid& uuid() const { return *options_.uuid; }
  int64_t catalogId() const { return catalogId_; }
  const std::string& ident() const { return ident_; }
  const CollectionOptions& options() const { return options_; }
  /// Commit time of the schema change that made this version; reads before it need an older one (CAT-016). Zero: valid
  /// at every time.
  Timestamp minimumValid() const { return Timestamp::fromUint64(minimumValid_.load(std::memory_order_acquire)); }
  /// A later version has been published, or this one was rebuilt for an earlier time: writes through it are
  /// WriteConflict (CAT-021).
  bool superseded() const { return superseded_.load(std::memory_order_acquire); }
  /// WriteConflict through a version that is superseded; IllegalOperation where only the server writes: the oplog, and
  /// the state of a member.
  Status checkWritable(const RecoveryUnit& unit) const;
  bool isView() const { return options_.isView(); }
  bool isCapped() const { return options_.capped; }
  /// Its natural order is that of its `_id`. The records are the cluster key's rows, or (collections made before that
  /// was possible) lie in a table of their own with an `_id` index.
  bool isClustered() const { return options_.clusteredIndex.has_value(); }

  /// Not for views.
  RecordStore& records() const { return *records_; }
  const std::shared_ptr<RecordStore>& sharedRecords() const { return records_; }
  /// All indexes, `_id` first, including unfinished ones.
  std::span<const IndexPtr> indexes() const { return indexes_; }
  const IndexEntry* findIndex(std::string_view name) const;
  const IndexEntry* findIndexByKey(bson::View keyPattern) const;
  const IndexEntry* idIndex() const { return idIndex_; }
  /// The record store of a clustered collection, seen as an index on `_id`: its keys are the records' ids (CLU-002).
  /// Not among `indexes`: nothing writes to it but the record store. Null where records are numbered.
  const IndexPtr& clusterKey() const { return clusterKey_; }
  /// Whether a record is found by its `_id` without a scan.
  bool hasIdKey() const { return idIndex_ || clusterKey_; }
  /// All ways to records by key: the cluster key, if there is one, and the indexes.
  std::span<const IndexPtr> accessPaths() const { return accessPaths_; }
  /// The id of a document's record in a clustered collection: the key string of its `_id` (CLU-004).
  RecordId clusteredId(const bson::Element& id) const;
  /// An index's name as clients know it: a clustered collection's `_id` index may have been given one.
  std::string_view shownName(const IndexEntry& index) const;
  /// The default collator; null means bytewise.
  const bson::Collator* collator() const { return collator_.get(); }
  const std::shared_ptr<const bson::Collator>& sharedCollator() const { return collator_; }

  StatusWith<RecordId> insert(RecoveryUnit& unit, bson::View document) const;
  /// As `insert`, for a document of another collection whose place this one is to take: a duplicate that it brings
  /// along is not new, and an index with `prepareUnique` takes it (IDX-003).
  StatusWith<RecordId> insertCopy(RecoveryUnit& unit, bson::View document) const;
  /// All or none; `ids` gets the new ids when not empty.
  Status insertMany(RecoveryUnit& unit, std::span<const bson::View> documents, std::span<RecordId> ids = {}) const;
  Status update(RecoveryUnit& unit, const RecordId& id, bson::View before, bson::View after) const;
  /// Adds the document, or replaces the one of its `_id`, which is looked for at `guess` before the index is asked.
  /// Says where it lies.
  StatusWith<RecordId> put(RecoveryUnit& unit, bson::View document, const RecordId& guess) const;
  /// As `put`, for a document that is hardly ever there: its `_id` is looked for only where it stands in the way. For
  /// appliers, whose other keys nobody checks.
  StatusWith<RecordId> putNew(RecoveryUnit& unit, bson::View document) const;
  /// Replaces the document on which the cursor stands, without another search. `before` is its copy.
  Status updateAt(RecoveryUnit& unit, RecordCursor& at, bson::View before, bson::View after) const;
  Status remove(RecoveryUnit& unit, const RecordId& id, bson::View document) const;
  /// Whether a capped collection holds more than it may. Inserts remove a bounded number of documents beyond as much as
  /// they add, so that this may last for a while after its limits were lowered.
  bool exceedsCap() const;
  /// Removes the oldest documents of a capped collection that holds more than it may: as many as one unit of work
  /// should, and never the newest. Gives their bytes; 0: there was nothing to remove. Under its exclusive lock, as an
  /// insert.
  StatusWith<int64_t> trim(RecoveryUnit& unit) const;
  /// Removes all documents and all keys.
  Status truncate(RecoveryUnit& unit) const;
  /// Calls `use(View)` with the record; false when there is none.
  template <class F>
  StatusWith<bool> find(RecoveryUnit& unit, const RecordId& id, F&& use) const {
    return records_->find(unit, id, std::forward<F>(use));
  }
  /// The record with this `_id`, by the `_id` index (or by a scan where there is none).
  StatusWith<std::optional<RecordId>> findById(RecoveryUnit& unit, const bson::Element& id) const;

  /// Keeps an index's multikey state in step with keys about to be written (index builds, repair; writes do it
  /// themselves).
  Status noteMultikey(RecoveryUnit& unit, const IndexEntry& index, const KeySet& keys) const;
  /// The catalog row of this version, with the multikey state as it is now.
  CatalogEntry toEntry() const;
  /// Observers of this collection's writes.
  std::span<WriteObserver* const> observers() const { return observers_; }

 private:
  friend class CollectionMaker;
  friend class CatalogSnapshot;
  friend class CatalogChanges;
  void supersede() const { superseded_.store(true, std::memory_order_release); }
  enum class Origin : uint8_t { kNew, kCopied };
  Status indexDocument(RecoveryUnit& unit, const IndexEntry& index, const RecordId& id, bson::View document,
                       KeySet& scratch, Origin origin = Origin::kNew) const;
  StatusWith<RecordId> insertFrom(RecoveryUnit& unit, bson::View document, Origin origin) const;
  StatusWith<RecordId> insertRecord(RecoveryUnit& unit, bson::View document) const;
  /// The record and all keys, the key of `_id` first: a DuplicateKey leaves nothing behind.
  StatusWith<RecordId> insertByKey(RecoveryUnit& unit, bson::View document, KeySet& scratch) const;
  /// After documents were added to a capped collection, the newest under this id.
  Status trimCapped(RecoveryUnit& unit, std::span<const bson::View> added, const RecordId& newest) const;
  /// Removes the oldest documents before `newest` until the collection is within its limits, or as many as a unit of
  /// work should that adds so many documents and bytes. Gives their bytes.
  StatusWith<int64_t> removeOldest(RecoveryUnit& unit, const RecordId& newest, int64_t documents, int64_t bytes) const;
  /// First half of an update: checks it, reserves its slot and changes the keys; the record comes after.
  StatusWith<OpTime> prepareUpdate(RecoveryUnit& unit, const RecordId& id, bson::View before, bson::View after) const;
  Status tellUpdated(RecoveryUnit& unit, const RecordId& id, bson::View before, bson::View after,
                     const OpTime& slot) const;
  Status removeKeys(RecoveryUnit& unit, const RecordId& id, bson::View document) const;
  /// What an update or a removal keeps of its documents; nothing where no times are reserved for it.
  ImagePlan imagesOf(const RecoveryUnit& unit, bool removes, std::optional<int32_t> statement) const;
  /// The record and all keys of one new document.
  StatusWith<RecordId> insertDocument(RecoveryUnit& unit, bson::View document, KeySet& scratch,
                                      Origin origin = Origin::kNew) const;
  Status insertTogether(RecoveryUnit& unit, std::span<const bson::View> documents, std::span<RecordId> ids) const;
  Status tellInserted(RecoveryUnit& unit, std::span<const bson::View> documents, std::span<const RecordId> ids,
                      const WriteSlots& slots) const;
  Status removeAt(RecoveryUnit& unit, const RecordId& id, bson::View document, std::optional<int32_t> statement) const;

  Namespace ns_;
  int64_t catalogId_ = 0;
  std::string ident_;
  CollectionOptions options_;
  std::shared_ptr<RecordStore> records_;
  std::vector<IndexPtr> indexes_;
  IndexPtr clusterKey_;
  std::vector<IndexPtr> accessPaths_;
  const IndexEntry* idIndex_ = nullptr;
  std::shared_ptr<const bson::Collator> collator_;
  DurableCatalog* durable_ = nullptr;
  std::vector<WriteObserver*> observers_;
  // Known only when the unit that makes the version commits, or when the next one does.
  mutable std::atomic<uint64_t> minimumValid_{0};
  mutable std::atomic<bool> superseded_{false};
  std::vector<std::shared_ptr<const void>> tablesInUse_;  ///< of a rebuilt version: keep the reaper away (CAT-026)
};
using CollectionPtr = std::shared_ptr<const Collection>;

}  // namespace troupe::storage
