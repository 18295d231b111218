#include <gtest/gtest.h>

#include "supervisors/daemon/server.hpp"

namespace troupe::supervisors {
namespace {

int codeOf(ErrorCode code, FailedWhile when = FailedWhile::kStarting) { return exitCodeFor(Status(code, "why"), when); }

TEST(ExitCode, AWrongOptionIsTold) {
  for (const auto code : {ErrorCode::kBadValue, ErrorCode::kInvalidOptions, ErrorCode::kFailedToParse})
    EXPECT_EQ(codeOf(code), 2) << errorName(code);
  EXPECT_EQ(codeOf(ErrorCode::kUnsupportedFormat), 62);
}

TEST(ExitCode, DataThatNeedAnOperatorAreTold) {
  EXPECT_EQ(codeOf(ErrorCode::kManualInterventionRequired), 65);
  EXPECT_EQ(codeOf(ErrorCode::kManualInterventionRequired, FailedWhile::kRunning), 65);
  EXPECT_EQ(codeOf(ErrorCode::kDataCorruptionDetected), 65);
  EXPECT_EQ(codeOf(ErrorCode::kDataCorruptionDetected, FailedWhile::kRunning), 100);
}

/// Another start may do better.
TEST(ExitCode, AllElseIsOneCode) {
  for (const auto code : {ErrorCode::kInternalError, ErrorCode::kOutOfDiskSpace, ErrorCode::kInitialSyncFailure,
                          ErrorCode::kOperationFailed})
    EXPECT_EQ(codeOf(code), 100) << errorName(code);
}

TEST(ExitCode, OfAServerThatHadStartedNoOptionIsToBlame) {
  for (const auto code :
       {ErrorCode::kBadValue, ErrorCode::kInvalidOptions, ErrorCode::kFailedToParse, ErrorCode::kUnsupportedFormat})
    EXPECT_EQ(codeOf(code, FailedWhile::kRunning), 100) << errorName(code);
}

}  // namespace
}  // namespace troupe::supervisors
