#include "storage/engine/open_failure.hpp"

#include <gtest/gtest.h>
#include <wiredtiger.h>

#include <cerrno>
#include <string>

namespace troupe::storage {
namespace {

TEST(WiredTigerOpenFailure, ADiskThatFailsIsNoReasonForARepairToCutTheLog) {
  const std::string text = "x.wt: handle-read: pread: failed to read 512 bytes at offset 0: Input/output error";
  EXPECT_FALSE(isOfDamage(openFailure(WT_PANIC, text, /*reportsDamage=*/true, "/data")));
  EXPECT_FALSE(isOfDamage(openFailure(EIO, "", false, "/data")));
  EXPECT_TRUE(isOfDamage(openFailure(WT_PANIC, "x.wt: read checksum error", true, "/data")));
}

TEST(WiredTigerOpenFailure, AFullDiskTellsHowMuchIsNeeded) {
  const Status full = openFailure(ENOSPC, "", false, "/data");
  EXPECT_EQ(full.code(), ErrorCode::kOutOfDiskSpace);
  EXPECT_EQ(full.reason(),
            "no space left for the data directory /data; free some space, about 100 MiB for the journal, and start "
            "again");
}

}  // namespace
}  // namespace troupe::storage
