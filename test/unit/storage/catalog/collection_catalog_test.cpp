#include "storage/catalog/collection_catalog.hpp"

#include <thread>

#include "test/unit/storage/catalog/catalog_fixture.hpp"

namespace troupe::storage {
namespace {

class CollectionCatalogTest : public CatalogFixture {};

TEST_P(CollectionCatalogTest, ShowsAReaderNoLaterChange) {
  create();
  const CatalogPtr reader = catalog->snapshot();
  ASSERT_TRUE(
      write([&] { return renameCollection(*catalog, *unit, current(), Namespace("test", "d"), false); }).isOK());
  create("test.e");
  EXPECT_TRUE(reader->find(Namespace("test", "c")));
  EXPECT_FALSE(reader->find(Namespace("test", "d")));
  EXPECT_FALSE(reader->find(Namespace("test", "e")));
  EXPECT_EQ(catalog->snapshot()->collections("test").size(), 2u);
}

TEST_P(CollectionCatalogTest, ListsCollectionsInTheOrderOfUuids) {
  for (const char* ns : {"test.z", "test.y", "test.x"}) create(ns);
  create("test.v", R"({"viewOn": "x", "pipeline": []})"_json);
  const auto all = catalog->snapshot()->collectionsByUuid("test");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_LT(all[0]->uuid(), all[1]->uuid());
  EXPECT_LT(all[1]->uuid(), all[2]->uuid());
}

TEST_P(CollectionCatalogTest, PublishesTheChangesOfWritersThatMeetAsOneVersion) {
  constexpr int kWriters = 7;
  CollectionCatalog shared;
  std::atomic<bool> copying{false}, proceed{false};
  std::thread first([&] {
    shared.update([&](CatalogSnapshot&) {
      copying = true;
      copying.notify_all();
      proceed.wait(false);
    });
  });
  copying.wait(false);
  std::atomic<int> changes{0};
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) writers.emplace_back([&] { shared.update([&](CatalogSnapshot&) { ++changes; }); });
  while (shared.waiting() < kWriters) std::this_thread::yield();  // all of them are queued behind the first copy
  EXPECT_EQ(shared.version(), 0u);
  proceed = true;
  proceed.notify_all();
  first.join();
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(changes, kWriters);
  EXPECT_EQ(shared.version(), 2u) << "the first writer's copy, and one that all others share";
  EXPECT_EQ(shared.snapshot()->version(), 2u);
}

TEST_P(CollectionCatalogTest, LosesNoChangeOfWritersWhoMeet) {
  create();
  const CollectionPtr one = current();
  CollectionCatalog shared;
  std::vector<std::thread> writers;
  std::atomic<int> changes{0};
  for (int i = 0; i < 4; ++i)
    writers.emplace_back([&] {
      for (int n = 0; n < 200; ++n)
        shared.update([&](CatalogSnapshot& next) {
          next.put(one);
          ++changes;
        });
    });
  for (int i = 0; i < 200; ++i) {
    const auto snapshot = shared.snapshot();
    const CollectionPtr expected = snapshot->version() > 0 ? one : nullptr;
    EXPECT_EQ(snapshot->find(one->ns()), expected);
  }
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(changes, 800);
}

TROUPE_ON_BOTH_ENGINES(CollectionCatalogTest);

}  // namespace
}  // namespace troupe::storage
