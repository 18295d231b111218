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

/// Asks for a reap now (local payload): answered with `SessionsReaped` once one has come to its end that began after
/// the question, or why it did not.
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
std::vector<SessionRecordRow> reapable(const std::vector<SessionRecordRow>& records,
                                       const std::vector<server::SessionKey>& missing);

/// When a session was written for the last time before it counts as unused, by the two clocks of its record.
struct WrittenBefore {
  bson::Date date;       ///< of `lastWriteDate`
  bson::Timestamp time;  ///< of the entry, which its image names, too
};

/// Removes what was kept for sessions that are gone (SES-008), every logicalSessionRefreshMillis, where writes are
/// taken: from the session catalog what was last checked out the session time-out ago, and records of
/// config.transactions and config.image_collection of which the last write is that old; both only if
/// config.system.sessions does not have the session any more, and this node does not use it. It does nothing unless the
/// last refresh has succeeded: the sessions that are in use here might not be written yet. An image goes before its
/// record, so that a reap that ends half-way leaves no image behind. In batches, between which others have their turn;
/// what is in use again when a batch comes to be removed stays, and the first batch of a node that is no longer primary
/// ends the reap.
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
  /// Documents of config.transactions in the order of their ids.
  struct Page {
    std::vector<SessionRecordRow> records;  ///< those that are records of sessions
    std::optional<bson::Document> last;     ///< the last id, whatever it is; nothing: no document was left
  };
  Task<StatusWith<int64_t>> reapRecords(WrittenBefore before);
  Task<StatusWith<Page>> nextRecords(WrittenBefore before, std::optional<bson::Document> after);
  Task<StatusWith<int64_t>> remove(std::vector<SessionRecordRow> records, WrittenBefore before);
  bool mayReap() const;
  void dropUsed(std::vector<SessionRecordRow>& records) const;
  Task<Status> giveWay();

  server::ServerContext* const server_;
  SessionsCollection collection_;
  std::vector<Context> asked_;    ///< to be answered by the next reap
  std::vector<Context> waiting_;  ///< to be answered by this one
  std::string lastError_;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace troupe::maintenance
