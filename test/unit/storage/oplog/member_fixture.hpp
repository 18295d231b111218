#pragma once
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "storage/oplog/batch_units.hpp"
#include "storage/oplog/operation_applier.hpp"
#include "storage/sessions/applied_sessions.hpp"
#include "storage/validation/validate.hpp"
#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {

enum class ShownIndexes { kAll, kOfIdsAlone };

/// Collections of a node as text: names, UUIDs, options, indexes and documents.
class NodeContents {
 public:
  NodeContents(Catalog& catalog, SessionPool& pool, ShownIndexes indexes = ShownIndexes::kAll)
      : reader_({.sessions = pool}), indexes_(indexes) {
    for (const std::string& db : catalog.snapshot()->databases())
      for (const auto& collection : catalog.snapshot()->collections(db))
        if (collection->ns().isReplicated()) add(catalog, collection);
  }
  bool operator==(const NodeContents& other) const { return lines_ == other.lines_; }
  friend void PrintTo(const NodeContents& contents, std::ostream* out) {
    for (const std::string& line : contents.lines_) *out << line << "\n";
  }

 private:
  void add(Catalog& catalog, const CollectionPtr& collection) {
    lines_.push_back(collection->ns().toString() + bson::toRelaxedJson(collection->options().toDocument(true)));
    if (collection->isView()) return;
    for (const auto& index : collection->indexes()) {
      if (indexes_ == ShownIndexes::kOfIdsAlone && !index->spec.idIndex) continue;
      lines_.push_back("  index" + bson::toRelaxedJson(index->spec.stored) + (index->ready ? "" : " unfinished") +
                       (index->multikey() ? " multikey" : ""));
    }
    auto cursor = collection->records().cursor(reader_.recoveryUnit());
    std::vector<std::string> documents;
    while (*cursor->next()) documents.push_back("  " + bson::toRelaxedJson(bson::Document(cursor->document())));
    std::ranges::sort(documents);  // records are numbered by each node for itself
    lines_.insert(lines_.end(), documents.begin(), documents.end());
    reader_.recoveryUnit().abandonSnapshot();
    auto valid = validateCollection(catalog, reader_.recoveryUnit(), collection, {.fixCount = false});
    EXPECT_TRUE(valid.isOK() && valid->valid) << collection->ns().toString();
    reader_.recoveryUnit().abandonSnapshot();
  }
  OperationContext reader_;
  const ShownIndexes indexes_;
  std::vector<std::string> lines_;
};

/// A member beside the primary, empty at first.
class Member : public CatalogFixture {
 public:
  using CatalogFixture::catalog;
  using CatalogFixture::crash;
  using CatalogFixture::current;
  using CatalogFixture::harness;
  using CatalogFixture::observers;
  using CatalogFixture::pool;
  using CatalogFixture::restart;

  explicit Member(ApplyMode mode = ApplyMode::kFollowing) : mode_(mode) {
    replicated = true;
    random = 1'000'000;
    restart();
  }
  void TestBody() override {}
  Status apply(const bson::Document& entry) {
    OperationContext operation({.sessions = *pool}, OperationOrigin::kApplier);
    TROUPE_ASSIGN(const OplogEntry parsed, OplogEntry::parse(entry));
    TROUPE_TRY(OperationApplier(*catalog, mode_).apply(operation, parsed));
    const OplogEntry* const one = &parsed;
    UnitLimits limits;
    return parsed.session ? AppliedSessions(*catalog, mode_).putInUnit(operation, {&one, 1}, limits).status()
                          : Status::OK();
  }
  Status applyAll(const std::vector<bson::Document>& entries) {
    for (const bson::Document& entry : entries) TROUPE_TRY(apply(entry).withContext(bson::toRelaxedJson(entry)));
    return Status::OK();
  }
  /// What a copy of the primary's data holds that was made at any later time.
  void copy(const Catalog& from, SessionPool& sessions) {
    for (const std::string& db : from.snapshot()->databases())
      for (const auto& collection : from.snapshot()->collections(db))
        if (collection->ns().isReplicated()) copyOne(*collection, sessions);
  }
  /// One of the same name and another UUID.
  void makeAnother(const char* ns) {
    ASSERT_TRUE(write([&]() -> Status {
                  TROUPE_TRY(unit->setCommitTimestamp({1, 1}));
                  return createCollection(*catalog, *unit, Namespace::split(ns), {}).status();
                }).isOK());
  }
  /// A collection that is older than the log.
  CollectionPtr make(const Collection& like) {
    EXPECT_TRUE(write([&]() -> Status {
                  TROUPE_TRY(unit->setCommitTimestamp({1, 1}));
                  return createCollection(*catalog, *unit, like.ns(), like.options()).status();
                }).isOK());
    return catalog->find(like.ns());
  }
  /// Of all documents, in the order of the collection.
  std::vector<int> ids(const char* ns) {
    OperationContext reader({.sessions = *pool});
    auto cursor = current(ns)->records().cursor(reader.recoveryUnit());
    std::vector<int> found;
    while (*cursor->next()) found.push_back(cursor->document()["_id"].asInt32());
    return found;
  }
  NodeContents contents() { return {*catalog, *pool}; }
  int64_t countAt(bson::Timestamp time, const char* ns) {
    OperationContext reader({.sessions = *pool});
    EXPECT_TRUE(reader.recoveryUnit().setReadSource(ReadSource::kProvided, time).isOK());
    auto cursor = current(ns)->records().cursor(reader.recoveryUnit());
    int64_t count = 0;
    while (*cursor->next()) ++count;
    return count;
  }

 private:
  void copyOne(const Collection& source, SessionPool& sessions) {
    OperationContext operation({.sessions = *pool}, OperationOrigin::kApplier);
    operation.setWriteMode(WriteMode::kApplied);
    operation.setAppliedTime(bson::Timestamp{1, 1});
    RecoveryUnit& to = operation.recoveryUnit();
    WriteUnitOfWork work(to);
    auto made = createCollection(*catalog, to, source.ns(), source.options());
    ASSERT_TRUE(made.isOK()) << made.status().toString();
    for (const auto& index : source.indexes())
      if (!(*made)->findIndex(index->spec.name)) made = createEmptyIndex(*catalog, to, *made, index->spec);
    OperationContext reader({.sessions = sessions});
    if (!source.isView()) {
      auto cursor = source.records().cursor(reader.recoveryUnit());
      while (*cursor->next()) ASSERT_TRUE((*made)->insert(to, cursor->document()).isOK());
    }
    ASSERT_TRUE(work.commit().isOK());
  }
  ApplyMode mode_;
};

}  // namespace troupe::storage
