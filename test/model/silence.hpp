#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "test/model/flat_map.hpp"
#include "test/model/reduction.hpp"
#include "test/model/space.hpp"

namespace troupe::model {

/// Whether the goal can be reached without faults though all messages have been lost: for models with an everlasting
/// network, on which being lost means never to arrive. A machine that gets there without help gets there with messages
/// under way, too, so each set of machines is looked at once.
class Silence {
 public:
  enum class Way : uint32_t {
    kNone,
    kSure,
    kBeyond  ///< if anywhere, beyond the bounds of the model
  };

  Silence(Space& space, Reduction& reduction) : space_(space), reduction_(reduction) {}

  /// To be looked at later; `number` is the caller's.
  void note(uint32_t number, const State& state, bool isGoal);
  /// The number of a state from which nothing leads to the goal, or kNone.
  uint32_t search();
  /// States of which the goal is reached beyond the bounds, if at all. After `search`.
  uint64_t beyond() const { return beyond_; }
  uint64_t bytes() const { return known_.bytes() + words_.bytes(); }

 private:
  Way wayFrom(const State& state);

  Space& space_;
  Reduction& reduction_;
  FlatMap known_;             ///< a Way, by the machines and the nodes' counters
  Chunked<uint32_t> words_;   ///< of the states to be looked at: the number, and all but the messages
  std::vector<State> queue_;  ///< of one search
  uint64_t beyond_ = 0;
};

}  // namespace troupe::model
