#include "messaging/wire/crc32c.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::wire {
namespace {

TEST(Crc32c, GivesTheVectorsOfRfc3720) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
}

}  // namespace
}  // namespace troupe::wire
