#include "actors/replication/primary_progress.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace troupe::replication::test {
namespace {

struct Writing : ::testing::Test {
  storage::ReplicatedWrites writes{[] { return 100u; }};
  ReplicationProgress progress;
  std::shared_ptr<PrimaryProgress> primary = std::make_shared<PrimaryProgress>(writes, progress);

  OpTime write(int64_t term) {
    auto slot = writes.slots.reserve(term, 1);
    slot.markWritten();
    return slot.last();
  }
};

TEST_F(Writing, CountsAsAppliedInTheTermOfThePrimary) {
  writes.slots.resetTo({90, 1});
  primary->begin(2);
  EXPECT_EQ(progress.applied(), OpTime()) << "what is older is of another term";
  const OpTime first = write(2);
  EXPECT_EQ(progress.applied(), first);
  EXPECT_EQ(first.term, 2);
  auto hole = writes.slots.reserve(2, 1);
  const OpTime third = write(2);
  EXPECT_EQ(progress.applied(), first) << "there is a hole before the newest";
  hole.release();
  EXPECT_EQ(progress.applied(), third);
  writes.slots.reserve(2, 1).release();
  EXPECT_EQ(progress.applied(), third) << "nothing was written there";
}

TEST_F(Writing, EndsWithTheTerm) {
  primary->begin(2);
  const OpTime last = write(2);
  primary->end(1);
  EXPECT_EQ(write(2) > last, true);
  EXPECT_GT(progress.applied(), last) << "another term has ended";
  const OpTime newest = progress.applied();
  primary->end(2);
  writes.visibility.advance({200, 1});
  EXPECT_EQ(progress.applied(), newest) << "a member's batches are noted by its applier";
  primary->begin(3);
  writes.slots.advanceTo({200, 1});
  const OpTime first = write(3);
  EXPECT_EQ(progress.applied(), first);
}

/// Each write is noted in the end, whichever thread closed the last hole.
TEST_F(Writing, OfManyThreadsIsNotedToTheEnd) {
  primary->begin(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([this] {
      for (int n = 0; n < 2000; ++n) write(1);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(progress.applied(), (OpTime{1, writes.slots.lastWritten()}));
  EXPECT_EQ(progress.applied().timestamp.increment, 8000u);
}

}  // namespace
}  // namespace troupe::replication::test
