#include "test/model/mutants/mutant.hpp"

#include <gtest/gtest.h>

#include <set>

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

TEST(Mutants, EveryInvariantHasOne) {
  const auto mutants = allMutants();
  std::set<std::string> invariants;
  for (const auto& mutant : mutants)
    for (const auto& invariant : mutant.model().invariants()) invariants.insert(invariant.name);
  for (const auto& invariant : invariants) {
    const auto catches = [&](const Mutant& mutant) { return invariant.find(mutant.catcher) != std::string::npos; };
    EXPECT_TRUE(std::any_of(mutants.begin(), mutants.end(), catches)) << "nothing has tripped: " << invariant;
  }
}

}  // namespace
}  // namespace troupe::model
