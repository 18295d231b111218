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

}  // namespace
}  // namespace troupe::storage
