#include "test/model/crash_matrix.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "test/model/mutation.hpp"
#include "test/model/subjects/all_machines.hpp"
#include "test/model/subjects/lease.hpp"
#include "test/model/subjects/voting.hpp"

namespace troupe::model {
namespace {

using lease::Handoff;

class EveryMachine : public testing::TestWithParam<Sample> {};

TEST_P(EveryMachine, EndsAsIfNothingHadHappenedWhereverItDies) {
  const CrashMatrix matrix = crashMatrix(GetParam());
  EXPECT_TRUE(matrix.phasesWithoutCell.empty()) << matrix.text();
  std::set<std::string> faults;
  for (const auto& cell : matrix.cells) {
    EXPECT_TRUE(cell.isRight()) << cell.phase << ", " << cell.point << ", " << cell.fault << ": " << cell.outcome
                                << "\n"
                                << cell.story;
    faults.insert(cell.fault);
  }
  EXPECT_EQ(faults, (std::set<std::string>{"crash", "restart", "step-down"}));
}

INSTANTIATE_TEST_SUITE_P(CrashMatrix, EveryMachine, testing::ValuesIn(allSamples()),
                         [](const auto& info) { return std::string(info.param.type) + "On" + info.param.node; });

/// "struct Topology : machines::Machine<Topology>" in the sources of the server.
std::set<std::string> machinesIn(const std::filesystem::path& folder) {
  static const std::regex declaration(R"(:\s*(?:public\s+)?(?:\w+::)*Machine<(\w+)>)");
  std::set<std::string> found;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    if (file.path().extension() != ".hpp" && file.path().extension() != ".cpp") continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    std::string line;
    while (std::getline(text, line)) {
      std::smatch match;
      if (line.find("///") == line.npos && std::regex_search(line, match, declaration)) found.insert(match[1]);
    }
  }
  return found;
}

TEST(CrashMatrix, HasASampleOfEveryMachineOfTheServer) {
  std::set<std::string> sampled;
  for (const auto& sample : allSamples()) sampled.insert(sample.type);
  const auto machines = machinesIn("state_machines");
  EXPECT_TRUE(machines.contains("Topology")) << "the search finds nothing";
  for (const auto& machine : machines)
    EXPECT_TRUE(sampled.contains(machine)) << machine << " has no sample in all_machines.cpp";
}

TEST(CrashMatrix, CoversEachPointOfAMachineThatAsks) {
  std::set<std::string> points;
  for (const auto& cell : crashMatrix(allSamples()[1]).cells) points.insert(cell.phase + ", " + cell.point);
  EXPECT_EQ(points,
            (std::set<std::string>{"draining, after an effect", "draining, after persist", "draining, at a reply",
                                   "draining, before persist", "granting, after an effect", "granting, after persist",
                                   "granting, at a reply", "granting, before persist", "offering, at a reply",
                                   "offering, before persist"}));
}

TEST(CrashMatrix, ASampleThatNeverEndsIsAnErrorOfTheSample) {
  Sample sample{.type = "Voter", .node = "n1"};
  sample.make = [] { return voting::voters(1, 1'000'000); };  // nobody votes for it: it stands again and again
  EXPECT_THROW(crashMatrix(sample), std::invalid_argument);
}

TEST(CrashMatrix, FindsAMachineThatDoesNotComeBackToWhatItHadBegun) {
  const auto bug = Mutation<Handoff>::on<lease::Drained>([](const auto&, const auto& now, const lease::Drained&) {
    return Handoff::finish().then(Handoff::send(now.document.to, lease::Grant{now.document.lease, now.document.epoch}));
  });
  Sample sample = allSamples()[1];
  sample.outcome = [](const machines::World& world) {
    std::string holders;
    world.each<lease::Holder>([&](const NodeName& node, bool, const auto& holder) {
      if (holder.document.phase == lease::Holder::Phase::kHolding) holders += node;
    });
    return holders + " has the lease";
  };
  std::set<std::string> wrong;
  for (const auto& cell : crashMatrix(sample).cells)
    if (!cell.isRight()) wrong.insert(cell.point + ": " + cell.outcome + " instead of: " + cell.expected);
  EXPECT_EQ(wrong, (std::set<std::string>{"after persist:  has the lease instead of: b has the lease"}))
      << "it is gone before the grant is sent";
}

}  // namespace
}  // namespace troupe::model
