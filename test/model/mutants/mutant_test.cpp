#include "test/model/mutants/mutant.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "test/model/subjects/all_machines.hpp"

namespace troupe::model {
namespace {

class EveryMutant : public testing::TestWithParam<Mutant> {};

TEST_P(EveryMutant, IsCaughtByItsInvariantAlone) {
  const Verdict verdict = examine(GetParam());
  EXPECT_NE(verdict.broken.broken.find(GetParam().catcher), std::string::npos) << verdict.broken;
  EXPECT_EQ(verdict.sound.broken, "") << "without the bug:\n" << verdict.sound;
}

std::string identifier(const testing::TestParamInfo<Mutant>& info) {
  std::string out;
  for (const char c : std::string(info.param.name)) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

INSTANTIATE_TEST_SUITE_P(Mutants, EveryMutant, testing::ValuesIn(allMutants()), identifier);

/// "Model elections(const ElectionModel& options);" in the headers of the subjects.
std::set<std::string> makersOfModels(const std::filesystem::path& folder) {
  static const std::regex declaration(R"(^(?:inline )?Model (\w+)\()");
  std::set<std::string> found;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".hpp") continue;
    std::ifstream text(file.path());
    for (std::string line; std::getline(text, line);)
      if (std::smatch match; std::regex_search(line, match, declaration)) found.insert(match[1]);
  }
  return found;
}

TEST(Mutants, AllSubjectsAreKnown) {
  std::set<std::string> known;
  for (const auto& [name, model] : allSubjects()) known.insert(name);
  EXPECT_EQ(makersOfModels("test/model/subjects"), known) << "list it in all_machines.cpp";
}

/// Also those of a machine for which nobody has written a mutant.
std::set<std::string> allInvariants() {
  std::set<std::string> names;
  const auto add = [&names](const Model& model) {
    for (const auto& invariant : model.invariants()) names.insert(invariant.name);
  };
  for (const auto& mutant : allMutants()) add(mutant.model());
  for (const auto& sample : allSamples()) add(sample.make());
  for (const auto& [name, model] : allSubjects()) add(model);
  return names;
}

TEST(Mutants, EveryInvariantHasOne) {
  const auto mutants = allMutants();
  for (const auto& invariant : allInvariants()) {
    const auto catches = [&](const Mutant& mutant) { return invariant.find(mutant.catcher) != std::string::npos; };
    EXPECT_TRUE(std::any_of(mutants.begin(), mutants.end(), catches)) << "nothing has tripped: " << invariant;
  }
}

}  // namespace
}  // namespace troupe::model
