#pragma once
#include <optional>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/task.hpp"
#include "actors/maintenance/ttl_subpass.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::maintenance {

/// Removes documents that have expired, on the node that takes writes (TTL-001, TTL-002): members get the removals from
/// its log. A pass begins `ttlMonitorSleepSecs` after the last one has ended. It consists of subpasses, each over the
/// rules that the catalog has then; while some rule has documents left the next subpass follows at once (TTL-005). A
/// turn of a rule removes batches, each a grouped unit of work under a lock of its own, up to the targets of number and
/// time (TTL-004). Without ttlMonitorBatchDeletes one rule after the other is brought to its end, document by document
/// (TTL-006). Each turn is an operation that operators see and can end. Runs on its own thread.
class TtlMonitor final : public Actor {
 public:
  explicit TtlMonitor(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override { return {}; }
  void onStart() override;
  /// Ends the turn that runs.
  void onStopRequested() override;
  bson::Document describe() const override;

 private:
  void look();
  Task<void> pass();
  Task<void> subpass(TtlSubpass* rules);
  /// True when documents are left that the turn's targets did not let it remove.
  Task<bool> turn(query::ExpiryRule rule);
  Task<StatusWith<query::Expired>> batch(storage::OperationContext* operation, query::ExpiryRule rule,
                                         storage::Namespace ns, size_t limit);
  bool mayGoOn() const;

  server::ServerContext* const server_;
  TimePoint lastPass_{};
  TtlLag lag_;
  storage::OperationContext* turn_ = nullptr;  ///< the operation of the turn that runs
  std::string shownTurn_;
  bool running_ = false;
  bool stopping_ = false;
};

}  // namespace troupe::maintenance
