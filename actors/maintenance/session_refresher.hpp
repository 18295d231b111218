#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/task.hpp"
#include "actors/maintenance/sessions_collection.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

inline constexpr const char* kSessionRefresherPath = "/node/services/session-refresher";

/// Asks for a refresh now (local payload): answered with `SessionsRefreshed` once one has succeeded that began after
/// the question, or why it has not.
struct RefreshSessions {};
struct SessionsRefreshed {};

/// Brings the sessions that this node remembers and config.system.sessions together, every logicalSessionRefreshMillis
/// (SES-005): used sessions are written there; ended ones are deleted there; of the others, those that are gone there
/// (they have timed out, or were ended on another member) are forgotten; cursors of ended and forgotten sessions are
/// killed. It goes piece by piece, so that it delays nobody. What failed is work of the next refresh: nothing is
/// forgotten before the collection has answered. Sessions of running operations count as used. With
/// disableLogicalSessionCacheRefresh it works on demand only (SES-009).
class SessionRefresher final : public Actor {
 public:
  /// `server` outlives it. `nodes`: see SessionsCollection.
  SessionRefresher(server::ServerContext* server, std::shared_ptr<replication::RemoteMembers> nodes)
      : server_(server), collection_(*server, std::move(nodes)) {}
  Behaviour behaviour() override;
  void onStart() override;
  /// Ends between two commands.
  void onStopRequested() override;
  bson::Document describe() const override;

 private:
  void begin();
  Task<void> refresh();
  Task<Status> bringTogether(server::SessionJobs* figures);
  Task<Status> writeUsed(server::SessionJobs* figures);
  Task<Status> deleteEnded(server::SessionJobs* figures);
  Task<Status> forgetExpired(server::SessionJobs* figures);
  /// Sessions that are forgotten already and still have cursors. One that gave its place in the cache to another may
  /// never have been written: while its cursors are in use it is not over.
  Task<Status> endStrayCursors(server::SessionJobs* figures);
  Task<Status> expire(std::vector<server::SessionKey> candidates, server::SessionJobs* figures);
  Task<Status> giveWay();

  server::ServerContext* const server_;
  SessionsCollection collection_;
  std::vector<Context> asked_;    ///< to be answered by the next refresh
  std::vector<Context> waiting_;  ///< to be answered by this one
  std::string lastError_;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace troupe::maintenance
