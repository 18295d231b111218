#pragma once
#include "test/model/inert.hpp"
#include "test/model/symmetry.hpp"

namespace troupe::model {

/// Everything that makes one state stand for many (docs/contributors/model-checking.md tells why each may).
class Reduction {
 public:
  explicit Reduction(Space& space) : space_(space), symmetry_(space), inert_(space) {}

  /// The state that is explored in the place of this one.
  void apply(State& state) {
    space_.saturate(state);
    inert_.strip(state);
    symmetry_.canonical(state);
  }
  /// The same without changing names, for stories.
  void applyButNames(State& state, std::vector<Happening>* told) {
    space_.saturate(state, told);
    inert_.strip(state);
  }
  void rename(State& state) { symmetry_.canonical(state); }
  /// Why the model may not be reduced like that; empty: all that was met speaks for it.
  std::string contradiction() {
    std::string why = inert_.contradiction();
    return why.empty() ? symmetry_.contradiction() : why;
  }

 private:
  Space& space_;
  Symmetry symmetry_;
  Inert inert_;
};

}  // namespace troupe::model
