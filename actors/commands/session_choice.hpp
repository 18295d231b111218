#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

#include "actors/kernel/task.hpp"
#include "actors/server/request.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_key.hpp"
#include "messaging/errors/status.hpp"
#include "storage/operation/memory_budget.hpp"

namespace troupe::commands {
using namespace server;

/// A choice of sessions to be killed, as long as the client likes: charged to the budget of its operation, which
/// outlives it.
class SessionChoice {
 public:
  explicit SessionChoice(storage::MemoryBudget& budget) : budget_(&budget) {}

  // Errors: ExceededMemoryLimit.
  void addAll() { all_ = true; }
  Status add(const SessionKey& key);
  /// Sessions with that id (16 bytes), of all owners.
  Status addId(std::string_view id);
  /// All sessions of an owner, named by the digest.
  Status addOwner(std::string_view digest);
  /// Charges what goes with the choice, in larger pieces.
  Status charge(size_t bytes);

  bool contains(const SessionKey& key) const;
  /// Whether it names its sessions one by one, so that they are found without a look at the others.
  bool isNamed() const { return !all_ && owners_.empty(); }
  bool empty() const { return !all_ && owners_.empty() && keys_.empty() && ids_.empty(); }
  const std::unordered_set<SessionKey>& keys() const { return keys_; }
  const std::unordered_set<std::string>& ids() const { return ids_; }

 private:
  storage::MemoryBudget* budget_;
  storage::MemoryCharge charge_;
  size_t bytes_ = 0;
  bool all_ = false;
  std::unordered_set<SessionKey> keys_;
  std::unordered_set<std::string> ids_, owners_;
};

/// Ends a session: with its cursors, which go in pieces. What runs in it goes on. True if this node knew of it. Errors:
/// what ended the operation.
Task<StatusWith<bool>> endSession(Request& request, SessionKey key);

/// Interrupts the operations in the chosen sessions, but for those of the client itself, and those that await the
/// sessions, and ends these with their cursors: they are deleted from config.system.sessions by the next refresh. In
/// pieces, between which others have their turn. Returns how many sessions this node knew of. Errors: what ended the
/// operation.
Task<StatusWith<int64_t>> killChosen(Request& request, const SessionChoice* choice);

/// The same for the sessions of one id (16 bytes), in one piece: for operators who are no clients.
void killSessionsOfId(ServerContext& server, std::string_view id);

}  // namespace troupe::commands
