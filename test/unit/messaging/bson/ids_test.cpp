#include "messaging/bson/ids.hpp"

#include <gtest/gtest.h>

namespace troupe::bson {
namespace {

TEST(Ids, RandomUuidsAreOfVersion4) {
  const Uuid uuid = randomUuid([] { return ~uint64_t{0}; });
  EXPECT_EQ(uuid.toString(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

TEST(Ids, ObjectIdsHoldTheTimeTheNodeAndACounter) {
  uint64_t draws[] = {0x1122334455ULL, 0xFFFFFFULL};
  int next = 0;
  ObjectIdGenerator ids([&] { return draws[next++]; });
  EXPECT_EQ(ids.next(0x01020304).toString(), "010203041122334455ffffff");
  EXPECT_EQ(ids.next(0x01020305).toString(), "010203051122334455000000");
}

}  // namespace
}  // namespace troupe::bson
