#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "test/model/space.hpp"

namespace troupe::model {

/// Messages that will never do anything to their machine again (Model::inertOnce): states that differ only in them are
/// one. The model says which they are; `contradiction` checks that it is right: such a message changes nothing and says
/// nothing, and what the machine becomes, also by a crash, leaves it inert.
class Inert {
 public:
  explicit Inert(Space& space) : space_(space) {}

  /// Takes them out of the state.
  void strip(State& state);
  /// A message that is called inert and is not; empty: there is none.
  std::string contradiction();

 private:
  bool isInert(LocalId local, FlightId flight);
  std::string contradictionOf(LocalId local, LocalId next, const char* how);

  struct Known {
    std::vector<uint32_t> tried, inert;  ///< a bit for each message, by words
  };
  Space& space_;
  std::vector<Known> known_;  ///< by local state
};

}  // namespace troupe::model
