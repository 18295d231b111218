#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "test/model/space.hpp"

namespace troupe::model {

/// Goes one way through a model, step by step: what interaction scripts and the crash matrix are made of.
class Walker {
 public:
  /// The machines that start at once have begun. Throws BrokenMachine if one can't.
  explicit Walker(const Model& model);

  const State& first() const { return first_; }
  const State& now() const { return now_; }
  Space& space() { return space_; }
  /// All that may happen next.
  std::vector<Happening> possible();
  /// Goes there. Throws BrokenMachine if an invariant is broken then.
  const Happening& take(const Happening& happening);
  /// The next event of a run without faults; nothing if all is quiet: a node comes back, a message arrives (oldest
  /// kind first), something comes of an action, a machine begins, a client acts, a question is asked again, and only
  /// then, if `timers`, a timer fires.
  std::optional<Happening> usual(bool timers = true);
  const std::vector<Happening>& way() const { return way_; }

 private:
  Space space_;
  const std::vector<machines::Invariant> invariants_;
  State first_, now_;
  std::vector<Happening> way_;
};

}  // namespace troupe::model
