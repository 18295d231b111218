#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "actors/commands/listed_rows.hpp"
#include "actors/server/request.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/user_store.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::commands {
using namespace server;

/// The rights of a client over the listing of sessions, as of when its pipeline was opened.
struct SessionViewer {
  static SessionViewer of(const Request& request);
  std::string owner;            ///< the digest of its own sessions
  std::optional<UserKey> user;  ///< whose they are, unless it has several
  bool mayListAny = false;      ///< it has the action listSessions
};

/// Whose sessions $listSessions or $listLocalSessions shows: the client's own; with {users: [{user, db}, ...]} those of
/// the users, with {allUsers: true} everybody's, which need the action listSessions unless the only user is the client.
class ListedSessions {
 public:
  /// `options`: checked by checkSourceOptions; the users are those that have the names now. They are looked for once it
  /// is clear that the client may see them; `step` is asked before each of them, and may end the work. Errors:
  /// Unauthorized, those of UserStore::keyOf and of `step`.
  static StatusWith<ListedSessions> of(std::string_view stage, bson::View options, const SessionViewer& viewer,
                                       const UserStore& store, const std::function<Status()>& step);
  bool contains(std::string_view owner) const { return all_ || owners_.contains(std::string(owner)); }
  /// For documents of config.system.sessions; empty for everybody's.
  bson::Document filter() const;

 private:
  bool all_ = false;
  std::unordered_set<std::string> owners_;
};

/// The rows of $listLocalSessions, {_id: {id, uid}, lastUse, user?}, within the budget of `rows`. `step` is asked after
/// each piece, and may end the work. Errors: ExceededMemoryLimit, those of `step`.
Status addLocalSessions(ServerContext& server, const ListedSessions& wanted, const std::function<Status()>& step,
                        ListedRows& rows);

}  // namespace troupe::commands
