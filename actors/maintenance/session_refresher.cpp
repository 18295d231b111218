#include "actors/maintenance/session_refresher.hpp"

#include <chrono>
#include <utility>

#include "actors/kernel/node.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::maintenance {

using server::SessionCache;
using server::SessionJobs;
using server::SessionKey;

namespace {

std::vector<SessionKey> keysOf(const std::vector<SessionCache::Row>& rows) {
  std::vector<SessionKey> keys;
  keys.reserve(rows.size());
  for (const SessionCache::Row& row : rows) keys.push_back(row.key);
  return keys;
}

}  // namespace

Behaviour SessionRefresher::behaviour() {
  return {on<RefreshSessions>([this](const RefreshSessions&, Context& context) {
    asked_.push_back(std::move(context));
    begin();
  })};
}

void SessionRefresher::onStart() {
  if (server_->parameters.disableLogicalSessionCacheRefresh) {
    setPhase("idle", "disableLogicalSessionCacheRefresh is set");
    return;
  }
  setPhase("waiting", "for the time of the next refresh");
  every(std::chrono::milliseconds(server_->parameters.logicalSessionRefreshMillis), [this] { begin(); });
}

void SessionRefresher::onStopRequested() {
  stopping_ = true;
  if (!running_) stop();
}

void SessionRefresher::begin() {
  if (running_ || stopping_) return;
  running_ = true;
  waiting_ = std::exchange(asked_, {});
  start(refresh());
}

Task<void> SessionRefresher::refresh() {
  setPhase("refreshing", "sessions and their collection are brought together");
  const TimePoint begun = environment().now();
  SessionJobs figures;
  figures.refreshedAt = server::wallMillis(*server_);
  const Status status = co_await bringTogether(&figures);
  figures.isRefreshed = status.isOK();
  figures.refreshMillis = std::chrono::duration_cast<std::chrono::milliseconds>(environment().now() - begun).count();
  server_->sessions.noteRefresh(figures);
  lastError_ = status.isOK() ? "" : status.toString();
  if (!status.isOK() && !stopping_)
    server_->log.info(log::Component::kCommand, 7003003, "sessions",
                      "The sessions could not be refreshed; what is left is done by the next refresh",
                      bson::doc("error", lastError_));
  for (Context& each : std::exchange(waiting_, {})) {
    if (status.isOK()) each.reply(local(SessionsRefreshed{}));
    else each.fail(status);
  }
  running_ = false;
  setPhase("waiting", "for the time of the next refresh");
  if (stopping_) stop();
  else if (!asked_.empty()) begin();
}

/// A node whose clients use no sessions needs no collection, unless somebody asks.
Task<Status> SessionRefresher::bringTogether(SessionJobs* figures) {
  const bool hasWork = server_->sessions.size() > 0 || server_->sessions.ended() > 0 || !waiting_.empty();
  if (hasWork) {
    TROUPE_CO_TRY(co_await collection_.prepare());
    TROUPE_CO_TRY(co_await writeUsed(figures));
    TROUPE_CO_TRY(co_await deleteEnded(figures));
    TROUPE_CO_TRY(co_await forgetExpired(figures));
  }
  co_return co_await endStrayCursors(figures);
}

Task<Status> SessionRefresher::giveWay() {
  co_await node().nextTurn();
  if (stopping_) co_return Status(ErrorCode::kInterruptedAtShutdown, "the node is shutting down");
  co_return Status::OK();
}

Task<Status> SessionRefresher::writeUsed(SessionJobs* figures) {
  for (SessionCache::Place place; !place.atEnd;) {
    TROUPE_CO_TRY(co_await giveWay());
    const auto used = server_->sessions.look(place, SessionsCollection::kBatch, SessionCache::Which::kUsed);
    if (used.empty()) continue;
    TROUPE_CO_TRY(co_await collection_.write(used));
    server_->sessions.noteWritten(used);
    figures->refreshed += static_cast<int64_t>(used.size());
  }
  co_return Status::OK();
}

Task<Status> SessionRefresher::deleteEnded(SessionJobs* figures) {
  for (SessionCache::Place place; !place.atEnd;) {
    TROUPE_CO_TRY(co_await giveWay());
    const auto ended = keysOf(server_->sessions.look(place, SessionsCollection::kBatch, SessionCache::Which::kEnded));
    if (ended.empty()) continue;
    TROUPE_CO_TRY(co_await collection_.remove(ended));
    server_->sessions.noteDeleted(ended);
    figures->ended += static_cast<int64_t>(ended.size());
    std::vector<SessionKey> unused;
    for (const SessionKey& key : ended)
      if (!server_->sessions.contains(key)) unused.push_back(key);
    figures->cursorsClosed += server_->cursors.killOf(unused);
  }
  co_return Status::OK();
}

Task<Status> SessionRefresher::forgetExpired(SessionJobs* figures) {
  for (SessionCache::Place place; !place.atEnd;) {
    TROUPE_CO_TRY(co_await giveWay());
    const auto known = server_->sessions.look(place, SessionsCollection::kBatch, SessionCache::Which::kKnown);
    auto candidates = keysOf(known);
    TROUPE_CO_TRY(co_await expire(std::move(candidates), figures));
  }
  co_return Status::OK();
}

Task<Status> SessionRefresher::endStrayCursors(SessionJobs* figures) {
  const auto timeout = std::chrono::minutes(server_->parameters.sessionTimeoutMinutes);
  for (server::TablePlace place; !place.atEnd;) {
    TROUPE_CO_TRY(co_await giveWay());
    auto strays = server_->cursors.sessions(place, SessionsCollection::kBatch, environment().now() - timeout);
    std::erase_if(strays, [this](const SessionKey& key) { return server_->sessions.contains(key); });
    TROUPE_CO_TRY(co_await expire(std::move(strays), figures));
  }
  co_return Status::OK();
}

Task<Status> SessionRefresher::expire(std::vector<SessionKey> candidates, SessionJobs* figures) {
  if (candidates.empty()) co_return Status::OK();
  TROUPE_CO_ASSIGN(const auto missing, co_await collection_.missing(std::move(candidates)));
  const auto gone = server_->sessions.expire(missing);
  figures->cursorsClosed += server_->cursors.killOf(gone);
  co_return Status::OK();
}

bson::Document SessionRefresher::describe() const {
  const SessionJobs jobs = server_->sessions.jobs();
  return bson::doc("sessions", static_cast<int64_t>(server_->sessions.size()), "refreshes", jobs.refreshes,
                   "failedRefreshes", jobs.failedRefreshes, "lastRefreshed", jobs.refreshed, "lastEnded", jobs.ended,
                   "lastCursorsClosed", jobs.cursorsClosed, "lastError", lastError_);
}

}  // namespace troupe::maintenance
