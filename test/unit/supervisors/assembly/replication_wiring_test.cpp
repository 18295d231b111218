#include "supervisors/assembly/replication_wiring.hpp"

#include <gtest/gtest.h>

namespace troupe::supervisors {
namespace {

TEST(EndOfMisfitData, DataThatAreNotThoseOfTheLogNeedAnOperator) {
  for (const auto code :
       {ErrorCode::kNoSuchKey, ErrorCode::kNamespaceNotFound, ErrorCode::kIndexNotFound, ErrorCode::kNamespaceExists,
        ErrorCode::kInvalidOptions, ErrorCode::kFailedToParse, ErrorCode::kCommandNotFound,
        ErrorCode::kIllegalOperation, ErrorCode::kManualInterventionRequired}) {
    const Status end = endOfMisfitData({code, "why"});
    EXPECT_EQ(end, ErrorCode::kManualInterventionRequired) << errorName(code);
    EXPECT_EQ(end.reason(), "why");
  }
}

TEST(EndOfMisfitData, WhatMayPassIsLeftAsItIs) {
  for (const auto code : {ErrorCode::kInternalError, ErrorCode::kOutOfDiskSpace, ErrorCode::kTooManyFilesOpen,
                          ErrorCode::kWriteConflict, ErrorCode::kTemporarilyUnavailable, ErrorCode::kBadValue,
                          ErrorCode::kInterrupted, ErrorCode::kInterruptedAtShutdown})
    EXPECT_EQ(endOfMisfitData({code, "why"}), code) << errorName(code);
}

}  // namespace
}  // namespace troupe::supervisors
