#include <gtest/gtest.h>

#include "test/model/script.hpp"
#include "test/scripts/script_models.hpp"

namespace troupe::model {
namespace {

TEST(Scripts, TellWhatHappens) {
  const auto files = scriptFiles();
  ASSERT_GE(files.size(), 5u);
  for (const auto& file : files)
    EXPECT_EQ(playScript(contentsOf(file), scriptModel), contentsOf(file))
        << file << " is out of date: review ./dev scripts";
}

TEST(Scripts, NameTheLineOfACommandThatCannotBeCarriedOut) {
  try {
    playScript("# a script\nmodel lease\nlose a -> b Nonsense\n", scriptModel);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("line 3: 'lose a -> b Nonsense' can't happen now. What can:\n"))
        << error.what();
  }
}

TEST(Scripts, WriteWhatComesOfACommandInPlaceOfWhatStoodThere) {
  const std::string script = "model lease\n\nlose c -> b Offer   # gone\n  something old\nask again c -> b Offer\n";
  EXPECT_EQ(playScript(script, scriptModel), "model lease\n\nlose c -> b Offer   # gone\nask again c -> b Offer\n");
}

}  // namespace
}  // namespace troupe::model
