#include "storage/query/sort/sorter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "test/unit/storage/query/test_work.hpp"

namespace troupe::query {
namespace {

class MemoryFile final : public SpillFile {
 public:
  Status write(std::string_view bytes) override {
    bytes_.append(bytes);
    return Status::OK();
  }
  StatusWith<std::string> read(uint64_t offset, size_t size) override { return bytes_.substr(offset, size); }

 private:
  std::string bytes_;
};

SpillFileFactory toMemory() {
  return []() -> StatusWith<std::unique_ptr<SpillFile>> {
    return std::unique_ptr<SpillFile>(std::make_unique<MemoryFile>());
  };
}

/// 1000 items of ten different keys; the payload is the order of arrival.
std::vector<Sorter::Item> someItems() {
  std::mt19937 random(7);
  std::vector<Sorter::Item> items;
  for (int i = 0; i < 1000; ++i) items.push_back({std::to_string(random() % 10), std::to_string(i)});
  return items;
}

std::vector<std::string> sorted(SorterOptions options, SorterStats* stats = nullptr) {
  const auto sorter = Sorter::make(std::move(options));
  for (const auto& item : someItems()) EXPECT_TRUE(sorter->add(item.key, item.payload).isOK());
  EXPECT_TRUE(sorter->done().isOK());
  std::vector<std::string> out;
  while (true) {
    auto next = sorter->next();
    EXPECT_TRUE(next.isOK());
    if (!next.isOK() || !*next) break;
    out.push_back((**next).payload);
  }
  if (stats) *stats = sorter->stats();
  return out;
}

std::vector<std::string> expected(size_t limit = 1000) {
  auto items = someItems();
  std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  std::vector<std::string> out;
  for (size_t i = 0; i < limit; ++i) out.push_back(items[i].payload);
  return out;
}

TEST(Sorter, KeepsEqualKeysInTheOrderOfArrival) { EXPECT_EQ(expected(), sorted({})); }

TEST(Sorter, GivesTheSameWhenItSpills) {
  SorterStats stats;
  EXPECT_EQ(expected(), sorted({.memoryBytes = 5000, .spill = toMemory()}, &stats));
  EXPECT_GT(stats.spills, 5u);
  EXPECT_LT(stats.memoryPeak, 6000u);
}

TEST(Sorter, SpillsToRealFiles) {
  EXPECT_EQ(expected(),
            sorted({.memoryBytes = 20000, .spill = spillToDirectory(testing::TempDir() + "troupe-sorter")}));
}

TEST(Sorter, HoldsOnlyTheBestOfALimit) {
  SorterStats stats;
  EXPECT_EQ(expected(7), sorted({.limit = 7, .memoryBytes = 2000}, &stats));
  EXPECT_LT(stats.memoryPeak, 1000u);
}

TEST(Sorter, SpillsALimitThatDoesNotFit) {
  EXPECT_EQ(expected(300), sorted({.limit = 300, .memoryBytes = 5000, .spill = toMemory()}));
}

TEST(Sorter, FailsPastItsMemoryWithoutDiskUse) {
  const auto sorter = Sorter::make({.memoryBytes = 1000});
  ASSERT_TRUE(sorter->add("a", std::string(500, 'x')).isOK());
  const auto status = sorter->add("b", std::string(500, 'x'));
  EXPECT_EQ(ErrorCode(292), status.code());
  EXPECT_EQ("Sort exceeded memory limit of 1000 bytes, but did not opt in to external sorting.", status.reason());
}

TEST(Sorter, ReadsNoMoreRunsSideBySideThanItsBudgetHolds) {
  TestWork work(8 << 20);
  int files = 0;
  const auto counted = [&files]() -> StatusWith<std::unique_ptr<SpillFile>> {
    ++files;
    return toMemory()();
  };
  const auto sorter = Sorter::make({.spill = counted, .work = &work});
  const auto payloadOf = [](int i) { return std::to_string(i) + std::string(500'000, 'p'); };
  constexpr int kItems = 60;
  for (int i = 0; i < kItems; ++i) ASSERT_TRUE(sorter->add(std::to_string(i % 7), payloadOf(i)).isOK());
  ASSERT_TRUE(sorter->done().isOK());
  EXPECT_GT(sorter->stats().spills, 5u);
  EXPECT_GT(files, 1) << "runs are merged into longer ones";
  EXPECT_GT(work.budget.used(), 1'000'000) << "what is read ahead is charged";
  for (int key = 0; key < 7; ++key) {
    for (int i = key; i < kItems; i += 7) {
      const auto next = sorter->next();
      ASSERT_TRUE(next.isOK()) << next.status().toString();
      ASSERT_TRUE(next->has_value());
      EXPECT_EQ((**next).key, std::to_string(key));
      EXPECT_EQ((**next).payload, payloadOf(i)) << "equal keys keep the order of arrival";
    }
  }
  EXPECT_FALSE(sorter->next()->has_value());
  EXPECT_EQ(work.budget.used(), 0);
}

TEST(Sorter, LooksAtItsOperationWhileItSpillsAndMerges) {
  for (const bool killed : {false, true}) {
    TestWork work(int64_t{64} << 20);
    const auto sorter = Sorter::make({.memoryBytes = 100'000, .spill = toMemory(), .work = &work});
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(sorter->add(std::to_string(i), std::string(10'000, 'p')).isOK());
    work.killed = killed;
    EXPECT_EQ(sorter->done().code(), killed ? ErrorCode::kInterrupted : ErrorCode::kOK);
  }
}

}  // namespace
}  // namespace troupe::query
