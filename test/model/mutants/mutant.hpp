#pragma once
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "test/model/explorer.hpp"
#include "test/model/mutation.hpp"

namespace troupe::model {

/// A small planted bug, and who has to notice it. An invariant is believed only once such a bug has tripped it.
struct Mutant {
  const char* protocol;
  const char* name;     ///< "a vote is not persisted"
  const char* catcher;  ///< part of the name of the invariant, fact or goal that has to notice it, alone
  std::function<Model()> model;
  /// The bug is there as long as the returned object; null: it is in the model's host (Model::hostBug). The simulator
  /// runs its seeds under it in the same way.
  std::function<std::shared_ptr<void>()> plant;
};

inline std::ostream& operator<<(std::ostream& out, const Mutant& mutant) {
  return out << mutant.protocol << ": " << mutant.name;
}

/// Keeps a mutation alive.
template <machines::MachineType M>
std::shared_ptr<void> planted(Mutation<M> mutation) {
  return std::make_shared<Mutation<M>>(std::move(mutation));
}

std::vector<Mutant> commitmentMutants();
std::vector<Mutant> electionMutants();
std::vector<Mutant> checkerMutants();
std::vector<Mutant> leaseMutants();
std::vector<Mutant> reconfigMutants();
std::vector<Mutant> rollbackMutants();
std::vector<Mutant> fetchingMutants();
std::vector<Mutant> initialSyncMutants();
std::vector<Mutant> sessionLifeMutants();
std::vector<Mutant> allMutants();

struct Verdict {
  Report sound;           ///< of the model without the bug, farther than the bug took
  Report broken;          ///< with it
  bool isCaught = false;  ///< by the right catcher, and the sound model is clean that far
};
Verdict examine(const Mutant& mutant);

}  // namespace troupe::model
