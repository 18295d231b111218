#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/task.hpp"
#include "actors/maintenance/sessions_collection.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

inline constexpr const char* kSessionReaperPath = "/node/services/session-reaper";

/// Asks for a reap now (local payload): answered with `SessionsReaped`, or why it did not come to its end.
struct ReapSessions {};
struct SessionsReaped {
  int64_t records = 0;  ///< of config.transactions
};

/// A record of config.transactions, as far as reaping goes.
struct SessionRecordRow {
  bson::Document id;  ///< {id, uid, ...}
  server::SessionKey family;
};

/// The records that may be removed: of sessions that nobody uses here, and that the collection does not know. Pure.
std::vector<bson::Document> reapable(const std::vector<SessionRecordRow>& records,
                                     const std::vector<server::SessionKey>& missing);

/// Removes what was kept for sessions that are gone (SES-008), every logicalSessionRefreshMillis, where writes are
/// taken: from the session catalog what was last checked out the session time-out ago, and records of
/// config.transactions and config.image_collection of which the last write is that old; both only if
/// config.system.sessions does not have the session any more, and this node does not use it. It does nothing unless the
/// last refresh has succeeded: the sessions that are in use here might not be written yet. An image goes before its
/// record, so that a reap that ends half-way leaves no image behind. In batches, between which others have their turn.
class SessionReaper final : public Actor {
 public:
  /// `server` outlives it. `nodes`: see SessionsCollection.
  SessionReaper(server::ServerContext* server, std::shared_ptr<replication::RemoteMembers> nodes)
      : server_(server), collection_(*server, std::move(nodes)) {}
  Behaviour behaviour() override;
  void onStart() override;
  /// Ends between two commands.
  void onStopRequested() override;
  bson::Document describe() const override;

 private:
  void begin();
  Task<void> reap();
  Task<StatusWith<int64_t>> reapAll();
  Task<Status> reapCatalog(TimePoint unusedSince);
  Task<StatusWith<int64_t>> reapRecords(bson::Date writtenBefore);
  Task<StatusWith<std::vector<SessionRecordRow>>> nextRecords(bson::Date writtenBefore,
                                                              std::optional<bson::Document> after);
  Task<Status> remove(std::vector<bson::Document> ids, bson::Date writtenBefore);
  Task<Status> giveWay();

  server::ServerContext* const server_;
  SessionsCollection collection_;
  std::vector<Context> asked_;  ///< to be answered by the present reap
  std::string lastError_;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace troupe::maintenance
