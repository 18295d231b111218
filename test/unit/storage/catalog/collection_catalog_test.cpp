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
  std::vector<CollectionPtr> made;
  for (int i = 0; i < kWriters; ++i) made.push_back(create(("test.c" + std::to_string(i)).c_str()));
  std::vector<std::thread> writers;
  for (const CollectionPtr& one : made)
    writers.emplace_back([&shared, one] { shared.update([&](CatalogSnapshot& next) { next.put(one); }); });
  while (shared.waiting() < kWriters) std::this_thread::yield();  // all of them are queued behind the first copy
  EXPECT_EQ(shared.version(), 0u);
  proceed = true;
  proceed.notify_all();
  first.join();
  for (auto& writer : writers) writer.join();
  for (const CollectionPtr& one : made) EXPECT_EQ(shared.snapshot()->find(one->ns()), one);
  EXPECT_EQ(shared.version(), 2u) << "the first writer's copy, and one that all others share";
  EXPECT_EQ(shared.snapshot()->version(), 2u);
}

TEST_P(CollectionCatalogTest, LosesNoChangeOfWritersWhoMeet) {
  constexpr size_t kWriters = 4, kEach = 20;
  std::vector<CollectionPtr> made;
  for (size_t i = 0; i < kWriters * kEach; ++i) made.push_back(create(("test.c" + std::to_string(i)).c_str()));
  CollectionCatalog shared;
  std::vector<std::thread> writers;
  for (size_t i = 0; i < kWriters; ++i)
    writers.emplace_back([&, i] {
      for (size_t n = 0; n < kEach; ++n) {
        const CollectionPtr& one = made[i * kEach + n];
        shared.update([&](CatalogSnapshot& next) { next.put(one); });
        EXPECT_EQ(shared.snapshot()->find(one->ns()), one) << "its own change is there when it returns";
      }
    });
  for (auto& writer : writers) writer.join();
  for (const CollectionPtr& one : made) EXPECT_EQ(shared.snapshot()->find(one->ns()), one);
}

TROUPE_ON_BOTH_ENGINES(CollectionCatalogTest);

}  // namespace
}  // namespace troupe::storage
