#include "test/model/mutants/mutant.hpp"

namespace troupe::model {

std::vector<Mutant> allMutants() {
  std::vector<Mutant> all = electionMutants();
  for (auto& mutant : reconfigMutants()) all.push_back(std::move(mutant));
  for (auto& mutant : leaseMutants()) all.push_back(std::move(mutant));
  for (auto& mutant : commitmentMutants()) all.push_back(std::move(mutant));
  for (auto& mutant : rollbackMutants()) all.push_back(std::move(mutant));
  for (auto& mutant : fetchingMutants()) all.push_back(std::move(mutant));
  for (auto& mutant : initialSyncMutants()) all.push_back(std::move(mutant));
  for (auto& mutant : sessionLifeMutants()) all.push_back(std::move(mutant));
  for (auto& mutant : checkerMutants()) all.push_back(std::move(mutant));
  return all;
}

Verdict examine(const Mutant& mutant) {
  Verdict verdict;
  {
    const auto bug = mutant.plant ? mutant.plant() : nullptr;
    Model model = mutant.model();
    model.only(mutant.catcher);
    model.rememberFactsOnly(mutant.catcher);
    verdict.broken = check(model);
  }
  Model sound = mutant.model();
  sound.hostBug = HostBug::kNone;
  const bool searchedAll = verdict.broken.exhausted;  // what is missing is progress
  if (!searchedAll) sound.bounds.states = verdict.broken.states * 2 + 1000;
  verdict.sound = check(sound);
  verdict.isCaught = verdict.broken.broken.find(mutant.catcher) != std::string::npos && verdict.sound.broken.empty();
  return verdict;
}

}  // namespace troupe::model
