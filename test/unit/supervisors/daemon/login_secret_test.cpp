#include "supervisors/daemon/login_secret.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "messaging/auth/random.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::supervisors {
namespace {

TEST(LoginSecret, IsTheSameForAllMembersWithOneKey) {
  const std::string secret = loginSecretOfKey("shared key");
  EXPECT_EQ(secret.size(), 32u);
  EXPECT_EQ(loginSecretOfKey("shared key"), secret);
  EXPECT_NE(loginSecretOfKey("another key"), secret);
}

TEST(LoginSecret, StaysOverRestartsInItsOwnDirectory) {
  const storage::TemporaryDirectory one, other;
  const auto random = auth::secureRandom();
  const auto first = loginSecretKeptIn(one.path(), random);
  ASSERT_TRUE(first.isOK()) << first.status().reason();
  EXPECT_EQ(first->size(), 32u);
  EXPECT_EQ(*loginSecretKeptIn(one.path(), random), *first);
  EXPECT_NE(*loginSecretKeptIn(other.path(), random), *first);
  const auto mode = std::filesystem::status(one.path() + "/troupe.secret").permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(LoginSecret, AFileThatHoldsNoneIsReplaced) {
  const storage::TemporaryDirectory directory;
  std::ofstream(directory.path() + "/troupe.secret") << "c2hvcnQ=\n";
  const auto made = loginSecretKeptIn(directory.path(), auth::secureRandom());
  ASSERT_TRUE(made.isOK()) << made.status().reason();
  EXPECT_EQ(made->size(), 32u);
  EXPECT_EQ(*loginSecretKeptIn(directory.path(), auth::secureRandom()), *made);
}

TEST(LoginSecret, WhereItCannotBeKeptThatIsAnError) {
  EXPECT_FALSE(loginSecretKeptIn("/nonexistent", auth::secureRandom()).isOK());
}

}  // namespace
}  // namespace troupe::supervisors
