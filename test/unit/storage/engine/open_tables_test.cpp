#include "storage/engine/open_tables.hpp"

#include <thread>

#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

/// An engine that is asked how many files it has open.
class OpenTablesTest : public ::testing::Test {
 protected:
  std::set<std::string> open;
  int counted = 0;
  OpenTables tables{3,
                    {.count =
                         [this] {
                           ++counted;
                           return static_cast<int64_t>(open.size());
                         },
                     .idents = [this] { return open; }}};
};

TEST_F(OpenTablesTest, AsksTheEngineOnlyWhenAsManyMayBeOpen) {
  for (const char* ident : {"a", "b", "c"}) {
    EXPECT_TRUE(tables.admitNew().isOK());
    open.insert(ident);
  }
  EXPECT_EQ(counted, 0);
  EXPECT_EQ(tables.admitNew(), ErrorCode::kTooManyFilesOpen);
  EXPECT_EQ(counted, 1);
  EXPECT_EQ(tables.refusals(), 1);
}

TEST_F(OpenTablesTest, GoesOnWhenTheEngineHasClosedSome) {
  open = {"a", "b", "c"};
  for (int i = 0; i < 3; ++i) (void)tables.admitNew();
  EXPECT_FALSE(tables.admitNew().isOK());
  open = {"a"};
  EXPECT_TRUE(tables.admitNew().isOK());
}

TEST_F(OpenTablesTest, ATableThatIsOpenCostsNothing) {
  open = {"a", "b", "c"};
  for (int i = 0; i < 3; ++i) (void)tables.admitNew();
  EXPECT_TRUE(tables.admit("a").isOK());
  EXPECT_EQ(tables.admit("d"), ErrorCode::kTooManyFilesOpen);
}

TEST(OpenTables, KeepsAReserveForTheTablesOfTheNode) {
  int64_t open = 0;
  OpenTables tables(80, {.count = [&] { return open; }, .idents = [] { return std::set<std::string>(); }});
  while (tables.admitNew().isOK()) ++open;
  EXPECT_EQ(open, 70);
  tables.noteEssential();
  open = 69;  // an ordinary table was closed
  EXPECT_TRUE(tables.admit("ordinary").isOK());
}

TEST(OpenTables, ALimitOfZeroIsNone) {
  OpenTables tables(0, {});
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(tables.admitNew().isOK());
}

/// WiredTiger with room for 40 open files.
class OpenTablesOfWiredTiger : public ::testing::Test {
 protected:
  void SetUp() override {
    WiredTigerOptions options = testOptions(directory.path());
    options.maxOpenTables = 40;
    auto opened = openWiredTiger(options);
    ASSERT_TRUE(opened.isOK()) << opened.status().toString();
    engine = std::move(opened).value();
  }
  /// Creates tables until it is refused; how many.
  int fill() {
    for (int i = 0;; ++i) {
      const Status made = engine->createTable("table-" + std::to_string(i), {}).status();
      if (made.isOK()) continue;
      EXPECT_EQ(made, ErrorCode::kTooManyFilesOpen);
      return i;
    }
  }
  size_t openFiles() const { return openTableFiles(directory.path()).size(); }

  TemporaryDirectory directory;
  std::unique_ptr<Engine> engine;
};

TEST_F(OpenTablesOfWiredTiger, AreBoundedAndThoseThatAreOpenGoOnBeingUsed) {
  const int made = fill();
  EXPECT_GT(made, 20);
  EXPECT_LE(openFiles(), 45u) << "the engine's own come on top until it is asked for the first time";
  EXPECT_EQ(engine->statistics().openTablesLimit, 40);
  EXPECT_GT(engine->statistics().openTablesRefused, 0);
  auto session = engine->openSession();
  ASSERT_TRUE(session.isOK());
  const auto table = engine->openTable("table-0");
  ASSERT_TRUE(table.isOK());
  EXPECT_TRUE((*session)->begin({}).isOK());
  const auto cursor = (*session)->cursor(*table);
  ASSERT_TRUE(cursor.isOK()) << cursor.status().toString();
  EXPECT_TRUE((*cursor)->insert("key", "value").isOK());
}

TEST_F(OpenTablesOfWiredTiger, EssentialTablesAreOpenedAndMadeBesideThem) {
  ASSERT_TRUE(engine->createTable("users", {.essential = true}).isOK());
  fill();
  EXPECT_TRUE(engine->createTable("roles", {.essential = true}).isOK());
  auto session = engine->openSession();
  ASSERT_TRUE(session.isOK());
  ASSERT_TRUE((*session)->begin({}).isOK());
  for (const char* ident : {"users", "roles"}) {
    auto table = engine->openTable(ident);
    ASSERT_TRUE(table.isOK());
    table->essential = true;
    EXPECT_TRUE((*session)->cursor(*table).isOK()) << ident;
  }
}

TEST_F(OpenTablesOfWiredTiger, DroppedTablesAreClosedAtOnce) {
  for (int round = 0; round < 3; ++round) {
    const int made = fill();
    EXPECT_GT(made, 20) << round;
    for (int i = 0; i < made; ++i) {
      const Status dropped = engine->dropTable("table-" + std::to_string(i));
      EXPECT_TRUE(dropped.isOK()) << dropped.toString();
    }
    EXPECT_LE(openFiles(), 5u) << "but the engine's own";
  }
}

TEST_F(OpenTablesOfWiredTiger, DroppedTablesAreClosedWithoutACheckpointOfTheirRows) {
  const int made = fill();
  {
    auto session = engine->openSession();
    ASSERT_TRUE(session.isOK());
    ASSERT_TRUE((*session)->begin({}).isOK());
    for (int i = 0; i < made; ++i) {
      const auto table = engine->openTable("table-" + std::to_string(i));
      ASSERT_TRUE(table.isOK());
      const auto cursor = (*session)->cursor(*table);
      ASSERT_TRUE(cursor.isOK()) << cursor.status().toString();
      ASSERT_TRUE((*cursor)->insert("key", std::string(1000, 'x')).isOK());
    }
    ASSERT_TRUE((*session)->commit().isOK());
  }
  for (int i = 0; i < made; ++i) EXPECT_TRUE(engine->dropTable("table-" + std::to_string(i)).isOK());
  EXPECT_LE(openFiles(), 5u);
}

TEST_F(OpenTablesOfWiredTiger, AreClosedWhenTheyWereIdle) {
  const int made = fill();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Status again = engine->createTable("more", {}).status();
  while (!again.isOK() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
    again = engine->createTable("more", {}).status();
  }
  EXPECT_TRUE(again.isOK()) << again.toString() << " after " << made;
}

}  // namespace
}  // namespace troupe::storage
