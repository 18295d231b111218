#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"
#include "storage/catalog/namespace.hpp"

namespace troupe::maintenance {

/// Removes the records of child sessions whose retryable write is over from config.transactions and
/// config.image_collection, as many at a time as `internalSessionsReapThreshold` says, so that internal transactions
/// leave no record each until the periodic reaping (SES-012). Of a primary: what it has gathered counts for its term.
/// A round that fails is not repeated; what it leaves is for the periodic reaping, too.
class ChildSessionReaper final : public Actor {
 public:
  /// `server`, a member's, outlives it.
  explicit ChildSessionReaper(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override;
  void onStart() override;
  void onStopRequested() override;
  bson::Document describe() const override;

 private:
  using Sessions = std::vector<bson::Document>;

  /// Begins a round if there are enough.
  void look();
  Task<void> reap(Sessions sessions, int64_t term);
  Task<Status> removeAll(storage::OperationContext* operation, const Sessions* sessions);
  Task<Status> removeGroup(storage::OperationContext* operation, const storage::Namespace* ns,
                           std::span<const bson::Document> sessions);

  server::ServerContext* server_;
  storage::OperationContext* round_ = nullptr;  ///< of the round that is under way
  bool stopping_ = false;
  int64_t rounds_ = 0, removed_ = 0;
  std::string lastError_;
};

}  // namespace troupe::maintenance
