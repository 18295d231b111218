#include "supervisors/daemon/descriptor_shares.hpp"

#include <gtest/gtest.h>

namespace troupe::supervisors {
namespace {

int64_t sum(const DescriptorShares& s) { return s.reserve + s.links + s.admin + s.connections + s.tables; }

TEST(DescriptorShares, NeverExceedTheLimitWhateverIsAskedFor) {
  for (const int64_t limit : {256, 700, 1024, 4096, 20'000, 64'000, 1 << 20})
    for (const int64_t connections : {5, 500, 10'000, 1'000'000})
      for (const int64_t tables : {0, 100, 1'000'000}) {
        const auto shares = shareDescriptors({.limit = limit, .connections = connections, .openTables = tables});
        ASSERT_TRUE(shares.isOK()) << shares.status().toString();
        EXPECT_LE(sum(*shares), limit);
        EXPECT_GE(shares->reserve, 64);
        EXPECT_GE(shares->tables, 16);
        EXPECT_GE(shares->connections, 5);
      }
}

TEST(DescriptorShares, TablesGetWhatConnectionsDoNotAskFor) {
  const auto shares = shareDescriptors({.limit = 64'000, .connections = 10'000});
  ASSERT_TRUE(shares.isOK());
  EXPECT_EQ(shares->connections, 10'000);
  EXPECT_EQ(sum(*shares), 64'000);
}

TEST(DescriptorShares, AShortageIsSharedByHalves) {
  const auto shares = shareDescriptors({.limit = 1024, .connections = 10'000});
  ASSERT_TRUE(shares.isOK());
  EXPECT_EQ(shares->connections, shares->tables);
  EXPECT_EQ(sum(*shares), 1024);
}

TEST(DescriptorShares, TheOperatorsWishesCount) {
  const auto shares = shareDescriptors({.limit = 4096, .connections = 3000, .openTables = 500, .reserve = 300});
  ASSERT_TRUE(shares.isOK());
  EXPECT_EQ(shares->reserve, 300);
  EXPECT_EQ(shares->tables, 500);
  EXPECT_EQ(shares->connections, 3000);
}

TEST(DescriptorShares, TooLowALimitIsRefusedWithAdvice) {
  const Status few = shareDescriptors({.limit = 200}).status();
  EXPECT_EQ(few, ErrorCode::kInvalidOptions);
  EXPECT_NE(few.reason().find("ulimit -n"), std::string::npos);
  EXPECT_EQ(shareDescriptors({.limit = 1024, .reserve = 1000}).status(), ErrorCode::kInvalidOptions);
}

TEST(DescriptorShares, TheLimitOfThisProcessIsRaisedAsFarAsItMay) {
  const int64_t raised = raiseDescriptorLimit();
  EXPECT_GE(raised, kFewestDescriptors);
  EXPECT_EQ(raiseDescriptorLimit(), raised);
}

}  // namespace
}  // namespace troupe::supervisors
