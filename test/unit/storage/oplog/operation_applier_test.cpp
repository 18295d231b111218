#include "storage/oplog/operation_applier.hpp"

#include <map>
#include <random>

#include "storage/validation/validate.hpp"
#include "test/unit/storage/oplog/oplog_writer_fixture.hpp"
#include "test/unit/storage/oplog/random_documents.hpp"

namespace troupe::storage {

using bson::doc;
using ::testing::ElementsAre;

/// Collections of a node as text: names, UUIDs, options, indexes and documents.
class NodeContents {
 public:
  NodeContents(Catalog& catalog, SessionPool& pool) : reader_({.sessions = pool}) {
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
    for (const auto& index : collection->indexes())
      lines_.push_back("  index" + bson::toRelaxedJson(index->spec.stored) + (index->ready ? "" : " unfinished") +
                       (index->multikey() ? " multikey" : ""));
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
  std::vector<std::string> lines_;
};

/// A member beside the primary, empty at first.
class Member final : public CatalogFixture {
 public:
  explicit Member(ApplyMode mode = ApplyMode::kFollowing) : mode_(mode) {
    replicated = true;
    random = 1'000'000;
    restart();
  }
  void TestBody() override {}
  Status apply(const bson::Document& entry) {
    OperationContext operation({.sessions = *pool}, OperationOrigin::kApplier);
    TROUPE_ASSIGN(const OplogEntry parsed, OplogEntry::parse(entry));
    return OperationApplier(*catalog, mode_).apply(operation, parsed);
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
    operation.setAppliedTime({1, 1});
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

class OperationApplierTest : public OplogWriterFixture {
 protected:
  CollectionPtr make(const char* ns, const bson::Document& options = {}) {
    const auto parsed = parseCollectionOptions(options);
    EXPECT_TRUE(
        inUnit([&] { return createCollection(*catalog, rec(), Namespace::split(ns), *parsed).status(); }).isOK());
    return current(ns);
  }
  Status addDocument(const char* ns, const bson::Document& document) {
    return inUnit([&] { return current(ns)->insert(rec(), document).status(); });
  }
  Status removeOne(const char* ns, int id) {
    return inUnit([&]() -> Status {
      const bson::Value key(id);
      TROUPE_ASSIGN(const auto at, current(ns)->findById(rec(), key.element()));
      bson::Document document;
      TROUPE_TRY(current(ns)->find(rec(), *at, [&](bson::View found) { document = bson::Document(found); }).status());
      return current(ns)->remove(rec(), *at, document);
    });
  }
  Status buildIndex(const char* ns, const bson::Document& spec) {
    TROUPE_ASSIGN(auto specs, newIndexes(*catalog, *current(ns), {spec.view()}));
    rec().abandonSnapshot();
    return IndexBuilder(*catalog, Namespace::split(ns), specs).buildAll(rec());
  }
  Status giveUpABuild(const char* ns, const bson::Document& spec) {
    TROUPE_ASSIGN(auto specs, newIndexes(*catalog, *current(ns), {spec.view()}));
    rec().abandonSnapshot();
    IndexBuilder builder(*catalog, Namespace::split(ns), specs, catalog->newUuid());
    TROUPE_TRY(builder.start(rec()));
    return builder.abort(rec());
  }
  Status modify(const char* ns, const CollectionChange& change) {
    return inUnit([&] { return modifyCollection(*catalog, rec(), current(ns), change).status(); });
  }
  Status rename(const char* from, const char* to) {
    return inUnit(
        [&] { return renameCollection(*catalog, rec(), current(from), Namespace::split(to), true).status(); });
  }
  Status drop(const char* ns) {
    return inUnit([&] { return dropCollection(*catalog, rec(), current(ns)); });
  }
  void workOnDocuments(int rounds);
  void workOnTheCatalog();
};

void OperationApplierTest::workOnDocuments(int rounds) {
  make("test.r");
  ASSERT_TRUE(buildIndex("test.r", doc("key", doc("a", 1), "name", "a_1")).isOK());
  RandomDocuments random(7);
  std::mt19937_64 chance(3);
  std::vector<bson::Document> documents;  // an empty one is gone
  for (int round = 0; round < rounds; ++round) {
    const size_t chosen = chance() % (documents.size() + 1);
    const Status done = inUnit([&]() -> Status {
      const CollectionPtr collection = current("test.r");
      if (chosen == documents.size() || documents[chosen].empty()) {
        documents.push_back(random.document());
        return collection->insert(rec(), documents.back()).status();
      }
      bson::Document& document = documents[chosen];
      TROUPE_ASSIGN(const auto at, collection->findById(rec(), document["_id"]));
      const bson::Document before = document;
      document = chance() % 4 == 0 ? bson::Document() : random.changed(before);
      return document.empty() ? collection->remove(rec(), *at, before)
                              : collection->update(rec(), *at, before, document);
    });
    ASSERT_TRUE(done.isOK()) << done.toString();
  }
}

/// Every command of the log, with documents before, between and after.
void OperationApplierTest::workOnTheCatalog() {
  make("test.capped", doc("capped", true, "size", 4096, "max", 3));
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(addDocument("test.capped", doc("_id", i)).isOK());
  make("test.clustered", doc("clusteredIndex", doc("key", doc("_id", 1), "unique", true)));
  ASSERT_TRUE(addDocument("test.clustered", doc("_id", 5)).isOK());
  make("test.view", doc("viewOn", "c", "pipeline", bson::array(doc("$match", doc("a", 1)))));
  make("test.a", doc("validator", doc("a", 1), "collation", doc("locale", "en")));
  ASSERT_TRUE(inUnit([&] {
                return createEmptyIndex(*catalog, rec(), current("test.a"),
                                        *parseIndexSpec(doc("key", doc("u", 1), "name", "u_1", "unique", true)))
                    .status();
              }).isOK());
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(addDocument("test.a", doc("_id", i, "u", i, "t", bson::array(i, i + 1))).isOK());
  ASSERT_TRUE(buildIndex("test.a", doc("key", doc("t", 1), "name", "t_1")).isOK());
  ASSERT_TRUE(giveUpABuild("test.a", doc("key", doc("g", 1), "name", "g_1")).isOK());
  ASSERT_TRUE(removeOne("test.a", 3).isOK());
  ASSERT_TRUE(addDocument("test.a", doc("_id", 33, "u", 3)).isOK());
  CollectionChange change;
  change.index = "t_1";
  change.indexChange.hidden = true;
  change.validationLevel = "off";
  ASSERT_TRUE(modify("test.a", change).isOK());
  ASSERT_TRUE(buildIndex("test.a", doc("key", doc("l", 1), "name", "l")).isOK());
  CollectionChange lifetime;  // an index of that name which comes later cannot have one
  lifetime.index = "l";
  lifetime.indexChange.expireAfterSeconds = 10;
  ASSERT_TRUE(modify("test.a", lifetime).isOK());
  ASSERT_TRUE(inUnit([&] { return dropIndexes(*catalog, rec(), current("test.a"), {"l"}).status(); }).isOK());
  ASSERT_TRUE(buildIndex("test.a", doc("key", doc("l", 1, "m", 1), "name", "l")).isOK());
  make("test.b");
  ASSERT_TRUE(addDocument("test.b", doc("_id", 1)).isOK());
  ASSERT_TRUE(rename("test.a", "test.b").isOK());
  make("test.a");
  ASSERT_TRUE(addDocument("test.a", doc("_id", "another")).isOK());
  ASSERT_TRUE(inUnit([&] { return dropIndexes(*catalog, rec(), current("test.b"), {"u_1"}).status(); }).isOK());
  make("test.emptied");
  ASSERT_TRUE(addDocument("test.emptied", doc("_id", 1)).isOK());
  ASSERT_TRUE(inUnit([&] { return current("test.emptied")->truncate(rec()); }).isOK());
  make("gone.c");
  ASSERT_TRUE(addDocument("gone.c", doc("_id", 1)).isOK());
  ASSERT_TRUE(inUnit([&] { return dropDatabase(*catalog, rec(), "gone"); }).isOK());
  ASSERT_TRUE(insertAll({1, 2, 3}, UnitLogging::kGrouped).isOK());
  ASSERT_TRUE(removeOne("test.c", 2).isOK());
  ASSERT_TRUE(drop("test.view").isOK());
}

// OPL-010.
TEST_P(OperationApplierTest, TheLogGivesAMemberTheDocumentsOfThePrimary) {
  workOnDocuments(400);
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const Status applied = member.applyAll(log());
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

TEST_P(OperationApplierTest, EveryCommandIsCarriedOut) {
  workOnTheCatalog();
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const Status applied = member.applyAll(log());
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

TEST_P(OperationApplierTest, AnEntryIsWrittenAtItsOwnTime) {
  ASSERT_TRUE(insertAll({1, 2, 3}).isOK());
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const auto entries = log();
  ASSERT_TRUE(member.applyAll(entries).isOK());
  for (size_t i = 0; i < entries.size(); ++i)
    EXPECT_EQ(member.countAt(entries[i]["ts"].asTimestamp(), "test.c"), static_cast<int64_t>(i) + 1);
}

// REC-007: the data may hold later entries already.
TEST_P(OperationApplierTest, AReplayOverLaterDataEndsWithTheDataOfTheLastEntry) {
  workOnDocuments(60);
  workOnTheCatalog();
  const auto entries = log();
  const NodeContents wanted(*catalog, *pool);
  for (size_t from = 0; from < entries.size(); from += 3) {
    Member member(ApplyMode::kReplaying);
    member.copy(*catalog, *pool);
    const Status applied = member.applyAll({entries.begin() + static_cast<ptrdiff_t>(from), entries.end()});
    ASSERT_TRUE(applied.isOK()) << "from " << from << ": " << applied.toString();
    EXPECT_EQ(member.contents(), wanted) << "from " << from;
  }
}

TEST_P(OperationApplierTest, AFollowerNoticesThatItsDataAreNotThoseOfTheLog) {
  make("test.d");
  ASSERT_TRUE(addDocument("test.d", doc("_id", 1, "a", std::string(100, 'x'))).isOK());
  ASSERT_TRUE(inUnit([&]() -> Status {
                const bson::Value key(1);
                TROUPE_ASSIGN(const auto at, current("test.d")->findById(rec(), key.element()));
                return current("test.d")->update(rec(), *at, doc("_id", 1, "a", std::string(100, 'x')),
                                                 doc("_id", 1, "a", 2));
              }).isOK());
  const auto entries = log();
  ASSERT_EQ(entries.size(), 3u);
  Member member;
  EXPECT_EQ(member.apply(entries[1]).code(), ErrorCode::kNamespaceNotFound);
  ASSERT_TRUE(member.apply(entries[0]).isOK());
  EXPECT_EQ(member.apply(entries[2]).code(), ErrorCode::kNoSuchKey);
  const auto refusedOf = [&](const bson::Document& entry) { return member.apply(entry).code(); };
  workOnTheCatalog();
  int commands = 0;
  for (const bson::Document& entry : log()) {
    const bson::View object = entry["o"].asDocument();
    const std::string_view name = object.empty() ? "" : object.first().name();
    if (entry["op"].asString() != "c" || name == "create" || name == "dropDatabase" || name == "applyOps") continue;
    ++commands;
    const ErrorCode refused = refusedOf(entry);
    EXPECT_TRUE(refused == ErrorCode::kNamespaceNotFound || refused == ErrorCode::kIndexNotFound)
        << bson::toRelaxedJson(entry);
  }
  EXPECT_GE(commands, 9) << "drop, rename, collMod, emptycapped, createIndexes, dropIndexes, start, commit, abort";
  Member other;
  other.makeAnother("test.d");
  EXPECT_EQ(other.apply(entries[0]).code(), ErrorCode::kNamespaceExists) << "of another UUID";
}

// Writers of a batch need no order among documents: what was unique on the primary may meet in between.
TEST_P(OperationApplierTest, AUniqueKeyMayMoveBetweenDocumentsInAnyOrder) {
  make("test.d");
  ASSERT_TRUE(buildIndex("test.d", doc("key", doc("u", 1), "name", "u_1", "unique", true)).isOK());
  ASSERT_TRUE(addDocument("test.d", doc("_id", 1, "u", 7)).isOK());
  ASSERT_TRUE(removeOne("test.d", 1).isOK());
  ASSERT_TRUE(addDocument("test.d", doc("_id", 2, "u", 7)).isOK());
  auto entries = log();
  std::swap(entries[entries.size() - 1], entries[entries.size() - 2]);
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const Status applied = member.applyAll(entries);
  ASSERT_TRUE(applied.isOK()) << applied.toString();
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool));
}

// The commit scans the collection in units of work of its own, so that it cannot be a part of a larger one.
TEST_P(OperationApplierTest, AGroupHoldsNoCommitOfAnIndexBuild) {
  Member member;
  ASSERT_TRUE(member.make(*current("test.c")));
  const bson::Document commit = doc("commitIndexBuild", "c", "indexBuildUUID", current("test.c")->uuid(), "indexes",
                                    bson::array(doc("v", 2, "key", doc("a", 1), "name", "a_1")));
  bson::Builder operation;
  LoggedOperation{.kind = OplogKind::kCommand, .ns = "test.$cmd", .uuid = current("test.c")->uuid(), .object = commit}
      .appendTo(operation);
  const CommandObjects group = encode(LoggedGroup{{operation.finish()}});
  OplogEntry entry;
  entry.operation = {.kind = OplogKind::kCommand, .ns = "admin.$cmd", .object = group.object};
  entry.opTime = {1, {2000, 1}};
  EXPECT_EQ(member.apply(entry.toDocument()).code(), ErrorCode::kFailedToParse);
  EXPECT_EQ(member.contents(), NodeContents(*catalog, *pool)) << "nothing was started in its place";
}

TROUPE_ON_BOTH_ENGINES(OperationApplierTest);

}  // namespace troupe::storage
