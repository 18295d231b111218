#include "messaging/link/pending_asks.hpp"

#include <gtest/gtest.h>

namespace troupe::link {
namespace {

using namespace std::chrono_literals;

struct Sink final : ReplySink {
  void complete(StatusWith<Payload> answer) noexcept override { answers.push_back(answer.status().code()); }
  std::vector<ErrorCode> answers;
};

TEST(PendingAsks, GivesBackTheDutyOfThatAskOnce) {
  Sink a, b;
  PendingAsks asks;
  const auto first = asks.add(ReplyDuty(&a), kNoDeadline), second = asks.add(ReplyDuty(&b), kNoDeadline);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(asks.size(), 2u);
  asks.take(second).complete(Payload());
  EXPECT_EQ(b.answers, std::vector{ErrorCode::kOK});
  EXPECT_FALSE(asks.take(second));
  EXPECT_FALSE(asks.take(12345));
  asks.take(first).complete(Payload());
  EXPECT_EQ(asks.size(), 0u);
}

TEST(PendingAsks, AnOldNumberDoesNotAnswerANewAskInItsPlace) {
  Sink sink;
  PendingAsks asks;
  const auto old = asks.add(ReplyDuty(&sink), kNoDeadline);
  asks.take(old).complete(Payload());
  const auto young = asks.add(ReplyDuty(&sink), kNoDeadline);
  EXPECT_NE(old, young);
  EXPECT_FALSE(asks.take(old));
  EXPECT_TRUE(asks.take(young));
}

TEST(PendingAsks, LetsGoOfWhatIsTooLateAndOfAll) {
  Sink sink;
  PendingAsks asks;
  const TimePoint now(1h);
  asks.add(ReplyDuty(&sink), now - 1ms);
  asks.add(ReplyDuty(&sink), now + 1ms);
  asks.add(ReplyDuty(&sink), kNoDeadline);
  EXPECT_EQ(asks.takeExpired(now).size(), 1u);
  EXPECT_EQ(asks.takeAll().size(), 2u);
  EXPECT_EQ(asks.size(), 0u);
}

}  // namespace
}  // namespace troupe::link
