#include "storage/engine/checkpoint_turns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>

namespace troupe::storage {

TEST(CheckpointTurnsTest, ACheckpointThatWaitsComesBeforeTheNextCompaction) {
  using enum CheckpointTurns::Kind;
  for (int round = 0; round < 50; ++round) {
    CheckpointTurns turns;
    std::string order;  // written within turns only
    std::optional<CheckpointTurns::Turn> first;
    first.emplace(turns, kCompaction);
    std::thread compaction([&] {
      const CheckpointTurns::Turn turn(turns, kCompaction);
      order += "compaction ";
    });
    while (turns.waiting(kCompaction) == 0) std::this_thread::yield();
    std::thread checkpoint([&] {
      const CheckpointTurns::Turn turn(turns, kCheckpoint);
      order += "checkpoint ";
    });
    while (turns.waiting(kCheckpoint) == 0) std::this_thread::yield();
    first.reset();
    compaction.join();
    checkpoint.join();
    EXPECT_EQ(order, "checkpoint compaction ");
  }
}

}  // namespace troupe::storage
