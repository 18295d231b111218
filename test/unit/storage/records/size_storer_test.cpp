#include "storage/records/size_storer.hpp"

#include <gtest/gtest.h>

#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

TEST(SizeStorer, RemembersSizesThatWereFlushed) {
  WiredTigerHarness harness;
  {
    auto storer = SizeStorer::open(harness.engine());
    ASSERT_TRUE(storer.isOK()) << storer.status().toString();
    auto size = (*storer)->of("collection-1");
    size->records = 3;
    size->bytes = 300;
    size->dirty = true;
    (*storer)->of("collection-2")->dirty = true;
    ASSERT_TRUE((*storer)->flush().isOK());
    (*storer)->forget("collection-2");
    ASSERT_TRUE((*storer)->flush().isOK());
  }
  harness.reopen();
  auto storer = SizeStorer::open(harness.engine());
  EXPECT_EQ((*storer)->of("collection-1")->records, 3);
  EXPECT_EQ((*storer)->of("collection-1")->bytes, 300);
  EXPECT_EQ((*storer)->of("collection-2")->records, 0);
}

}  // namespace
}  // namespace troupe::storage
