#include "supervisors/cli/member_process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace troupe::supervisors {
namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(20);

/// A process that runs until it is ended, with a file in the place of a data directory.
class MemberProcessTest : public ::testing::Test {
 protected:
  MemberProcessTest() {
    folder_ = (fs::temp_directory_path() / "troupe-unit-XXXXXX").string();
    if (!mkdtemp(folder_.data())) throw std::runtime_error("no temporary folder");
    files_ = {.data = folder_ + "/data", .log = "", .errors = folder_ + "/errors", .pid = folder_ + "/pid"};
    std::ofstream(files_.data) << "";
  }
  ~MemberProcessTest() override {
    (void)endMember(files_, SIGKILL, kPatience);
    fs::remove_all(folder_);
  }
  Status start() const { return startMember({"/usr/bin/tail", "-f", files_.data}, files_); }

  std::string folder_;
  MemberFiles files_;
};

TEST_F(MemberProcessTest, IsFoundByItsFileAndEndsOnce) {
  EXPECT_EQ(runningMember(files_), std::nullopt);
  ASSERT_TRUE(start().isOK());
  const auto pid = runningMember(files_);
  ASSERT_TRUE(pid.has_value());
  EXPECT_NE(getpgid(*pid), getpgid(0)) << "what the terminal sends to this program is not for it";
  EXPECT_TRUE(*endMember(files_, SIGKILL, kPatience));
  EXPECT_EQ(runningMember(files_), std::nullopt);
  EXPECT_FALSE(*endMember(files_, SIGKILL, kPatience));
}

TEST_F(MemberProcessTest, ANumberThatAnotherProcessHasGotIsNone) {
  std::ofstream(files_.pid) << getpid();
  EXPECT_EQ(runningMember(files_), std::nullopt);
  EXPECT_FALSE(*endMember(files_, SIGKILL, kPatience)) << "this test would not see this";
}

TEST_F(MemberProcessTest, AProgramThatCannotBeRunIsAnError) {
  const Status failed = startMember({folder_ + "/none", files_.data}, files_);
  EXPECT_EQ(failed, ErrorCode::kInternalError);
  EXPECT_NE(failed.reason().find("No such file"), std::string::npos) << failed.reason();
  EXPECT_EQ(runningMember(files_), std::nullopt);
}

TEST_F(MemberProcessTest, WhoDoesNotListenIsGivenUpOn) {
  ASSERT_TRUE(
      startMember({"/bin/sh", "-c", "trap '' TERM; echo set >&2; while :; do sleep 0.1; done", files_.data}, files_)
          .isOK());
  while (lastError(files_).empty()) usleep(1000);
  EXPECT_EQ(endMember(files_, SIGTERM, std::chrono::milliseconds(50)).status(), ErrorCode::kExceededTimeLimit);
  EXPECT_TRUE(*endMember(files_, SIGKILL, kPatience));
}

TEST_F(MemberProcessTest, ItsLastWordsAreKept) {
  EXPECT_EQ(lastError(files_), "");
  ASSERT_TRUE(startMember({"/bin/sh", "-c", "echo first >&2; echo why >&2", files_.data}, files_).isOK());
  while (runningMember(files_)) usleep(1000);
  EXPECT_EQ(lastError(files_), "why");
}

}  // namespace
}  // namespace troupe::supervisors
