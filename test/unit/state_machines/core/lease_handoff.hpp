#pragma once
#include <string>
#include <variant>

#include "state_machines/core/machine.hpp"

namespace troupe::machines::test {

struct Accepted {};
struct Declined {
  std::string why;
};
struct Drained {};

struct Offer {
  std::string lease;
};
struct Drain {
  std::string lease;
};
struct Grant {
  std::string lease;
};

/// Moves a named lease from one node to another without a moment in which both believe they hold it.
struct LeaseHandoff : Machine<LeaseHandoff> {
  static constexpr const char* kName = "lease-handoff";
  enum class Phase { kOffering, kDraining, kGranted };
  static constexpr auto kPhases =
      phases<Phase>({{Phase::kOffering, "offering", "the next holder was asked and has not answered"},
                     {Phase::kDraining, "draining", "the holder refuses new work and finishes what it has"},
                     {Phase::kGranted, "granted", "the next holder may use the lease; the document is about to go"}});

  struct Document {
    std::string id, from, to;
    Phase phase = Phase::kOffering;
  };
  using Event = std::variant<Accepted, Declined, Drained>;
  using Message = std::variant<Offer, Drain, Grant>;

  static const Transitions<LeaseHandoff>& transitions() {
    static const Transitions<LeaseHandoff> table{
        row<Accepted>(Phase::kOffering, {Phase::kDraining},
                      [](const Document& d, const Accepted&) {
                        return to(Phase::kDraining, Durability::kMajority).then(ask(d.from, Drain{d.id}));
                      }),
        row<Declined>(
            Phase::kOffering, {kEnd},
            [](const Document&, const Declined& e) { return finish(Status(ErrorCode::kIllegalOperation, e.why)); }),
        row<Drained>(Phase::kDraining, {Phase::kGranted}, [](const Document& d, const Drained&) {
          return to(Phase::kGranted, Durability::kMajority).then(send(d.to, Grant{d.id}));
        })};
    return table;
  }
  static Step<LeaseHandoff> resume(const Document& d) {
    switch (d.phase) {
      case Phase::kOffering: return stay().then(ask(d.to, Offer{d.id}));
      case Phase::kDraining: return stay().then(ask(d.from, Drain{d.id}));
      case Phase::kGranted: break;
    }
    return stay().then(send(d.to, Grant{d.id}));
  }
  static std::vector<Invariant> invariants() { return {}; }
};

}  // namespace troupe::machines::test

TROUPE_DESCRIBE(troupe::machines::test::Accepted, 0)
TROUPE_DESCRIBE(troupe::machines::test::Declined, 0, why)
TROUPE_DESCRIBE(troupe::machines::test::Drained, 0)
TROUPE_DESCRIBE(troupe::machines::test::Offer, 0, lease)
TROUPE_DESCRIBE(troupe::machines::test::Drain, 0, lease)
TROUPE_DESCRIBE(troupe::machines::test::Grant, 0, lease)
TROUPE_MACHINE(troupe::machines::test::LeaseHandoff, 1, id, from, to, phase)
