#pragma once
#include <set>

#include "actors/machines/message_binding.hpp"
#include "state_machines/core/machine.hpp"

namespace named_lease {
using namespace troupe::machines;
inline constexpr const char* kHolders = "/node/services/holders";
/// Asks the coordinator to give the lease to a node.
struct Move { std::string id; NodeName to; };
/// Tells the holder to stop using the lease. `epoch`: the number of the move, higher than those of all before.
struct Revoke { std::string id; int64_t epoch = 0; static constexpr const char* kReceiver = kHolders; };
/// Tells the next holder to use the lease from now on.
struct Grant { std::string id; int64_t epoch = 0; static constexpr const char* kReceiver = kHolders; };
/// The answer to each; to Move: it has begun, or was under way already.
struct Done {};

/// Moves a named lease from node to node: it is taken from one before it is given to the next.
struct Lease : Machine<Lease> {
  static constexpr const char* kName = "lease";
  enum class Phase { kHeld, kRevoking, kGranting };
  static constexpr auto kPhases = phases<Phase>(
      {{Phase::kHeld, "held", "its holder may use it, and nobody else"},
       {Phase::kRevoking, "revoking", "the holder was told to stop, and has not answered"},
       {Phase::kGranting, "granting", "nobody uses it; the next holder was told, and has not answered"}});
  struct Document { std::string id; NodeName holder, next; int64_t epoch = 0; Phase phase = Phase::kHeld; };
  using Event = std::variant<Move, Done>;
  using Message = std::variant<Done, Revoke, Grant>;

  static const Transitions<Lease>& transitions() {
    static const Transitions<Lease> table{
        anywhere<Move>({Phase::kRevoking}, [](const Document& d, const Move& e) -> Step<Lease> {
          if (e.to == d.next) return stay().then(reply(Done{}));
          if (d.phase != Phase::kHeld)
            return stay().then(refuse({troupe::ErrorCode::kConflictingOperationInProgress, "it moves to " + d.next}));
          const Document moved{d.id, d.holder, e.to, d.epoch + 1, Phase::kRevoking};
          return to(Phase::kRevoking, Durability::kMajority).with(moved).then(reply(Done{}), resume(moved).effects);
        }),
        row<Done>(Phase::kRevoking, {Phase::kGranting}, [](const Document& d, const Done&) {
          return to(Phase::kGranting, Durability::kMajority).then(ask(d.next, Grant{d.id, d.epoch}));
        }),
        row<Done>(Phase::kGranting, {Phase::kHeld}, [](const Document& d, const Done&) {
          return to(Phase::kHeld, Durability::kMajority).with({d.id, d.next, d.next, d.epoch});
        })};
    return table;
  }
  static Step<Lease> resume(const Document& d) {
    if (d.phase == Phase::kRevoking) return stay().then(ask(d.holder, Revoke{d.id, d.epoch}));
    return d.phase == Phase::kGranting ? stay().then(ask(d.next, Grant{d.id, d.epoch})) : stay();
  }
  static std::vector<Invariant> invariants() { return {}; }
  static std::string idOf(const Move& move) { return move.id; }
  static std::optional<Document> open(const Move& move) { return Document{move.id, "", move.to, 1, Phase::kGranting}; }
};

/// Whether a lease may be used on this node.
struct Holder : Machine<Holder> {
  static constexpr const char* kName = "lease-holder";
  enum class Phase { kIdle, kHolding };
  static constexpr auto kPhases = phases<Phase>({{Phase::kIdle, "idle", "the lease may not be used here"},
                                                 {Phase::kHolding, "holding", "the lease may be used here"}});
  struct Document { std::string id; int64_t epoch = 0; Phase phase = Phase::kIdle; };
  using Event = std::variant<Revoke, Grant>;
  using Message = std::variant<Done>;

  template <class Order, Phase kPhase>
  static Step<Holder> obey(const Document& d, const Order& order) {
    if (order.epoch <= d.epoch) return stay().then(reply(Done{}));  // told twice, or too late
    return to(kPhase, Durability::kMajority).with({d.id, order.epoch}).then(reply(Done{}));
  }
  static const Transitions<Holder>& transitions() {
    static const Transitions<Holder> table{anywhere<Revoke>({Phase::kIdle}, obey<Revoke, Phase::kIdle>),
                                           anywhere<Grant>({Phase::kHolding}, obey<Grant, Phase::kHolding>)};
    return table;
  }
  static Step<Holder> resume(const Document&) { return stay(); }
  static std::vector<Invariant> invariants() {
    return {never("two nodes hold one lease", [](const World& world) {
      std::multiset<std::string> held;
      world.each<Holder>([&](auto&, bool, auto& h) { if (phaseOf(h) == Phase::kHolding) held.insert(h.document.id); });
      return std::set(held.begin(), held.end()).size() < held.size();
    })};
  }
  static std::string idOf(const auto& order) { return order.id; }
  static std::optional<Document> open(const auto& order) { return Document{order.id}; }
};
}  // namespace named_lease

TROUPE_MESSAGE(named_lease::Move, id, to)
TROUPE_MESSAGE(named_lease::Revoke, id, epoch)
TROUPE_MESSAGE(named_lease::Grant, id, epoch)
TROUPE_MESSAGE(named_lease::Done)
TROUPE_MACHINE(named_lease::Lease, 1, id, holder, next, epoch, phase)
TROUPE_MACHINE(named_lease::Holder, 1, id, epoch, phase)
