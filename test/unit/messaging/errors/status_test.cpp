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

}  // namespace troupe
