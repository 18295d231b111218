#pragma once
#include <random>
#include <string>
#include <vector>

#include "test/unit/storage/oplog/oplog_writer_fixture.hpp"
#include "test/unit/storage/oplog/random_documents.hpp"

namespace troupe::storage {

/// A primary whose clients work on it, and what they ask for.
class PrimaryFixture : public OplogWriterFixture {
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

inline void PrimaryFixture::workOnDocuments(int rounds) {
  make("test.r");
  ASSERT_TRUE(buildIndex("test.r", bson::doc("key", bson::doc("a", 1), "name", "a_1")).isOK());
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
inline void PrimaryFixture::workOnTheCatalog() {
  make("test.capped", bson::doc("capped", true, "size", 4096, "max", 3));
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(addDocument("test.capped", bson::doc("_id", i)).isOK());
  make("test.clustered", bson::doc("clusteredIndex", bson::doc("key", bson::doc("_id", 1), "unique", true)));
  ASSERT_TRUE(addDocument("test.clustered", bson::doc("_id", 5)).isOK());
  make("test.view", bson::doc("viewOn", "c", "pipeline", bson::array(bson::doc("$match", bson::doc("a", 1)))));
  make("test.a", bson::doc("validator", bson::doc("a", 1), "collation", bson::doc("locale", "en")));
  ASSERT_TRUE(inUnit([&] {
                return createEmptyIndex(
                           *catalog, rec(), current("test.a"),
                           *parseIndexSpec(bson::doc("key", bson::doc("u", 1), "name", "u_1", "unique", true)))
                    .status();
              }).isOK());
  for (int i = 0; i < 10; ++i)
    ASSERT_TRUE(addDocument("test.a", bson::doc("_id", i, "u", i, "t", bson::array(i, i + 1))).isOK());
  ASSERT_TRUE(buildIndex("test.a", bson::doc("key", bson::doc("t", 1), "name", "t_1")).isOK());
  ASSERT_TRUE(giveUpABuild("test.a", bson::doc("key", bson::doc("g", 1), "name", "g_1")).isOK());
  ASSERT_TRUE(removeOne("test.a", 3).isOK());
  ASSERT_TRUE(addDocument("test.a", bson::doc("_id", 33, "u", 3)).isOK());
  CollectionChange change;
  change.index = "t_1";
  change.indexChange.hidden = true;
  change.validationLevel = "off";
  ASSERT_TRUE(modify("test.a", change).isOK());
  ASSERT_TRUE(buildIndex("test.a", bson::doc("key", bson::doc("l", 1), "name", "l")).isOK());
  CollectionChange lifetime;  // an index of that name which comes later cannot have one
  lifetime.index = "l";
  lifetime.indexChange.expireAfterSeconds = 10;
  ASSERT_TRUE(modify("test.a", lifetime).isOK());
  ASSERT_TRUE(inUnit([&] { return dropIndexes(*catalog, rec(), current("test.a"), {"l"}).status(); }).isOK());
  ASSERT_TRUE(buildIndex("test.a", bson::doc("key", bson::doc("l", 1, "m", 1), "name", "l")).isOK());
  make("test.b");
  ASSERT_TRUE(addDocument("test.b", bson::doc("_id", 1)).isOK());
  ASSERT_TRUE(rename("test.a", "test.b").isOK());
  make("test.a");
  ASSERT_TRUE(addDocument("test.a", bson::doc("_id", "another")).isOK());
  ASSERT_TRUE(inUnit([&] { return dropIndexes(*catalog, rec(), current("test.b"), {"u_1"}).status(); }).isOK());
  make("test.emptied");
  ASSERT_TRUE(addDocument("test.emptied", bson::doc("_id", 1)).isOK());
  ASSERT_TRUE(inUnit([&] { return current("test.emptied")->truncate(rec()); }).isOK());
  make("gone.c");
  ASSERT_TRUE(addDocument("gone.c", bson::doc("_id", 1)).isOK());
  ASSERT_TRUE(inUnit([&] { return dropDatabase(*catalog, rec(), "gone"); }).isOK());
  ASSERT_TRUE(insertAll({1, 2, 3}, UnitLogging::kGrouped).isOK());
  ASSERT_TRUE(removeOne("test.c", 2).isOK());
  ASSERT_TRUE(drop("test.view").isOK());
}

}  // namespace troupe::storage
