#include "storage/oplog/write_fence.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace troupe::storage {

TEST(WriteFence, IsClosedUntilItIsOpened) {
  WriteFence fence;
  EXPECT_EQ(fence.term(), std::nullopt);
  EXPECT_EQ(fence.enter().status(), ErrorCode::kNotWritablePrimary);
  fence.open(3);
  ASSERT_TRUE(fence.enter().isOK());
  EXPECT_EQ(fence.enter()->term(), 3);
}

TEST(WriteFence, ClosingWaitsForTheUnitsInside) {
  WriteFence fence;
  fence.open(1);
  auto pass = fence.enter();
  auto other = fence.enter();
  int drained = 0;
  fence.close([&] { ++drained; });
  EXPECT_EQ(fence.enter().status(), ErrorCode::kNotWritablePrimary);
  EXPECT_EQ(drained, 0);
  { const auto ended = std::move(*pass); }
  EXPECT_EQ(drained, 0) << "one is still inside";
  { const auto ended = std::move(*other); }
  EXPECT_EQ(drained, 1);
}

TEST(WriteFence, AnEmptyOneIsDrainedAtOnce) {
  WriteFence fence;
  fence.open(1);
  bool drained = false;
  fence.close([&] { drained = true; });
  EXPECT_TRUE(drained);
}

TEST(WriteFence, ALateRetryIsOfAnotherTerm) {
  WriteFence fence;
  fence.open(1);
  const int64_t began = fence.enter()->term();
  fence.close([] {});
  EXPECT_EQ(fence.enter(began).status(), ErrorCode::kNotWritablePrimary);
  fence.open(2);
  EXPECT_EQ(fence.enter(began).status(), ErrorCode::kInterruptedDueToReplStateChange);
  EXPECT_TRUE(fence.enter(2).isOK());
  bool drained = false;
  fence.close([&] { drained = true; });
  EXPECT_TRUE(drained) << "refused ones are not inside";
}

TEST(WriteFence, IsNotOpenedTwiceNorWhileItDrains) {
  WriteFence fence;
  fence.open(1);
  EXPECT_THROW(fence.open(2), std::logic_error);
  const auto pass = fence.enter();
  fence.close([] {});
  EXPECT_THROW(fence.open(2), std::logic_error);
}

TEST(WriteFence, ItsOpeningCanBeAwaited) {
  WriteFence fence;
  int opened = 0;
  fence.whenOpen([&] { ++opened; });
  EXPECT_EQ(opened, 0);
  fence.open(1);
  EXPECT_EQ(opened, 1);
  fence.whenOpen([&] { ++opened; });
  EXPECT_EQ(opened, 2) << "it is open already";
  fence.close([] {});
  fence.open(2);
  EXPECT_EQ(opened, 2) << "each is called once";
}

TEST(WriteFence, ItsClosingCanBeAwaited) {
  WriteFence fence;
  int closed = 0;
  {
    const auto already = fence.whenClosed([&] { ++closed; });
  }
  EXPECT_EQ(closed, 1);
  fence.open(1);
  auto watch = fence.whenClosed([&] { ++closed; });
  {
    const auto withdrawn = fence.whenClosed([&] { closed += 100; });
  }
  EXPECT_EQ(closed, 1);
  const WriteFence::Watch moved = std::move(watch);
  fence.close([] {});
  EXPECT_EQ(closed, 2);
}

TEST(WriteFence, NobodyIsInsideOnceItIsDrained) {
  WriteFence fence;
  std::atomic<int> inside{0}, seenInside{0};
  std::atomic<bool> stop{false};
  const auto write = [&] {
    while (!stop) {
      auto pass = fence.enter();
      if (!pass.isOK()) continue;
      ++inside;
      --inside;
    }
  };
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) writers.emplace_back(write);
  for (int64_t term = 1; term <= 500; ++term) {
    fence.open(term);
    std::atomic<bool> drained{false};
    fence.close([&] {
      seenInside += inside.load();
      drained = true;
    });
    while (!drained) std::this_thread::yield();
  }
  stop = true;
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(seenInside, 0);
}

}  // namespace troupe::storage
