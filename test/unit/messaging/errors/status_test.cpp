#include "messaging/errors/status.hpp"

#include <gtest/gtest.h>

namespace troupe {

TEST(ErrorName, IsTheOneDriversKnow) {
  EXPECT_EQ(errorName(ErrorCode(24)), "LockTimeout");
  EXPECT_EQ(errorName(ErrorCode(46)), "LockBusy");
  EXPECT_EQ(errorName(ErrorCode(106)), "DistributedClockSkewed");
  EXPECT_EQ(errorName(ErrorCode(109)), "ConfigurationInProgress");
  EXPECT_EQ(errorName(ErrorCode(207)), "InvalidUUID");
  EXPECT_EQ(errorName(ErrorCode(9001)), "SocketException");
}

TEST(ErrorName, OfANumberWithoutAPublicNameIsItsLocation) {
  EXPECT_EQ(errorName(ErrorCode(3)), "Location3");
  EXPECT_EQ(errorName(ErrorCode::kUnknownField), "Location40415") << "its name is the source's own";
}

TEST(Status, LeavesOutTheMiddleOfALongReason) {
  const Status status(ErrorCode::kBadValue, "begin " + std::string(10'000'000, 'x') + " end");
  EXPECT_LT(status.reason().size(), 3200u);
  EXPECT_TRUE(status.reason().starts_with("begin xxx"));
  EXPECT_TRUE(status.reason().ends_with("xxx end"));
  EXPECT_NE(status.reason().find("bytes left out"), std::string::npos);
  EXPECT_LT(status.withContext(std::string(10'000, 'y')).reason().size(), 3200u);
  const std::string usual(3000, 'x');
  EXPECT_EQ(Status(ErrorCode::kBadValue, usual).reason(), usual);
}

}  // namespace troupe
