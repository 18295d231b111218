#include "storage/engine/ident.hpp"

#include <gtest/gtest.h>

#include <string>

namespace troupe::storage {
namespace {

TEST(Ident, IsAPlainFileName) {
  for (const char* good : {"_mdb_catalog", "collection-7-8723", "a", "index.1"}) EXPECT_TRUE(checkIdent(good).isOK());
  for (const char* bad : {"", ".hidden", "a/b", "a b", "a\"b", "a,b", "a(b", "\xc3\xa4"}) {
    EXPECT_EQ(checkIdent(bad).code(), ErrorCode::kBadValue) << bad;
  }
  EXPECT_TRUE(checkIdent(std::string(200, 'x')).isOK());
  EXPECT_FALSE(checkIdent(std::string(201, 'x')).isOK());
}

TEST(Ident, OptionsHoldKnownCompressorsAndPlainMetadata) {
  EXPECT_TRUE(
      checkTableOptions({.logged = true, .blockCompressor = "zlib", .appMetadata = "formatVersion=1,x=y"}).isOK());
  EXPECT_FALSE(checkTableOptions({.logged = true, .blockCompressor = "zstd", .appMetadata = ""}).isOK());
  EXPECT_FALSE(checkTableOptions({.logged = true, .blockCompressor = "none", .appMetadata = "),key_format=S"}).isOK());
}

}  // namespace
}  // namespace troupe::storage
