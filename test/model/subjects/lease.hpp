#pragma once
#include <cstdint>
#include <variant>
#include <vector>

#include "state_machines/core/machine.hpp"
#include "test/model/model.hpp"

/// A lease that moves from one node to another: a coordinator with a document that outlives it, and the two holders.
namespace troupe::model::lease {

using machines::Durability;
using machines::Invariant;
using machines::Step;
using machines::Transitions;

// The coordinator asks; whoever is asked answers. `epoch` is the number of the hand-off: a holder heeds no older one.
struct Offer { int64_t epoch = 0; };
struct Drain { int64_t epoch = 0; };
struct Grant { int64_t epoch = 0; };
struct Accepted {};
struct Declined {};
struct Drained {};
struct Taken {};

/// Moves the lease without a moment in which two nodes may use it.
struct Handoff : machines::Machine<Handoff> {
  static constexpr const char* kName = "handoff";
  enum class Phase { kOffering, kDraining, kGranting };
  static constexpr auto kPhases = machines::phases<Phase>(
      {{Phase::kOffering, "offering", "the next holder was asked and has not answered"},
       {Phase::kDraining, "draining", "the holder refuses new work and finishes what it has"},
       {Phase::kGranting, "granting", "the next holder may use the lease; it has not said that it knows"}});
  struct Document {
    NodeName from, to;
    int64_t epoch = 1;
    Phase phase = Phase::kOffering;
  };
  using Event = std::variant<Accepted, Declined, Drained, Taken>;
  using Message = std::variant<Offer, Drain, Grant>;

  static const Transitions<Handoff>& transitions();
  static Step<Handoff> resume(const Document& document);
  static std::vector<Invariant> invariants() { return {}; }
};

struct WorkDone {};
struct FinishWork {};

/// A node that may use the lease, or may come to.
struct Holder : machines::Machine<Holder> {
  static constexpr const char* kName = "holder";
  enum class Phase { kFree, kHolding, kDraining };
  static constexpr auto kPhases = machines::phases<Phase>({{Phase::kFree, "free", "it does not have the lease"},
                                                           {Phase::kHolding, "holding", "it uses the lease"},
                                                           {Phase::kDraining, "draining", "it finishes work begun under the lease"}});
  struct Document {
    int64_t epoch = 0;  ///< of the last hand-off it took part in
    bool willing = true;
    Phase phase = Phase::kFree;
  };
  using Event = std::variant<Offer, Drain, Grant, WorkDone>;
  using Message = std::variant<Accepted, Declined, Drained, Taken>;
  using Action = std::variant<FinishWork>;

  static const Transitions<Holder>& transitions();
  static Step<Holder> resume(const Document& document) {
    return document.phase == Phase::kDraining ? stay().then(perform(FinishWork{})) : stay();
  }
  static std::vector<Invariant> invariants();
};

/// a has the lease and hands it to b (coordinated by c); if `back`, b hands it to a again afterwards (coordinated by d).
Model handoffs(bool back, bool willing = true);

}  // namespace troupe::model::lease

TROUPE_DESCRIBE(troupe::model::lease::Offer, 0, epoch)
TROUPE_DESCRIBE(troupe::model::lease::Drain, 0, epoch)
TROUPE_DESCRIBE(troupe::model::lease::Grant, 0, epoch)
TROUPE_DESCRIBE(troupe::model::lease::Accepted, 0)
TROUPE_DESCRIBE(troupe::model::lease::Declined, 0)
TROUPE_DESCRIBE(troupe::model::lease::Drained, 0)
TROUPE_DESCRIBE(troupe::model::lease::Taken, 0)
TROUPE_DESCRIBE(troupe::model::lease::WorkDone, 0)
TROUPE_DESCRIBE(troupe::model::lease::FinishWork, 0)
TROUPE_MACHINE(troupe::model::lease::Handoff, 1, from, to, epoch, phase)
TROUPE_MACHINE(troupe::model::lease::Holder, 1, epoch, willing, phase)
