#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "messaging/description/message.hpp"
#include "state_machines/core/machine.hpp"

/// Named leases that move between nodes: a coordinator for each hand-off, whose document outlives it, and a holder for
/// each lease and node. The model checker explores one hand-off; the simulator runs both machines as primary-only
/// services.
namespace troupe::lease {

using machines::Durability;
using machines::Invariant;
using machines::NodeName;
using machines::Step;
using machines::Transitions;

inline constexpr const char* kTwoUsers = "two nodes use one lease";
inline constexpr const char* kHandoffsPath = "/node/services/handoffs";
inline constexpr const char* kLeasesPath = "/node/services/leases";

// The coordinator asks, holders answer. `epoch` is the number of the hand-off: a holder heeds no older one.
struct Offer {
  std::string lease;
  int64_t epoch = 0;
  static constexpr const char* kReceiver = kLeasesPath;
};
struct Drain {
  std::string lease;
  int64_t epoch = 0;
  static constexpr const char* kReceiver = kLeasesPath;
};
struct Grant {
  std::string lease;
  int64_t epoch = 0;
  static constexpr const char* kReceiver = kLeasesPath;
};
struct Accepted {};
struct Declined {};
struct Drained {};
struct Taken {};

/// Moves a lease without a moment in which two nodes may use it.
struct Handoff : machines::Machine<Handoff> {
  static constexpr const char* kName = "handoff";
  enum class Phase { kOffering, kDraining, kGranting };
  static constexpr auto kPhases = machines::phases<Phase>(
      {{Phase::kOffering, "offering", "the next holder was asked and has not answered"},
       {Phase::kDraining, "draining", "the holder refuses new work and finishes what it has"},
       {Phase::kGranting, "granting", "the next holder may use the lease; it has not said that it knows"}});
  struct Document {
    std::string id, lease;
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

/// A node that may use a lease, or may come to. It stays, for it remembers the last hand-off.
struct Holder : machines::Machine<Holder> {
  static constexpr const char* kName = "holder";
  enum class Phase { kFree, kHolding, kDraining };
  static constexpr auto kPhases =
      machines::phases<Phase>({{Phase::kFree, "free", "it does not have the lease"},
                               {Phase::kHolding, "holding", "it uses the lease"},
                               {Phase::kDraining, "draining", "it finishes work begun under the lease"}});
  struct Document {
    std::string id;     ///< the lease
    int64_t epoch = 0;  ///< of the last hand-off it took part in
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

  // The first message about a lease makes its holder.
  static std::string idOf(const Offer& offer) { return offer.lease; }
  static std::string idOf(const Drain& drain) { return drain.lease; }
  static std::string idOf(const Grant& grant) { return grant.lease; }
  static std::optional<Document> open(const Offer& offer) { return Document{.id = offer.lease}; }
  static std::optional<Document> open(const Drain& drain) { return Document{.id = drain.lease}; }
  static std::optional<Document> open(const Grant& grant) { return Document{.id = grant.lease}; }
};

}  // namespace troupe::lease

TROUPE_MESSAGE(troupe::lease::Offer, lease, epoch)
TROUPE_MESSAGE(troupe::lease::Drain, lease, epoch)
TROUPE_MESSAGE(troupe::lease::Grant, lease, epoch)
TROUPE_MESSAGE(troupe::lease::Accepted)
TROUPE_MESSAGE(troupe::lease::Declined)
TROUPE_MESSAGE(troupe::lease::Drained)
TROUPE_MESSAGE(troupe::lease::Taken)
TROUPE_DESCRIBE(troupe::lease::WorkDone, 0)
TROUPE_DESCRIBE(troupe::lease::FinishWork, 0)
TROUPE_MACHINE(troupe::lease::Handoff, 1, id, lease, from, to, epoch, phase)
TROUPE_MACHINE(troupe::lease::Holder, 1, id, epoch, phase)
