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

TEST(Settings, TheLocalSocketStandsBesideThisMachinesOwnAddress) {
  Options options;
  options.port = 7000;
  EXPECT_EQ(localSocketPath(options), "/tmp/mongodb-7000.sock");
  options.unixSocketPrefix = "/run/troupe";
  options.bindIp = "10.0.0.7,localhost";
  EXPECT_EQ(localSocketPath(options), "/run/troupe/mongodb-7000.sock");
  options.bindIp = "10.0.0.7";
  EXPECT_EQ(localSocketPath(options), "");
  options.bindIp = "0.0.0.0";
  EXPECT_NE(localSocketPath(options), "");
  options.unixSocket = false;
  EXPECT_EQ(localSocketPath(options), "");
}

TEST(Settings, PermissionsOfTheLocalSocketAreOctal) {
  Options options;
  EXPECT_EQ(localSocketPermissions(options).value(), 0700u);
  for (const auto& [text, bits] : {std::pair{"0770", 0770u}, {"666", 0666u}, {"0", 0u}}) {
    options.filePermissions = text;
    EXPECT_EQ(localSocketPermissions(options).value(), bits);
  }
  for (const auto* wrong : {"", "0888", "1000", "-1", "0700 ", "u=rwx"}) {
    options.filePermissions = wrong;
    EXPECT_EQ(localSocketPermissions(options).status().code(), ErrorCode::kBadValue) << wrong;
  }
}

}  // namespace
}  // namespace troupe::supervisors
