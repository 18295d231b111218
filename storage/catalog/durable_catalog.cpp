#include "storage/catalog/durable_catalog.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "messaging/bson/validate.hpp"
#include "messaging/errors/invariant.hpp"
#include "storage/engine/essential_table.hpp"
#include "storage/engine/ident.hpp"
#include "storage/operation/operation_context.hpp"
#include "storage/oplog/write_slots.hpp"
#include "storage/records/record_id.hpp"
#include "storage/transaction/write_unit_of_work.hpp"

namespace troupe::storage {
namespace {

using bson::Element;
using bson::Type;
using bson::View;

/// {"a.b": <one byte a component, 1 where an array was met>}
void appendPaths(bson::Builder& b, View keyPattern, const MultikeyPaths& paths) {
  b.openDocument("multikeyPaths");
  size_t field = 0;
  for (const auto& e : keyPattern) {
    const uint64_t bits = field < paths.size() ? paths[field] : 0;
    ++field;
    std::string bytes(static_cast<size_t>(std::count(e.name().begin(), e.name().end(), '.')) + 1, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bits >> std::min<size_t>(i, 63) & 1);
    b.append(e.name(), bson::Binary{bson::kBinaryGeneric, bytes});
  }
  b.close();
}

MultikeyPaths readPaths(const Element& e) {
  MultikeyPaths paths;
  if (!e.is(Type::kDocument)) return paths;
  for (const auto& field : e.asDocument()) {
    uint64_t bits = 0;
    const std::string_view bytes = field.is(Type::kBinary) ? field.asBinary().bytes : std::string_view();
    for (size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i]) bits |= uint64_t{1} << std::min<size_t>(i, 63);
    paths.push_back(bits);
  }
  return paths;
}

std::optional<bson::Uuid> readUuid(const Element& e) {
  if (!e.is(Type::kBinary) || e.asBinary().bytes.size() != 16) return std::nullopt;
  bson::Uuid uuid;
  std::memcpy(uuid.bytes.data(), e.asBinary().bytes.data(), 16);
  return uuid;
}

Status damagedRow(int64_t catalogId, const std::string& why) {
  return {ErrorCode::kDataCorruptionDetected,
          "the catalog's row " + std::to_string(catalogId) + " is damaged: " + why + "; start with --repair"};
}

bool isTableName(const Element& e) { return e.is(Type::kString) && checkIdent(e.asString()).isOK(); }

bool isIndex(const Element& e, View idents) {
  if (!e.is(Type::kDocument)) return false;
  const View row = e.asDocument();
  if (!row["spec"].is(Type::kDocument) || !row["ready"].is(Type::kBool) || !row["multikey"].is(Type::kBool))
    return false;
  const View spec = row["spec"].asDocument();
  return spec["name"].is(Type::kString) && spec["key"].is(Type::kDocument) &&
         isTableName(idents[spec["name"].asString()]);
}

/// Whether a document has the form of what `toDocument` writes. Views have no table.
bool isRow(View document) {
  if (!document["ns"].is(Type::kString) || !document["md"].is(Type::kDocument) ||
      !document["idxIdent"].is(Type::kDocument))
    return false;
  if (const Element ident = document["ident"]; ident && !isTableName(ident)) return false;
  const Namespace ns = Namespace::split(document["ns"].asString());
  const View md = document["md"].asDocument();
  if (ns.db().empty() || ns.collection().empty() || !md["options"].is(Type::kDocument) ||
      !md["indexes"].is(Type::kArray))
    return false;
  for (const auto& index : md["indexes"].asArray())
    if (!isIndex(index, document["idxIdent"].asDocument())) return false;
  return true;
}

/// A row of the catalog's table as a document, which is checked in full: rows are few, and all else depends on them.
/// What was written is read, however large it is: a start that refused it would refuse the whole node.
StatusWith<View> checkedRow(int64_t catalogId, std::string_view bytes) {
  const bson::ValidateOptions limits{.maxSize = std::numeric_limits<int32_t>::max(),
                                     .maxDepth = bson::kMaxInternalNesting};
  const auto size = bson::validate(bytes, limits);
  if (!size.isOK()) return damagedRow(catalogId, size.status().reason());
  if (static_cast<size_t>(*size) != bytes.size()) return damagedRow(catalogId, "bytes follow the document");
  return View(bytes.data());
}

/// What another node has logged is taken as it is, and so is multikey state of writes that have begun.
bool isOfClient(const RecoveryUnit& unit) {
  if (!unit.operation()) return true;
  const WriteMode mode = unit.operation()->writeMode();
  return mode != WriteMode::kApplied && mode != WriteMode::kAside;
}

/// The one place where rows are refused for their size. `before`: bytes of the row that is replaced; one that is too
/// large already may become smaller, or stay as it is.
Status checkRowSize(const RecoveryUnit& unit, const CatalogEntry& entry, size_t size, size_t before) {
  if (size <= std::max(DurableCatalog::kMaxClientRow, before) || !isOfClient(unit)) return {};
  return {ErrorCode::kBSONObjectTooLarge,
          "the catalog's entry of " + entry.ns.toString() + " would have " + std::to_string(size) +
              " bytes with its options and indexes, at most are " + std::to_string(DurableCatalog::kMaxClientRow)};
}

IndexMetadata readIndex(View row, View idents) {
  IndexMetadata index;
  index.spec = bson::Document(row["spec"].asDocument());
  index.ident = idents[index.spec["name"].toStringOr()].toStringOr();
  index.ready = row["ready"].truthy();
  index.multikey = row["multikey"].truthy();
  index.paths = readPaths(row["multikeyPaths"]);
  index.buildUuid = readUuid(row["buildUUID"]);
  return index;
}

}  // namespace

bson::Document CatalogEntry::toDocument() const {
  bson::Builder b;
  b.openDocument("md").append("ns", ns.toString());
  b.append("options", options.toDocument(true)).openArray("indexes");
  for (const auto& index : indexes) {
    b.pushDocument().append("spec", index.spec).append("ready", index.ready).append("multikey", index.multikey);
    appendPaths(b, index.spec["key"].asDocument(), index.paths);
    b.append("head", int64_t{0}).append("backgroundSecondary", false);
    if (index.buildUuid) b.append("buildUUID", *index.buildUuid);
    b.close();
  }
  b.close().close().openDocument("idxIdent");
  for (const auto& index : indexes) b.append(index.spec["name"].toStringOr(), index.ident);
  b.close().append("ns", ns.toString());
  if (!ident.empty()) b.append("ident", ident);
  return b.finish();
}

StatusWith<CatalogEntry> CatalogEntry::fromDocument(int64_t catalogId, View document) {
  if (!isRow(document)) return damagedRow(catalogId, "it is malformed");
  const Element md = document["md"];
  CatalogEntry entry;
  entry.catalogId = catalogId;
  entry.ns = Namespace::split(document["ns"].asString());
  entry.ident = document["ident"].toStringOr();
  const View row = md.asDocument();
  auto options = parseCollectionOptions(row["options"].asDocument(), true);
  if (!options.isOK()) return damagedRow(catalogId, options.status().reason());
  entry.options = std::move(*options);
  for (const auto& index : row["indexes"].asArray())
    entry.indexes.push_back(readIndex(index.asDocument(), document["idxIdent"].asDocument()));
  return entry;
}

namespace {

/// The end of all idents of this life. Tables of an earlier life that drew the same number stand until they are reaped.
uint64_t unusedSuffix(Engine& engine, const std::function<uint64_t()>& random) {
  const std::vector<std::string> tables = engine.listTables();
  for (;;) {
    const uint64_t suffix = random();
    const std::string end = "-" + std::to_string(suffix);
    if (std::ranges::none_of(tables, [&](const std::string& ident) { return ident.ends_with(end); })) return suffix;
  }
}

}  // namespace

DurableCatalog::DurableCatalog(Engine& engine, Table table, Table localTable, std::function<uint64_t()> random)
    : table_(std::move(table)),
      localTable_(std::move(localTable)),
      random_(std::move(random)),
      identSuffix_(unusedSuffix(engine, random_)) {}

StatusWith<std::unique_ptr<DurableCatalog>> DurableCatalog::open(Engine& engine, std::function<uint64_t()> random) {
  TROUPE_ASSIGN(Table table, openEssentialTable(engine, kIdent));
  TROUPE_ASSIGN(Table local, openEssentialTable(engine, kLocalIdent));
  return std::unique_ptr<DurableCatalog>(
      new DurableCatalog(engine, std::move(table), std::move(local), std::move(random)));
}

Status DurableCatalog::readEntries(RecoveryUnit& unit, const Table& table, std::vector<CatalogEntry>& entries) const {
  TROUPE_ASSIGN(auto cursor, unit.cursor(table));
  for (;;) {
    TROUPE_ASSIGN(const bool found, cursor->next());
    if (!found) return {};
    if (cursor->key().size() != RecordKey::kNumberSize) return damagedRow(0, "its key is no number");
    const int64_t id = RecordKey::number(cursor->key());
    TROUPE_ASSIGN(const View row, checkedRow(id, cursor->value()));
    TROUPE_ASSIGN(auto entry, CatalogEntry::fromDocument(id, row));
    entries.push_back(std::move(entry));
  }
}

StatusWith<std::vector<CatalogEntry>> DurableCatalog::entries(RecoveryUnit& unit) const {
  std::vector<CatalogEntry> entries;
  TROUPE_TRY(readEntries(unit, table_, entries));
  TROUPE_TRY(readEntries(unit, localTable_, entries));
  return entries;
}

StatusWith<std::vector<CatalogEntry>> DurableCatalog::readAll(RecoveryUnit& unit) {
  TROUPE_ASSIGN(auto all, entries(unit));
  for (const CatalogEntry& entry : all) {
    auto& last = isLocal(entry.catalogId) ? lastLocalId_ : lastId_;
    last = std::max(last.load(), entry.catalogId);
  }
  return all;
}

StatusWith<std::vector<CatalogEntry>> DurableCatalog::moveLocalRows(RecoveryUnit& unit) {
  TROUPE_ASSIGN(auto all, readAll(unit));
  WriteUnitOfWork work(unit);
  for (CatalogEntry& entry : all) {
    if (isLocal(entry.catalogId) || entry.ns.isReplicated()) continue;
    TROUPE_TRY(remove(unit, entry.ns, entry.catalogId));
    TROUPE_TRY(insert(unit, entry, entry.toDocument()));
  }
  TROUPE_TRY(work.commit());
  return all;
}

StatusWith<std::optional<CatalogEntry>> DurableCatalog::readEntry(RecoveryUnit& unit, int64_t catalogId) const {
  TROUPE_ASSIGN(const auto row, read(unit, catalogId));
  if (!row) return std::optional<CatalogEntry>();
  TROUPE_ASSIGN(auto entry, CatalogEntry::fromDocument(catalogId, *row));
  return std::optional(std::move(entry));
}

StatusWith<std::optional<bson::Document>> DurableCatalog::read(RecoveryUnit& unit, int64_t catalogId) const {
  TROUPE_ASSIGN(auto cursor, unit.cursor(tableOf(catalogId)));
  TROUPE_ASSIGN(const bool found, cursor->seek(RecordKey(catalogId)));
  if (!found) return std::optional<bson::Document>();
  TROUPE_ASSIGN(const View row, checkedRow(catalogId, cursor->value()));
  return std::optional(bson::Document(row));
}

Status DurableCatalog::add(RecoveryUnit& unit, CatalogEntry& entry) {
  const bson::Document row = entry.toDocument();
  TROUPE_TRY(checkRowSize(unit, entry, row.view().size(), 0));
  return insert(unit, entry, row);
}

Status DurableCatalog::insert(RecoveryUnit& unit, CatalogEntry& entry, const bson::Document& row) {
  entry.catalogId = entry.ns.isReplicated() ? ++lastId_ : ++lastLocalId_;
  TROUPE_ASSIGN(auto cursor, writeCursor(unit, entry.ns, entry.catalogId));
  return cursor->insert(RecordKey(entry.catalogId), row.bytes());
}

Status DurableCatalog::put(RecoveryUnit& unit, CatalogEntry entry) {
  TROUPE_ASSIGN(const auto row, readEntry(unit, entry.catalogId));
  for (IndexMetadata& index : entry.indexes) {
    if (!row) break;
    const auto before = std::find_if(row->indexes.begin(), row->indexes.end(),
                                     [&](const IndexMetadata& each) { return each.ident == index.ident; });
    if (before == row->indexes.end() || !before->multikey) continue;
    index.multikey = true;
    index.paths.resize(std::max(index.paths.size(), before->paths.size()));
    for (size_t i = 0; i < before->paths.size(); ++i) index.paths[i] |= before->paths[i];
  }
  return write(unit, entry);
}

StatusWith<Session::CursorLease> DurableCatalog::writeCursor(RecoveryUnit& unit, const Namespace& ns,
                                                             int64_t catalogId) {
  if (unit.pool().isMember() && ns.isReplicated()) {
    requireSlots(unit);
    unit.onCommit([this, catalogId](std::optional<Timestamp> time) {
      const std::lock_guard lock(timesMutex_);
      lastTimes_[catalogId] = *time;
    });
  }
  ++writes_;
  return unit.writeCursor(tableOf(catalogId));
}

/// What a rollback has undone must not hold later versions back.
void DurableCatalog::beginStart() {
  const std::lock_guard lock(timesMutex_);
  lastTimes_.clear();
  starting_.store(true, std::memory_order_release);
}

Timestamp DurableCatalog::lastTimeOf(int64_t catalogId) const {
  const std::lock_guard lock(timesMutex_);
  const auto found = lastTimes_.find(catalogId);
  return found == lastTimes_.end() ? Timestamp() : found->second;
}

Status DurableCatalog::write(RecoveryUnit& unit, const CatalogEntry& entry) {
  const bson::Document row = entry.toDocument();
  TROUPE_ASSIGN(auto cursor, writeCursor(unit, entry.ns, entry.catalogId));
  if (row.view().size() > kMaxClientRow) {
    TROUPE_ASSIGN(const bool found, cursor->seek(RecordKey(entry.catalogId)));
    TROUPE_TRY(checkRowSize(unit, entry, row.view().size(), found ? cursor->value().size() : 0));
  }
  Status status = cursor->update(RecordKey(entry.catalogId), row.bytes());
  if (status == ErrorCode::kNoSuchKey)
    return {ErrorCode::kNamespaceNotFound, "the collection " + entry.ns.toString() + " has been dropped meanwhile"};
  return status;
}

Status DurableCatalog::remove(RecoveryUnit& unit, const Namespace& ns, int64_t catalogId) {
  TROUPE_ASSIGN(auto cursor, writeCursor(unit, ns, catalogId));
  Status status = cursor->remove(RecordKey(catalogId));
  if (status == ErrorCode::kNoSuchKey)
    return {ErrorCode::kNamespaceNotFound, "the collection has been dropped meanwhile"};
  unit.onCommit([this, catalogId](auto) {
    const std::lock_guard lock(timesMutex_);
    lastTimes_.erase(catalogId);
  });
  return status;
}

Status DurableCatalog::discardAtStart(RecoveryUnit& unit, const CatalogEntry& entry) {
  invariant(starting_.load(std::memory_order_acquire), "indexes are discarded while the catalog is read");
  ++writes_;
  TROUPE_ASSIGN(auto cursor, unit.writeCursor(tableOf(entry.catalogId)));
  return cursor->update(RecordKey(entry.catalogId), entry.toDocument().bytes());
}

Status DurableCatalog::setMultikey(RecoveryUnit& unit, int64_t catalogId, std::string_view name,
                                   const MultikeyPaths& paths) {
  TROUPE_ASSIGN(auto entry, readEntry(unit, catalogId));
  if (!entry) return {ErrorCode::kNamespaceNotFound, "the collection has been dropped meanwhile"};
  for (auto& index : entry->indexes) {
    if (index.spec["name"].toStringOr() != name) continue;
    MultikeyPaths merged = index.paths;
    merged.resize(std::max(merged.size(), paths.size()));
    for (size_t i = 0; i < paths.size(); ++i) merged[i] |= paths[i];
    if (index.multikey && merged == index.paths) return Status::OK();
    index.multikey = true;
    index.paths = std::move(merged);
    return write(unit, *entry);
  }
  return Status::OK();
}

Status DurableCatalog::setMultikeyAside(RecoveryUnit& writer, int64_t catalogId, std::string_view index,
                                        const MultikeyPaths& paths) {
  std::lock_guard turn(multikeyMutex_);
  OperationContext own({.sessions = writer.pool()});
  own.setWriteMode(WriteMode::kAside);
  RecoveryUnit& side = own.recoveryUnit();
  WriteUnitOfWork work(side);
  const TimeAside aside = timeAside(writer, lastTimeOf(catalogId));
  if (aside.time) TROUPE_TRY(side.setCommitTimestamp(*aside.time));
  TROUPE_TRY(setMultikey(side, catalogId, index, paths));
  return work.commit();
}

std::string DurableCatalog::newIdent(std::string_view kind) {
  return std::string(kind) + "-" + std::to_string(identCounter_++) + "-" + std::to_string(identSuffix_);
}

}  // namespace troupe::storage
