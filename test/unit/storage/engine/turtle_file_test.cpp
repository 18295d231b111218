#include "storage/engine/turtle_file.hpp"

#include <fstream>
#include <sstream>
#include <string_view>

#include "test/unit/storage/engine/engine_harness.hpp"

namespace troupe::storage {
namespace {

/// The engine would read texts as something else, and write over its stack; a repair, too.
TEST(TurtleFile, MetadataOfAnotherFormatAreRefusedBeforeTheyAreRead) {
  TemporaryDirectory directory;
  ASSERT_TRUE(openWiredTiger(testOptions(directory.path())).isOK());
  const std::string path = directory.path() + "/WiredTiger.turtle";
  std::stringstream whole;
  whole << std::ifstream(path).rdbuf();
  for (const std::string_view name : {"key_format=S", "value_format=S"}) {
    for (const size_t of :
         {name.find('f'), name.size() - 1}) {  // the option's name, which is unknown then, or its value
      std::string text = whole.str();
      text[text.find(name) + of] ^= 4;
      std::ofstream(path, std::ios::trunc) << text;
      for (const bool repair : {false, true}) {
        WiredTigerOptions options = testOptions(directory.path());
        options.salvageMetadata = repair;
        EXPECT_EQ(openWiredTiger(options).status(), ErrorCode::kDataCorruptionDetected) << name << of;
      }
    }
  }
  std::ofstream(path, std::ios::trunc) << whole.str();
  EXPECT_TRUE(openWiredTiger(testOptions(directory.path())).isOK());
}

}  // namespace
}  // namespace troupe::storage
