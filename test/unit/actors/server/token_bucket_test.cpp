#include "actors/server/token_bucket.hpp"

#include <gtest/gtest.h>

namespace troupe::server {
namespace {

using namespace std::chrono_literals;

constexpr TokenRate kRate{.perSecond = 10, .burst = 3};
const TimePoint kStart = TimePoint() + 1h;

TEST(TokenBucket, GivesABurstAndThenTheRate) {
  TokenBucket bucket;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(bucket.take(kStart, kRate));
  EXPECT_FALSE(bucket.take(kStart, kRate));
  EXPECT_FALSE(bucket.take(kStart + 99ms, kRate));
  EXPECT_TRUE(bucket.take(kStart + 100ms, kRate));
  EXPECT_FALSE(bucket.take(kStart + 100ms, kRate));
}

TEST(TokenBucket, KeepsNoMoreThanTheBurst) {
  TokenBucket bucket;
  EXPECT_TRUE(bucket.take(kStart, kRate));
  int taken = 0;
  while (bucket.take(kStart + 1h, kRate)) ++taken;
  EXPECT_EQ(taken, 3);
}

TEST(TokenBucket, ARateOfZeroLimitsNothing) {
  TokenBucket bucket;
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(bucket.take(kStart, {}));
  EXPECT_EQ(bucket.reserve(kStart, {}), Duration::zero());
}

TEST(TokenBucket, ReservesTokensThatAreYetToCome) {
  TokenBucket bucket;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bucket.reserve(kStart, kRate), Duration::zero());
  EXPECT_EQ(bucket.reserve(kStart, kRate), 100ms);
  EXPECT_EQ(bucket.reserve(kStart, kRate), 200ms);
}

TEST(AddressBuckets, OneAddressDoesNotUseUpAnothers) {
  AddressBuckets buckets;
  while (buckets.take("10.0.0.1", kStart, kRate)) {
  }
  EXPECT_TRUE(buckets.take("10.0.0.2", kStart, kRate));
}

TEST(AddressBuckets, RemembersABoundedNumberOfAddresses) {
  AddressBuckets buckets;
  for (size_t i = 0; i < AddressBuckets::kMostAddresses; ++i)
    EXPECT_TRUE(buckets.take("a" + std::to_string(i), kStart, kRate));
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += buckets.take("b" + std::to_string(i), kStart, kRate);
  EXPECT_EQ(taken, 3) << "those that do not fit share one bucket";
  EXPECT_EQ(buckets.size(), AddressBuckets::kMostAddresses);
  EXPECT_TRUE(buckets.take("c", kStart + 1s, kRate)) << "full buckets make room";
  EXPECT_EQ(buckets.size(), 1u);
}

TEST(AddressKey, IsTheHostAndForIpv6ItsNetwork) {
  EXPECT_EQ(addressKey("10.0.0.9:51234"), "10.0.0.9");
  EXPECT_EQ(addressKey("::ffff:10.0.0.9:51234"), "10.0.0.9");
  EXPECT_EQ(addressKey("2001:db8:1:2:3:4:5:6:51234"), "2001:db8:1:2::/64");
  EXPECT_EQ(addressKey("2001:db8:1:2:ffff::1:400"), "2001:db8:1:2::/64");
  EXPECT_EQ(addressKey("n1:27017"), "n1");
}

}  // namespace
}  // namespace troupe::server
