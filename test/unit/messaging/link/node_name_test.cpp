#include "messaging/link/node_name.hpp"

#include <gtest/gtest.h>

namespace troupe::link {
namespace {

TEST(NodeName, IsAHostAndAPort) {
  EXPECT_EQ(*splitNodeName("db1.example:27017"), std::pair(std::string("db1.example"), std::string("27017")));
  EXPECT_EQ(*splitNodeName("[::1]:1"), std::pair(std::string("::1"), std::string("1")));
}

TEST(NodeName, OtherTextsAreErrors) {
  for (const char* bad :
       {"", "db1", ":27017", "db1:", "db1:x", "db1:70000", "db1:123456", "db1:-1", "a b:1", "a,b:1", "a/b:1", "a\n:1"})
    EXPECT_EQ(splitNodeName(bad).status().code(), ErrorCode::kBadValue) << bad;
}

}  // namespace
}  // namespace troupe::link
