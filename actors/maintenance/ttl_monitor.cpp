#include "actors/maintenance/ttl_monitor.hpp"

#include <chrono>
#include <utility>

#include "actors/server/hello_state.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/service_operation.hpp"
#include "actors/storage/storage_waits.hpp"

namespace troupe::maintenance {

using query::ExpiryRule;

namespace {

/// How often the parameters are looked at between two passes.
constexpr auto kLookEvery = std::chrono::seconds(1);

/// A target of 0 is none.
TimePoint endOf(TimePoint begin, std::chrono::seconds target) {
  return target.count() > 0 ? begin + target : TimePoint::max();
}

TtlTurn newTurn(const server::Parameters& parameters, TimePoint now) {
  if (!parameters.ttlMonitorBatchDeletes) return TtlTurn::oneByOne();
  return TtlTurn::batched(parameters.ttlIndexDeleteTargetDocs,
                          std::chrono::milliseconds(parameters.ttlIndexDeleteTargetTimeMS), now);
}

std::string shownRule(const storage::Namespace& ns, const ExpiryRule& rule) {
  return ns.toString() + (rule.index.empty() ? " by its cluster key" : " by index " + rule.index);
}

}  // namespace

void TtlMonitor::onStart() {
  setPhase("waiting", "for the time of the next pass");
  lastPass_ = environment().now();
  every(kLookEvery, [this] { look(); });
}

void TtlMonitor::onStopRequested() {
  stopping_ = true;
  if (turn_) turn_->kill(ErrorCode::kInterruptedAtShutdown);
  if (!running_) stop();
}

void TtlMonitor::look() {
  const auto pause = std::chrono::seconds(server_->parameters.ttlMonitorSleepSecs);
  if (running_ || !mayGoOn() || environment().now() - lastPass_ < pause) return;
  running_ = true;
  start(pass());
}

bool TtlMonitor::mayGoOn() const {
  return !stopping_ && !server_->hello.shuttingDown() && server_->parameters.ttlMonitorEnabled;
}

Task<void> TtlMonitor::pass() {
  setPhase("removing", "documents that have expired");
  for (bool areLeft = true; areLeft && mayGoOn();) {
    const std::chrono::seconds target(server_->parameters.ttlMonitorSubPassTargetSecs);
    const bool batched = server_->parameters.ttlMonitorBatchDeletes;
    TtlSubpass rules(query::expiryRules(*server_->catalog.unguarded().snapshot()),
                     batched ? endOf(environment().now(), target) : TimePoint::max());
    co_await subpass(&rules);
    lag_.ended(rules);
    areLeft = !rules.left().empty();
    server_->counters.ttlSubPasses.fetch_add(1, std::memory_order_relaxed);
  }
  server_->counters.ttlPasses.fetch_add(1, std::memory_order_relaxed);
  lastPass_ = environment().now();
  running_ = false;
  setPhase("waiting", "for the time of the next pass");
  if (stopping_) stop();
}

Task<void> TtlMonitor::subpass(TtlSubpass* rules) {
  for (auto rule = rules->next(environment().now()); rule && mayGoOn(); rule = rules->next(environment().now())) {
    const bool areMore = co_await turn(*rule);
    rules->visited(areMore);
  }
}

Task<bool> TtlMonitor::turn(ExpiryRule rule) {
  const storage::CatalogPtr catalog = server_->catalog.unguarded().snapshot();
  if (catalog->closed()) co_return false;  // the node rolls back: what has expired waits for a later pass
  const auto expiry = query::findExpiry(*catalog, rule);
  if (!expiry) co_return false;
  const storage::Namespace ns = expiry->collection->ns();
  if (!server::mayWrite(*server_, ns)) co_return false;
  const server::Parameters& parameters = server_->parameters;
  server::ServiceOperation operation(*server_, "TTLMonitor", ns,
                                     bson::doc("delete", ns.collection(), "expiredBy", rule.index, "$db", ns.db()));
  const bool lags = lag_.of(rule) >= parameters.ttlCollLowPrioritySubpassLimit;
  operation->setPriority(lags ? storage::AdmissionPriority::kNormal : storage::AdmissionPriority::kLow);
  if (ns.isReplicated()) operation->announceWrites();
  turn_ = &*operation;
  shownTurn_ = shownRule(ns, rule);
  TtlTurn removal = newTurn(parameters, environment().now());
  bool failed = false;
  for (auto most = removal.next(environment().now()); most; most = removal.next(environment().now())) {
    const auto outcome = co_await batch(&*operation, rule, ns, *most);
    failed = !outcome.isOK();
    if (failed) {
      server_->log.info(log::Component::kIndex, 5400703, "ttl", "A turn of the TTL monitor ended early",
                        bson::doc("rule", shownTurn_, "error", outcome.status().toString()));
      break;
    }
    removal.removed(*outcome);
    co_await node().nextTurn();  // operators may ask for its state, and end it
  }
  turn_ = nullptr;
  shownTurn_.clear();
  co_return !failed && removal.areMore();  // what a failed turn leaves waits for the next pass
}

/// Drops and other operations that want the collection for themselves wait for one batch. They may have changed the
/// rule while this batch waited for its lock.
Task<StatusWith<query::Expired>> TtlMonitor::batch(storage::OperationContext* operation, ExpiryRule rule,
                                                   storage::Namespace ns, size_t limit) {
  const auto lock = co_await lockCollection(node(), *operation, server_->catalog.unguarded(), rule.collection, ns,
                                            storage::LockMode::kIX);
  if (!lock.isOK()) co_return lock.status();
  const auto expiry = query::findExpiry(*server_->catalog.unguarded().snapshot(), rule);
  query::Expired removed;
  if (!expiry) co_return removed;
  operation->recoveryUnit().abandonSnapshot();
  const bson::Date now{server::wallMillis(*server_)};
  auto remove = [&]() -> Status {
    TROUPE_ASSIGN(removed, query::removeExpired(operation->recoveryUnit(), *expiry, now, limit));
    return Status::OK();
  };
  CollectionWriter writer(server_->writes, *operation);
  const Status status = co_await writer.commit(remove, storage::UnitLogging::kGrouped);
  operation->recoveryUnit().releaseSession();
  if (!status.isOK()) co_return status;
  server_->counters.ttlDeletedDocuments.fetch_add(static_cast<int64_t>(removed.documents), std::memory_order_relaxed);
  co_return removed;
}

bson::Document TtlMonitor::describe() const {
  const server::ServerCounters& counters = server_->counters;
  return bson::doc("passes", counters.ttlPasses.load(), "subPasses", counters.ttlSubPasses.load(), "deletedDocuments",
                   counters.ttlDeletedDocuments.load(), "lagging", static_cast<int64_t>(lag_.size()), "removes",
                   shownTurn_);
}

}  // namespace troupe::maintenance
