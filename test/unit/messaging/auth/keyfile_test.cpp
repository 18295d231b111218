#include "messaging/auth/keyfile.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

namespace troupe::auth {
namespace {

namespace fs = std::filesystem;

class KeyFile : public testing::Test {
 protected:
  void SetUp() override { path_ = fs::path(testing::TempDir()) / ("troupe_key_" + std::to_string(::getpid())); }
  void TearDown() override { fs::remove(path_); }
  StatusWith<std::string> read(std::string_view content,
                               fs::perms mode = fs::perms::owner_read | fs::perms::owner_write) {
    std::ofstream(path_, std::ios::binary) << content;
    fs::permissions(path_, mode);
    return readKeyFile(path_);
  }
  fs::path path_;
};

TEST_F(KeyFile, IsReadWithoutItsWhiteSpace) { EXPECT_EQ(*read("  abc+/\n123=\t\r\n"), "abc+/123="); }

TEST_F(KeyFile, HoldsSixTo1024Characters) {
  EXPECT_EQ(read("12345").status(), ErrorCode::kBadValue);
  EXPECT_TRUE(read("123456").isOK());
  EXPECT_TRUE(read(std::string(1024, 'a')).isOK());
  EXPECT_EQ(read(std::string(1025, 'a')).status(), ErrorCode::kBadValue);
  EXPECT_EQ(read("").status(), ErrorCode::kBadValue);
}

TEST_F(KeyFile, HoldsBase64Only) {
  EXPECT_EQ(read("abc-def!").status(), ErrorCode::kBadValue);
  EXPECT_EQ(read("abcdef\xC3\xA4").status(), ErrorCode::kBadValue);
}

TEST_F(KeyFile, MustBeClosedToGroupAndOthers) {
  using fs::perms;
  for (const auto extra : {perms::group_read, perms::others_read, perms::group_write, perms::others_exec})
    EXPECT_EQ(read("abcdef", perms::owner_read | perms::owner_write | extra).status(), ErrorCode::kBadValue);
  EXPECT_TRUE(read("abcdef", perms::owner_read | perms::owner_write).isOK());
}

TEST_F(KeyFile, ThatIsMissingOrADirectoryIsNamed) {
  EXPECT_EQ(readKeyFile(path_).status(), ErrorCode::kFileNotOpen);
  EXPECT_NE(readKeyFile(path_).status().reason().find(path_.string()), std::string::npos);
  EXPECT_EQ(readKeyFile(testing::TempDir()).status(), ErrorCode::kFileNotOpen);
}

}  // namespace
}  // namespace troupe::auth
