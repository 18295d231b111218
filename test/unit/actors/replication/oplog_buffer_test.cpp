#include "actors/replication/oplog_buffer.hpp"

#include <gmock/gmock.h>

#include "test/unit/actors/kernel/kernel_fixture.hpp"

namespace troupe::replication {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Entries whose increments are their numbers; a buffer with room for four of them.
class OplogBufferTest : public KernelTest {
 protected:
  static constexpr size_t kFilling = 1000;

  static FetchedEntry entry(uint32_t number) {
    return {bson::doc("ts", bson::Timestamp{1, number}, "o", std::string(kFilling, 'x')), {1, {1, number}}};
  }
  static std::vector<FetchedEntry> entries(std::vector<uint32_t> numbers) {
    std::vector<FetchedEntry> made;
    for (const uint32_t each : numbers) made.push_back(entry(each));
    return made;
  }
  static std::vector<uint32_t> numbersOf(const std::vector<FetchedEntry>& entries) {
    std::vector<uint32_t> numbers;
    for (const FetchedEntry& each : entries) numbers.push_back(each.opTime.timestamp.increment);
    return numbers;
  }
  static size_t bytesOfOne() {
    OplogBuffer one(1);
    Node aside{{.name = "aside", .environment = std::make_shared<VirtualEnvironment>(), .manual = true}};
    aside.wait(pushInto(&one, entries({1}), nullptr));
    return one.figures().bytes;
  }
  static Task<void> pushInto(OplogBuffer* buffer, std::vector<FetchedEntry> entries, std::optional<bool>* outcome) {
    const bool pushed = co_await buffer->push(std::move(entries));
    if (outcome) *outcome = pushed;
  }
  static Task<void> awaitFilled(OplogBuffer* buffer, bool* filled) {
    co_await buffer->untilFilled();
    *filled = true;
  }
  static Task<void> awaitOpen(OplogBuffer* buffer, bool* open) {
    co_await buffer->untilOpen();
    *open = true;
  }
  std::optional<bool> push(const std::vector<uint32_t>& numbers) {
    std::optional<bool> outcome;
    begin(numbers, outcome);
    return outcome;
  }
  void begin(const std::vector<uint32_t>& numbers, std::optional<bool>& outcome) {
    node.start(pushInto(&buffer, entries(numbers), &outcome));
    node.run();
  }
  std::vector<uint32_t> take(size_t maxEntries = 100, size_t maxBytes = 1 << 20) {
    auto taken = numbersOf(buffer.take(maxEntries, maxBytes));
    node.run();
    return taken;
  }

  const size_t bytes = bytesOfOne();
  OplogBuffer buffer{4 * bytes};
};

}  // namespace

TEST_F(OplogBufferTest, EntriesComeOutInTheirOrder) {
  EXPECT_EQ(push({1, 2}), true);
  EXPECT_EQ(push({3}), true);
  EXPECT_EQ(buffer.newest(), (OpTime{1, {1, 3}}));
  EXPECT_THAT(take(2), ElementsAre(1, 2));
  EXPECT_THAT(take(), ElementsAre(3));
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_EQ(buffer.newest(), (OpTime{1, {1, 3}})) << "also when it has been taken";
}

TEST_F(OplogBufferTest, TakesAsMuchAsIsWantedButAtLeastOne) {
  EXPECT_EQ(push({1, 2, 3}), true);
  EXPECT_THAT(take(100, 2 * bytes), ElementsAre(1, 2));
  EXPECT_THAT(take(100, 1), ElementsAre(3));
}

// REP-018.
TEST_F(OplogBufferTest, AFullBufferMakesItsWriterWait) {
  EXPECT_EQ(push({1, 2, 3}), true);
  std::optional<bool> later;
  begin({4, 5}, later);
  EXPECT_FALSE(later);
  EXPECT_EQ(buffer.figures().entries, 3u);
  EXPECT_THAT(take(1), ElementsAre(1));
  EXPECT_EQ(later, true);
  EXPECT_THAT(take(), ElementsAre(2, 3, 4, 5));
}

TEST_F(OplogBufferTest, ABatchLargerThanTheBufferGoesIntoAnEmptyOne) {
  EXPECT_EQ(push({1}), true);
  std::optional<bool> large;
  begin({2, 3, 4, 5, 6, 7}, large);
  EXPECT_FALSE(large);
  EXPECT_THAT(take(), ElementsAre(1));
  EXPECT_EQ(large, true);
  EXPECT_EQ(buffer.figures().entries, 6u);
}

TEST_F(OplogBufferTest, AReaderHearsOfEntriesAndOfTheEnd) {
  bool filled = false, closed = false;
  node.start(awaitFilled(&buffer, &filled));
  node.run();
  EXPECT_FALSE(filled);
  push({1});
  EXPECT_TRUE(filled);
  take();
  node.start(awaitFilled(&buffer, &closed));
  node.run();
  EXPECT_FALSE(closed);
  buffer.close();
  node.run();
  EXPECT_TRUE(closed);
}

TEST_F(OplogBufferTest, AClosedBufferTakesNoMoreAndKeepsWhatItHas) {
  push({1, 2, 3, 4});
  std::optional<bool> waiting;
  begin({5}, waiting);
  buffer.close();
  node.run();
  EXPECT_EQ(waiting, false);
  EXPECT_EQ(push({6}), false);
  EXPECT_TRUE(buffer.isClosed());
  EXPECT_THAT(take(), ElementsAre(1, 2, 3, 4));
}

TEST_F(OplogBufferTest, APushThatWaitedThroughAReopeningHasFailed) {
  push({1, 2, 3, 4});
  std::optional<bool> waiting;
  begin({5}, waiting);
  buffer.reopen();
  node.run();
  EXPECT_EQ(waiting, false);
  EXPECT_THAT(take(), IsEmpty());
  EXPECT_EQ(buffer.newest(), std::nullopt);
  EXPECT_EQ(push({2}), true) << "of another log";
  EXPECT_THAT(take(), ElementsAre(2));
}

TEST_F(OplogBufferTest, AReopeningBeginsAnotherLife) {
  uint64_t life = 7;
  buffer.take(1, 1, &life);
  EXPECT_EQ(life, buffer.life());
  bool open = false, openAlready = false;
  buffer.close();
  node.start(awaitOpen(&buffer, &open));
  node.run();
  EXPECT_FALSE(open);
  buffer.reopen();
  node.run();
  EXPECT_TRUE(open);
  EXPECT_FALSE(buffer.isClosed());
  EXPECT_NE(buffer.life(), life);
  node.start(awaitOpen(&buffer, &openAlready));
  EXPECT_TRUE(openAlready);
}

TEST_F(OplogBufferTest, ItSaysHowFullItIs) {
  EXPECT_EQ(buffer.figures().maxBytes, 4 * bytes);
  EXPECT_GE(bytes, kFilling);
  push({1, 2});
  EXPECT_EQ(buffer.figures().entries, 2u);
  EXPECT_EQ(buffer.figures().bytes, 2 * bytes);
  take();
  EXPECT_EQ(buffer.figures().bytes, 0u);
}

}  // namespace troupe::replication
