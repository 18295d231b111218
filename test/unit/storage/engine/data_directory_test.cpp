#include "storage/engine/data_directory.hpp"

#include <unistd.h>

#include <fstream>

#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

void writeFile(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

bool oneLine(const Status& status) { return status.reason().find('\n') == std::string::npos; }

TEST(DirectoryLock, IsExclusiveAndNamesItsOwner) {
  TemporaryDirectory directory;
  {
    auto lock = DirectoryLock::acquire(directory.path());
    ASSERT_TRUE(lock.isOK());
    const Status second = DirectoryLock::acquire(directory.path()).status();
    EXPECT_EQ(second.code(), ErrorCode::kDBPathInUse);
    EXPECT_NE(second.reason().find(std::to_string(::getpid())), std::string::npos);
    EXPECT_TRUE(oneLine(second));
  }
  EXPECT_TRUE(DirectoryLock::acquire(directory.path()).isOK());
}

TEST(DirectoryLock, AMissingDirectoryIsNamed) {
  const Status status = DirectoryLock::acquire("/nonexistent/data").status();
  EXPECT_EQ(status.code(), ErrorCode::kNonExistentPath);
  EXPECT_NE(status.reason().find("/nonexistent/data"), std::string::npos);
}

TEST(DataFormat, IsWrittenInAFreshDirectoryAndAcceptedAgain) {
  TemporaryDirectory directory;
  ASSERT_TRUE(checkDataFormat(directory.path(), 2).isOK());
  EXPECT_TRUE(checkDataFormat(directory.path(), 2).isOK());
  EXPECT_TRUE(checkDataFormat(directory.path(), 3).isOK());
}

TEST(DataFormat, ANewerOneIsRefusedWithAdvice) {
  TemporaryDirectory directory;
  ASSERT_TRUE(checkDataFormat(directory.path(), 2).isOK());
  const Status status = checkDataFormat(directory.path(), 1);
  EXPECT_EQ(status.code(), ErrorCode::kUnsupportedFormat);
  EXPECT_NE(status.reason().find("start the newer version"), std::string::npos);
  EXPECT_TRUE(oneLine(status));
}

TEST(DataFormat, AnOlderOneIsTakenOverAndThenRefusedByOlderServers) {
  TemporaryDirectory directory;
  ASSERT_TRUE(checkDataFormat(directory.path(), 1).isOK());
  ASSERT_TRUE(checkDataFormat(directory.path(), 2).isOK());
  EXPECT_EQ(checkDataFormat(directory.path(), 1).code(), ErrorCode::kUnsupportedFormat);
}

TEST(DataFormat, AnUnreadableOneIsRefused) {
  TemporaryDirectory directory;
  for (const char* text : {"", "formatVersion: x", "formatVersion: -3", "something else"}) {
    writeFile(directory.path() + "/troupe.format", text);
    EXPECT_EQ(checkDataFormat(directory.path(), 1).code(), ErrorCode::kUnsupportedFormat) << text;
  }
}

TEST(DataFormat, AnotherProgramsDatabaseIsLeftAlone) {
  TemporaryDirectory directory;
  writeFile(directory.path() + "/WiredTiger", "WiredTiger");
  EXPECT_EQ(checkDataFormat(directory.path(), 1).code(), ErrorCode::kUnsupportedFormat);
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/troupe.format"));
}

TEST(SystemError, MapsCausesToCodesThatAdvise) {
  EXPECT_EQ(systemError(ENOSPC, "cannot write", "/x").code(), ErrorCode::kOutOfDiskSpace);
  EXPECT_EQ(systemError(EROFS, "cannot write", "/x").code(), ErrorCode::kUnauthorized);
  EXPECT_EQ(systemError(EIO, "cannot write", "/x").code(), ErrorCode::kOperationFailed);
}

}  // namespace
}  // namespace troupe::storage
