#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/kernel/task.hpp"
#include "actors/replication/remote_members.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/session_access.hpp"
#include "actors/server/session_cache.hpp"

namespace troupe::maintenance {

/// config.system.sessions, a document {_id: {id, uid}, lastUse, user?} for each session of the set or of the node that
/// stands alone (SES-006). All members work on the primary's, through commands of the cluster itself. An index expires
/// sessions that no member has written for the session time-out (SES-007). Each call is one command of bounded size;
/// its writes are awaited by a majority, for a bounded time. For the coroutines of one actor.
class SessionsCollection {
 public:
  /// `server` outlives it. `nodes`: the way to the primary, and to this node itself.
  SessionsCollection(server::ServerContext& server, std::shared_ptr<replication::RemoteMembers> nodes)
      : server_(server), nodes_(std::move(nodes)) {}

  /// Sessions in one command: few enough that nobody waits long behind it, and enough to await a majority for.
  static constexpr size_t kBatch = 250;
  static constexpr const char* kIndexName = "lsidTTLIndex";

  /// Makes collection and index where they are missing. The primary's time-out counts: only that changes the index.
  /// Errors: those of the command, NotWritablePrimary (no primary is known), HostUnreachable, MaxTimeMSExpired.
  Task<Status> prepare();
  /// Writes that they were used; the time is the primary's. Errors as for prepare.
  Task<Status> write(std::vector<server::SessionCache::Row> used);
  Task<Status> remove(std::vector<server::SessionKey> ended);
  /// Those of them that have no document.
  Task<StatusWith<std::vector<server::SessionKey>>> missing(std::vector<server::SessionKey> sessions);
  /// Runs a command on the primary as the cluster itself. Errors: also the first error of a write, and what became of
  /// its write concern.
  Task<StatusWith<bson::Document>> run(bson::Document command);
  /// The same on this node: as a primary, or not at all (NotWritablePrimary).
  Task<StatusWith<bson::Document>> runHere(bson::Document command);

 private:
  Task<StatusWith<bson::Document>> runOn(std::string target, bson::Document command);

  server::ServerContext& server_;
  const std::shared_ptr<replication::RemoteMembers> nodes_;
};

/// {w: "majority", wtimeout}: what the jobs of sessions await.
bson::Document sessionWriteConcern();

}  // namespace troupe::maintenance
