#include "actors/maintenance/ttl_subpass.hpp"

#include <gtest/gtest.h>

namespace troupe::maintenance {
namespace {

using query::ExpiryRule;
using namespace std::chrono_literals;

const ExpiryRule kA{bson::Uuid{}, "a"}, kB{bson::Uuid{}, "b"}, kC{bson::Uuid{}, "c"};
constexpr TimePoint kStart{};

/// The indexes visited, with those in `deep` having more to remove on each visit but their last.
std::string visits(TtlSubpass& subpass, std::map<std::string, int> deep) {
  std::string order;
  while (const auto rule = subpass.next(kStart)) {
    order += rule->index;
    subpass.visited(--deep[rule->index] >= 0);
  }
  return order;
}

TEST(TtlSubpass, VisitsEachRuleInTurnUntilNothingOfItIsLeft) {
  TtlSubpass subpass({kA, kB, kC}, kStart + 1s);
  EXPECT_EQ(visits(subpass, {{"a", 2}, {"c", 1}}), "abcaca");
  EXPECT_TRUE(subpass.left().empty());
}

TEST(TtlSubpass, EndsWithItsTimeAndKnowsWhatIsLeft) {
  TtlSubpass subpass({kA, kB, kC}, kStart + 1s);
  ASSERT_EQ(subpass.next(kStart), kA);
  subpass.visited(true);
  ASSERT_EQ(subpass.next(kStart + 999ms), kB);
  subpass.visited(false);
  EXPECT_EQ(subpass.next(kStart + 1s), std::nullopt);
  EXPECT_EQ(subpass.left(), (std::deque{kC, kA}));
}

query::Expired batchOf(size_t documents) { return {.documents = documents, .areMore = true}; }

TEST(TtlTurn, EndsWithItsNumberOfDocumentsWithItsTimeOrWithItsRule) {
  TtlTurn number = TtlTurn::batched(200, 0ms, kStart);
  EXPECT_EQ(number.next(kStart), TtlTurn::kBatch);
  number.removed(batchOf(TtlTurn::kBatch));
  EXPECT_EQ(number.next(kStart + 1h), 200 - TtlTurn::kBatch);
  number.removed(batchOf(200 - TtlTurn::kBatch));
  EXPECT_EQ(number.next(kStart), std::nullopt);
  EXPECT_TRUE(number.areMore());

  TtlTurn time = TtlTurn::batched(0, 10ms, kStart);
  time.removed(batchOf(1));
  EXPECT_EQ(time.next(kStart + 9ms), TtlTurn::kBatch);
  EXPECT_EQ(time.next(kStart + 10ms), std::nullopt);
  EXPECT_TRUE(time.areMore());
  time.removed({.documents = 1, .areMore = false});
  EXPECT_EQ(time.next(kStart), std::nullopt);
  EXPECT_FALSE(time.areMore());
}

TEST(TtlTurn, HasOneBatchHoweverLateItComes) {
  TtlTurn turn = TtlTurn::batched(10, 1ms, kStart);
  EXPECT_EQ(turn.next(kStart + 1h), 10u);
  turn.removed(batchOf(1));
  EXPECT_EQ(turn.next(kStart + 1h), std::nullopt);
}

TEST(TtlTurn, WithoutBatchesItRemovesOneDocumentAfterTheOtherToTheEndOfItsRule) {
  TtlTurn turn = TtlTurn::oneByOne();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(turn.next(kStart + i * 1h), 1u);
    turn.removed(batchOf(1));
  }
  turn.removed({.documents = 1, .areMore = false});
  EXPECT_EQ(turn.next(kStart), std::nullopt);
}

TEST(TtlLag, CountsTheSubpassesInARowThatLeftARuleBehind) {
  TtlLag lag;
  for (int i = 0; i < 3; ++i) lag.ended(TtlSubpass({kA, kB}, kStart));
  EXPECT_EQ(lag.of(kA), 3);
  lag.ended(TtlSubpass({kB}, kStart));
  EXPECT_EQ(lag.of(kA), 0) << "it came to its end";
  EXPECT_EQ(lag.of(kB), 4);
  EXPECT_EQ(lag.size(), 1u);
}

}  // namespace
}  // namespace troupe::maintenance
