// What is on the disk is compared with its checksums, beside everything else.
#include "storage/engine/wiredtiger_block_check.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <random>

#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

std::string keyOf(int i) { return "key" + std::to_string(1'000'000 + i); }

/// Bytes that compress by about a half.
std::string valueOf(std::mt19937& random, size_t size) {
  std::string value(size, 'x');
  for (size_t i = 0; i < size; i += 2) value[i] = static_cast<char>(random());
  return value;
}

class BlockCheckTest : public ::testing::Test {
 protected:
  BlockCheckTest() { open(); }

  void open() {
    auto opened = openWiredTiger(testOptions(directory_.path()));
    ASSERT_TRUE(opened.isOK()) << opened.status().toString();
    engine_ = std::move(opened).value();
  }
  /// Rows from..to, some of them with keys that do not fit into a page.
  void fill(const std::string& ident, int from, int to) {
    const Table table = *engine_->openTable(ident);
    auto session = std::move(engine_->openSession()).value();
    for (int i = from; i < to; ++i) {
      if (!session->inTransaction()) {
        ASSERT_TRUE(session->begin().isOK());
      }
      auto cursor = std::move(session->cursor(table)).value();
      const std::string key = i % 97 == 0 ? keyOf(i) + std::string(9000, 'k') : keyOf(i);
      ASSERT_TRUE(cursor->put(key, valueOf(random_, 700)).isOK());
      cursor.reset();
      if (i % 100 == 99) {
        ASSERT_TRUE(session->commit().isOK());
      }
    }
    if (session->inTransaction()) {
      ASSERT_TRUE(session->commit().isOK());
    }
  }
  void create(const std::string& ident, const std::string& compressor = "snappy") {
    ASSERT_TRUE(engine_->createTable(ident, {.blockCompressor = compressor, .appMetadata = ""}).isOK());
  }
  /// The outcome of a whole check in steps of `bytes`.
  Status check(const std::string& ident, int64_t bytes = 1 << 20) {
    const auto check = engine_->checkBlocks(ident);
    auto done = check->step(bytes);
    while (done.isOK() && !*done) done = check->step(bytes);
    blocks_ = check->blocksRead();
    bytes_ = check->bytesRead();
    return done.status();
  }
  std::string file(const std::string& ident) const { return directory_.path() + "/" + ident + ".wt"; }
  std::string contents(const std::string& ident) const {
    std::ifstream in(file(ident), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void overwrite(const std::string& ident, const std::string& bytes) const {
    std::ofstream(file(ident), std::ios::binary | std::ios::trunc) << bytes;
  }

  TemporaryDirectory directory_;
  std::unique_ptr<Engine> engine_;
  std::mt19937 random_{20261123};  // NOLINT: the same each time
  int64_t blocks_ = 0, bytes_ = 0;
};

TEST_F(BlockCheckTest, ReadsAllOfASoundTable) {
  for (const char* compressor : {"none", "snappy", "zlib"}) {
    create(compressor, compressor);
    fill(compressor, 0, 5000);
    ASSERT_TRUE(engine_->checkpoint().isOK());
    EXPECT_EQ(check(compressor).toString(), Status::OK().toString()) << compressor;
    EXPECT_GT(blocks_, 70) << compressor;
    // What is not read is free space.
    EXPECT_GT(bytes_, static_cast<int64_t>(std::filesystem::file_size(file(compressor)) * 8 / 10)) << compressor;
  }
}

TEST_F(BlockCheckTest, EmptyNewAndMissingTablesHaveNothingToRead) {
  create("t");
  EXPECT_TRUE(check("t").isOK());
  ASSERT_TRUE(engine_->checkpoint().isOK());
  EXPECT_TRUE(check("t").isOK());
  EXPECT_TRUE(check("nowhere").isOK());
  EXPECT_EQ(blocks_, 0);
}

TEST_F(BlockCheckTest, ATableThatIsDroppedMeanwhileIsDone) {
  create("t");
  fill("t", 0, 3000);
  ASSERT_TRUE(engine_->checkpoint().isOK());
  const auto check = engine_->checkBlocks("t");
  ASSERT_FALSE(*check->step(1));
  ASSERT_TRUE(engine_->dropTable("t").isOK());
  auto done = check->step(1 << 20);
  while (done.isOK() && !*done) done = check->step(1 << 20);
  EXPECT_TRUE(done.isOK()) << done.status().toString();
}

/// The engine verifies a table it has for itself: both come to the same findings.
TEST_F(BlockCheckTest, FindsTheDamageThatTheEnginesOwnVerificationFinds) {
  create("t");
  fill("t", 0, 4000);
  engine_.reset();
  const std::string sound = contents("t");
  int found = 0;
  for (int i = 0; i < 60; ++i) {
    std::string damaged = sound;
    damaged[random_() % damaged.size()] ^= static_cast<char>(1 << random_() % 8);
    overwrite("t", damaged);
    open();
    const Status ours = check("t");
    const Status theirs = engine_->verifyTable("t");
    EXPECT_EQ(ours.isOK(), theirs.isOK()) << ours.toString() << "\n" << theirs.toString();
    if (!ours.isOK()) {
      EXPECT_EQ(ours.code(), ErrorCode::kDataCorruptionDetected);
      EXPECT_NE(ours.reason().find("t.wt"), std::string::npos) << ours.reason();
    }
    found += !ours.isOK();
    engine_.reset();
  }
  EXPECT_GT(found, 50);
}

TEST_F(BlockCheckTest, FindsBlocksInEachOthersPlace) {
  create("t", "none");
  fill("t", 0, 4000);
  engine_.reset();
  const std::string sound = contents("t");
  // Blocks follow each other; two leaf pages of one size change places, each of them sound in itself.
  std::map<uint32_t, std::vector<size_t>> bySize;
  for (size_t at = 512; at + 64 < sound.size();) {
    uint32_t size = 0;
    std::memcpy(&size, sound.data() + at + 28, sizeof size);
    if (size == 0 || size % 512 != 0) break;
    if (sound[at + 24] == 7) bySize[size].push_back(at);
    at += size;
  }
  const auto pair = std::find_if(bySize.begin(), bySize.end(), [](const auto& each) { return each.second.size() > 1; });
  ASSERT_NE(pair, bySize.end());
  const auto& [size, places] = *pair;
  std::string damaged = sound;
  damaged.replace(places[0], size, sound.substr(places[1], size));
  damaged.replace(places[1], size, sound.substr(places[0], size));
  overwrite("t", damaged);
  open();
  const Status status = check("t");
  EXPECT_EQ(status.code(), ErrorCode::kDataCorruptionDetected);
  EXPECT_NE(status.reason().find("another block is in its place"), std::string::npos) << status.reason();
}

TEST_F(BlockCheckTest, FindsATruncatedAndAMissingFile) {
  create("t");
  fill("t", 0, 4000);
  engine_.reset();
  const std::string sound = contents("t");
  overwrite("t", sound.substr(0, sound.size() / 2));
  open();
  EXPECT_EQ(check("t").code(), ErrorCode::kDataCorruptionDetected);
  std::filesystem::remove(file("t"));  // beside an engine that has opened it, or not yet
  EXPECT_EQ(check("t").code(), ErrorCode::kDataCorruptionDetected);
}

/// The lists of free and of used blocks, which no page refers to.
TEST_F(BlockCheckTest, FindsADamagedListOfExtents) {
  create("t", "none");
  fill("t", 0, 4000);
  ASSERT_TRUE(engine_->checkpoint().isOK());
  fill("t", 0, 500);  // leaves free blocks behind
  engine_.reset();
  const std::string sound = contents("t");
  std::string damaged = sound;
  int lists = 0;
  for (size_t at = 512; at + 512 <= sound.size(); at += 512) {
    constexpr char kBlockManager = 1;  // the type of a page that is such a list
    uint32_t size = 0;
    std::memcpy(&size, sound.data() + at + 28, sizeof size);
    if (sound[at + 24] != kBlockManager || size == 0 || size % 512 != 0 || size > 64 * 1024) continue;
    damaged[at + 44] ^= 1;
    ++lists;
  }
  ASSERT_GT(lists, 1);
  overwrite("t", damaged);
  open();
  const Status status = check("t");
  EXPECT_EQ(status.code(), ErrorCode::kDataCorruptionDetected) << status.toString();
  EXPECT_EQ(blocks_, 0) << "the lists are read before the pages";
  engine_.reset();
  overwrite("t", sound);
  open();
  EXPECT_EQ(check("t").toString(), Status::OK().toString());
}

/// Its walk goes on in a newer checkpoint when it meets a block that is not as expected; the block is damaged there,
/// too.
TEST_F(BlockCheckTest, FindsTheDamageOfALateBlockAlsoWhenCheckpointsMoveMeanwhile) {
  create("t", "none");
  fill("t", 0, 4000);
  const std::string mark(600, '#');
  {
    auto session = std::move(engine_->openSession()).value();
    ASSERT_TRUE(session->begin().isOK());
    ASSERT_TRUE(std::move(session->cursor(*engine_->openTable("t"))).value()->put(keyOf(3990) + "m", mark).isOK());
    ASSERT_TRUE(session->commit().isOK());
  }
  ASSERT_TRUE(engine_->checkpoint().isOK());
  const size_t place = contents("t").find(mark);
  ASSERT_NE(place, std::string::npos);
  const auto check = engine_->checkBlocks("t");
  ASSERT_FALSE(*check->step(1));
  {
    std::fstream raw(file("t"), std::ios::in | std::ios::out | std::ios::binary);
    raw.seekp(static_cast<std::streamoff>(place + 300));
    raw << 'X';
  }
  fill("t", 0, 100);
  ASSERT_TRUE(engine_->checkpoint().isOK());
  auto done = check->step(1 << 16);
  while (done.isOK() && !*done) done = check->step(1 << 16);
  EXPECT_EQ(done.status().code(), ErrorCode::kDataCorruptionDetected) << done.status().toString();
  EXPECT_NE(done.status().reason().find("t.wt: the block of"), std::string::npos) << done.status().reason();
}

/// Writers change all blocks again and again, so that those of older checkpoints are overwritten under the check.
TEST_F(BlockCheckTest, BesideWritersAndCheckpointsItFindsNoDamageAndComesToItsEnd) {
  create("t");
  fill("t", 0, 4000);
  ASSERT_TRUE(engine_->checkpoint().isOK());
  ASSERT_TRUE(check("t").isOK());
  const int64_t alone = blocks_;
  for (const int64_t bytes : {int64_t{1}, int64_t{100'000}}) {
    const auto check = engine_->checkBlocks("t");
    bool done = false;
    int steps = 0;
    for (; !done && steps < 3000; ++steps) {
      if (steps % 5 == 0) {
        fill("t", steps * 13 % 3900, steps * 13 % 3900 + 100);
        ASSERT_TRUE(engine_->checkpoint().isOK());
      }
      const auto stepped = check->step(bytes);
      ASSERT_TRUE(stepped.isOK()) << "step " << steps << ": " << stepped.status().toString();
      done = *stepped;
    }
    EXPECT_TRUE(done);
    EXPECT_GT(steps, 5);
    EXPECT_GE(check->blocksRead(), alone * 9 / 10) << "of all rows";
  }
}

}  // namespace
}  // namespace troupe::storage
