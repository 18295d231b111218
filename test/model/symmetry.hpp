#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "test/model/space.hpp"

namespace troupe::model {

/// Nodes that may take each other's places (Model::interchangeable): of all states that differ only in which of them is
/// which, one is explored, up to n! times fewer. That is sound if no decision of a machine depends on the names
/// of nodes; `contradiction` checks that of every step that an exploration has computed, under every renaming.
class Symmetry {
 public:
  explicit Symmetry(Space& space);

  /// Puts the state in the place of all those that differ from it only in names.
  void canonical(State& state);
  /// A step that is another one when the nodes are called differently; empty: there is none.
  std::string contradiction();

 private:
  /// One way to call the nodes differently, with what is known of its consequences.
  struct Way {
    std::vector<uint8_t> node, slot;  ///< what becomes of each
    Renaming rename;
    std::vector<uint32_t> locals, flights, facts;  ///< kNoNumber: not known yet
  };
  LocalId localOf(Way& way, LocalId local);
  FlightId flightOf(Way& way, FlightId flight);
  uint32_t factsOf(Way& way, uint32_t facts);
  Question renamed(const Way& way, const Question& question) const;
  ValueId renamed(const Way& way, ValueId value) const;
  State applied(Way& way, const State& state);
  /// The machines and counters of the state, called differently.
  void key(Way& way, const State& state, uint32_t* out);
  bool isSame(Way& way, const StepResult& result, const StepResult& other);

  Space& space_;
  std::vector<Way> ways_;     ///< all but the one that changes nothing
  std::vector<Way*> equals_;  ///< of one call
};

}  // namespace troupe::model
