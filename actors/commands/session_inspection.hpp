#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "actors/server/server_context.hpp"
#include "actors/server/session_cache.hpp"
#include "actors/server/session_key.hpp"

namespace troupe::commands {
using namespace server;

/// Rows of sessionInfo and of the admin page: the sessions of this node, the one used last first, `most` of them behind
/// `after` (null: from the first): {_id: {id, uid}, session: the id as text, user, lastUse, openCursors, operation?:
/// {opid, command, ns}, waiters, kills}. Waiters: numbered commands that await the session. Kills: that the command
/// which has it was told of and has not answered yet.
std::vector<bson::Document> sessionRows(ServerContext& server, const SessionKey* after, size_t most);

/// A choice of sessions to be killed.
class SessionChoice {
 public:
  void addAll() { all_ = true; }
  void add(const SessionKey& key) { keys_.insert(key); }
  /// Sessions of that id (16 bytes), whoever owns them.
  void addId(std::string_view id) { ids_.insert(std::string(id)); }
  /// All sessions of an owner, named by the digest.
  void addOwner(std::string_view digest) { owners_.insert(std::string(digest)); }
  bool contains(const SessionKey& key) const;
  /// Whether it names its sessions one by one, so that they are found without a look at the others.
  bool isNamed() const { return !all_ && owners_.empty(); }
  bool empty() const { return !all_ && owners_.empty() && keys_.empty() && ids_.empty(); }

 private:
  friend size_t killWorkOf(ServerContext& server, const SessionChoice& choice, const Client* except);
  friend size_t killNamedSessions(ServerContext& server, const SessionChoice& choice, const Client* except);
  bool all_ = false;
  std::unordered_set<SessionKey> keys_;
  std::unordered_set<std::string> ids_, owners_;
};

/// Interrupts the operations in the chosen sessions, but for those of `except`, and those that await them, and ends
/// their cursors. Returns how many operations were interrupted.
size_t killWorkOf(ServerContext& server, const SessionChoice& choice, const Client* except);
/// Kills the work of the sessions that are named, and ends them: they are deleted from config.system.sessions by the
/// next refresh. Returns how many of them this node has seen. `choice.isNamed()`.
size_t killNamedSessions(ServerContext& server, const SessionChoice& choice, const Client* except);

}  // namespace troupe::commands
