#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "messaging/bson/document.hpp"
#include "storage/catalog/collection_options.hpp"
#include "storage/catalog/namespace.hpp"
#include "storage/engine/engine.hpp"
#include "storage/index/key_generator.hpp"

namespace troupe::storage {

class RecoveryUnit;

/// One index as the catalog keeps it (CAT-002).
struct IndexMetadata {
  bson::Document spec;
  std::string ident;
  bool ready = true;
  bool multikey = false;
  MultikeyPaths paths;
  std::optional<bson::Uuid> buildUuid;
};

/// One row of `_mdb_catalog` (CAT-001). A view has no ident.
struct CatalogEntry {
  int64_t catalogId = 0;
  Namespace ns;
  std::string ident;
  CollectionOptions options;
  std::vector<IndexMetadata> indexes;

  /// {md: {ns, indexes: [...], options}, idxIdent: {name: ident}, ns, ident}
  bson::Document toDocument() const;
  static StatusWith<CatalogEntry> fromDocument(int64_t catalogId, bson::View document);
};

/// The tables `_mdb_catalog` and `_mdb_catalog_local`: catalog id (8 bytes, big-endian) -> entry. Thread-safe; every
/// call works in the caller's recovery unit, and writes need a unit of work, so that an entry changes together with
/// what it describes. Rows of unreplicated collections have a table of their own, which is always logged, as their
/// tables are: the other one is recovered from the oplog where replicated collections are (table_logging.hpp). Ids of
/// both are apart, so that an id tells the table.
/// A client cannot make a row larger than `kMaxClientRow`, with whatever options, names and specs; rows that are larger
/// already, and what another node has logged, stay readable.
/// On a member of a replica set each version of a replicated collection's row has a time: that of the unit's slot
/// (write_slots.hpp), or a given one. A write without either throws BrokenInvariant. The only exception is
/// `discardAtStart`.
class DurableCatalog {
 public:
  static constexpr std::string_view kIdent = "_mdb_catalog";
  static constexpr std::string_view kLocalIdent = "_mdb_catalog_local";  ///< of unreplicated collections
  static bool isIdent(std::string_view ident) { return ident == kIdent || ident == kLocalIdent; }
  /// Bytes of a row as a client may make it: as of a document, so that it can be shown as one. What the server adds
  /// later (another identifier, the UUID of a build) has its margin beyond that, and multikey state changes no row's
  /// size.
  static constexpr size_t kMaxClientRow = bson::kMaxDocumentSize;
  /// Opens or creates the tables. `random` gives the random part of idents.
  static StatusWith<std::unique_ptr<DurableCatalog>> open(Engine& engine, std::function<uint64_t()> random);

  /// The table of replicated collections' rows.
  const Table& table() const { return table_; }
  /// Moves rows of unreplicated collections out of the table of the others, where earlier versions had them. All
  /// entries, as they are then.
  StatusWith<std::vector<CatalogEntry>> moveLocalRows(RecoveryUnit& unit);
  /// Reads all entries in the order of their ids and remembers the highest ids.
  StatusWith<std::vector<CatalogEntry>> readAll(RecoveryUnit& unit);
  /// All entries as the unit's snapshot has them.
  StatusWith<std::vector<CatalogEntry>> entries(RecoveryUnit& unit) const;
  /// One entry; nothing when the snapshot has none.
  StatusWith<std::optional<CatalogEntry>> readEntry(RecoveryUnit& unit, int64_t catalogId) const;
  /// The raw document, as `$listCatalog` shows it (CAT-007); nothing when there is none.
  StatusWith<std::optional<bson::Document>> read(RecoveryUnit& unit, int64_t catalogId) const;
  /// Gives the entry a new id and writes it. Errors: BSONObjectTooLarge.
  Status add(RecoveryUnit& unit, CatalogEntry& entry);
  /// Replaces the entry's row. Multikey flags and path bits of the row stay on: a side transaction may have set them
  /// after the caller had looked (CAT-020). Errors: BSONObjectTooLarge, where the row becomes larger than it was and
  /// than a client's may be.
  Status put(RecoveryUnit& unit, CatalogEntry entry);
  Status remove(RecoveryUnit& unit, const Namespace& ns, int64_t catalogId);
  /// Replaces the row by one without the indexes whose tables this node has lost (SRC-004). It has no
  /// time: the node has no right to write yet, and what it says about this node's tables holds for readers of every
  /// time, which after a recovery are none. Throws BrokenInvariant after `endStart`.
  Status discardAtStart(RecoveryUnit& unit, const CatalogEntry& entry);
  /// Reading the catalog, at a start or after a rollback, begins and ends.
  void beginStart();
  void endStart() { starting_.store(false, std::memory_order_release); }
  /// Turns on an index's multikey flag and path bits (never off, IDX-006). Writes nothing when they are on.
  Status setMultikey(RecoveryUnit& unit, int64_t catalogId, std::string_view index, const MultikeyPaths& paths);
  /// Turns the flag on in a transaction beside `writer` that commits at once, at a time that is not later than any
  /// write that needs it (`timeAside`). Concurrent writers take turns: the first one writes, none conflicts (CAT-020,
  /// IDX-007). When the writer rolls back the flag stays on, which costs speed only.
  Status setMultikeyAside(RecoveryUnit& writer, int64_t catalogId, std::string_view index, const MultikeyPaths& paths);

  /// Rows written since the table was opened, committed or not (IDX-007).
  int64_t writes() const { return writes_.load(std::memory_order_relaxed); }

  /// "collection-7-8723654876234" or "index-..." (CAT-003).
  std::string newIdent(std::string_view kind);

 private:
  static constexpr int64_t kFirstLocalId = int64_t{1} << 62;

  DurableCatalog(Engine& engine, Table table, Table localTable, std::function<uint64_t()> random);
  static bool isLocal(int64_t catalogId) { return catalogId >= kFirstLocalId; }
  const Table& tableOf(int64_t catalogId) const { return isLocal(catalogId) ? localTable_ : table_; }
  /// Appends the entries of one table.
  Status readEntries(RecoveryUnit& unit, const Table& table, std::vector<CatalogEntry>& entries) const;
  /// For a write of the row, whose commit time is remembered.
  StatusWith<Session::CursorLease> writeCursor(RecoveryUnit& unit, const Namespace& ns, int64_t catalogId);
  Timestamp lastTimeOf(int64_t catalogId) const;
  /// Gives it a new id.
  Status insert(RecoveryUnit& unit, CatalogEntry& entry, const bson::Document& row);
  Status write(RecoveryUnit& unit, const CatalogEntry& entry);

  Table table_;
  Table localTable_;
  std::function<uint64_t()> random_;
  uint64_t identSuffix_;
  std::atomic<bool> starting_{false};
  std::atomic<int64_t> lastId_{0};
  std::atomic<int64_t> lastLocalId_{kFirstLocalId - 1};
  std::atomic<int64_t> writes_{0};
  std::mutex multikeyMutex_;  ///< held for one small transaction in memory
  mutable std::mutex timesMutex_;
  std::map<int64_t, Timestamp>
      lastTimes_;  ///< of versions of timed rows that were committed since the catalog was read
  std::atomic<int64_t> identCounter_{0};
};

}  // namespace troupe::storage
