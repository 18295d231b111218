#include "supervisors/daemon/settings.hpp"

#include <gtest/gtest.h>

namespace troupe::supervisors {
namespace {

TEST(Settings, ListsAreSeparatedByCommas) {
  EXPECT_EQ(splitList("a,b,,c"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(splitList("").empty());
}

TEST(Settings, TheCacheIsAsLargeAsAskedForAndNeverTooSmall) {
  Options options;
  EXPECT_GE(cacheBytes(options), int64_t{256} << 20);
  options.cacheSizeGB = 0.5;
  EXPECT_EQ(cacheBytes(options), int64_t{512} << 20);
}

TEST(Settings, UnknownCompressorsAreNamed) {
  EXPECT_EQ(compressors("zlib,snappy").value().size(), 2);
  EXPECT_TRUE(compressors("disabled").value().empty());
  EXPECT_NE(compressors("zlib,lzma").status().reason().find("'lzma'"), std::string::npos);
}

TEST(Settings, ANodeIsReachedByAnAddressItListensOn) {
  Options options;
  options.port = 7000;
  options.bindIp = "10.0.0.7,127.0.0.1";
  EXPECT_EQ(reachableName(options), "10.0.0.7:7000");
  options.bindIp = "::1";
  EXPECT_EQ(reachableName(options), "[::1]:7000");
}

}  // namespace
}  // namespace troupe::supervisors
