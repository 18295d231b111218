// The engine's log has a version of its own, beside that of the data's format.
#include <wiredtiger.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "storage/engine/wiredtiger_engine.hpp"
#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

/// Gives the files of a log another version, with a checksum that fits: the descriptor is the record at their
/// beginning. Returns the version they had.
uint16_t setLogVersion(const std::string& directory, uint16_t version) {
  constexpr size_t kChecksumAt = 4, kMagicAt = 16, kVersionAt = 20;
  uint16_t before = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/journal")) {
    if (!entry.path().filename().string().starts_with("WiredTigerLog.")) continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    uint32_t length = 0, magic = 0;
    EXPECT_TRUE(file.read(reinterpret_cast<char*>(&length), sizeof(length)) && length >= 32 && length <= 65536);
    std::string record(length, '\0');
    file.seekg(0);
    EXPECT_TRUE(file.read(record.data(), length));
    std::memcpy(&magic, record.data() + kMagicAt, sizeof(magic));
    EXPECT_EQ(magic, 0x101064u) << "the layout of the log has changed";
    std::memcpy(&before, record.data() + kVersionAt, sizeof(before));
    std::memcpy(record.data() + kVersionAt, &version, sizeof(version));
    std::memset(record.data() + kChecksumAt, 0, sizeof(uint32_t));
    const uint32_t checksum = wiredtiger_crc32c_func()(record.data(), length);
    std::memcpy(record.data() + kChecksumAt, &checksum, sizeof(checksum));
    file.seekp(0);
    file.write(record.data(), length);
  }
  return before;
}

}  // namespace

// JRN-006: what it holds is sound, so no repair may cut it.
TEST(WiredTigerLogVersion, ANewerOneIsRefusedAndLeftAlone) {
  TemporaryDirectory directory;
  WiredTigerOptions options = testOptions(directory.path());
  auto engine = openWiredTiger(options);
  ASSERT_TRUE(engine.isOK()) << engine.status().toString();
  ASSERT_TRUE((*engine)->createTable("t", {}).isOK());
  engine->reset();
  const uint16_t own = setLogVersion(directory.path(), 99);
  for (const bool repair : {false, true}) {
    options.salvageMetadata = repair;
    const Status opened = openWiredTiger(options).status();
    EXPECT_EQ(opened.code(), ErrorCode::kUnsupportedFormat) << opened.toString();
    EXPECT_NE(opened.reason().find("the file is version 99"), std::string::npos) << opened.toString();
  }
  EXPECT_EQ(setLogVersion(directory.path(), own), 99);
  engine = openWiredTiger(options);
  ASSERT_TRUE(engine.isOK()) << engine.status().toString();
  EXPECT_EQ((*engine)->listTables(), std::vector<std::string>{"t"});
}

}  // namespace troupe::storage
