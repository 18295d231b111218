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
