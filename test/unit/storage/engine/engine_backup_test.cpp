// The contract of storage/engine/engine.hpp: copies taken while writes go on.
#include "test/unit/storage/engine/engine_contract.hpp"

namespace troupe::storage {
namespace {

using EngineBackup = EngineContract;
INSTANTIATE_TEST_SUITE_P(Engines, EngineBackup, engineKinds(), engineKindName);

TEST_P(EngineBackup, TheCopyIsTheCheckpointAtItsStartWhateverIsWrittenMeanwhile) {
  Table u = create("u", false);
  commit(u, "a", "10", 10);
  commit(u, "a", "20", 20);
  fill({"x"});
  ASSERT_TRUE(engine().setStableTimestamp(at(15)).isOK());
  ASSERT_TRUE(engine().checkpoint().isOK());
  auto backup = std::move(engine().beginBackup()).value();
  EXPECT_EQ(backup->checkpointTimestamp(), at(15));
  for (int i = 0; i < 20; ++i) {
    commit(u, "k" + std::to_string(i), std::string(10'000, 'v'), 21 + static_cast<uint64_t>(i));
    ASSERT_TRUE(engine().setStableTimestamp(at(21 + static_cast<uint64_t>(i))).isOK());
    ASSERT_TRUE(engine().checkpoint().isOK());  // would free the pages that the copy still needs
  }
  auto copy = harness().restore(*backup);
  EXPECT_EQ(copy->engine().recoveryTimestamp(), at(15));
  const Table restored = *copy->engine().openTable("u");
  EXPECT_EQ(Transaction(copy->engine(), restored).rows(), "a=10");
  const Table logged = *copy->engine().openTable("t");
  EXPECT_EQ(Transaction(copy->engine(), logged).rows(), "x=x!");
  EXPECT_EQ(backup->checkpointTimestamp(), at(15));
}

TEST_P(EngineBackup, PinsTablesUntilItEnds) {
  create("u", false);
  ASSERT_TRUE(engine().checkpoint().isOK());
  auto backup = std::move(engine().beginBackup()).value();
  EXPECT_EQ(engine().dropTable("u").code(), ErrorCode::kObjectIsBusy);
  EXPECT_EQ(engine().beginBackup().status().code(), ErrorCode::kObjectIsBusy);
  backup.reset();
  EXPECT_EQ(engine().dropTable("u").toString(), Status::OK().toString());
  EXPECT_TRUE(engine().beginBackup().isOK());
}

TEST_P(EngineBackup, MayEndAfterItsEngineHasClosed) {
  auto backup = std::move(engine().beginBackup()).value();
  ASSERT_TRUE(engine().close().isOK());
  EXPECT_EQ(engine().beginBackup().status().code(), ErrorCode::kShutdownInProgress);
  backup.reset();
}

}  // namespace
}  // namespace troupe::storage
