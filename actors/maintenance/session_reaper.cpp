#include "actors/maintenance/session_reaper.hpp"

#include <chrono>
#include <unordered_set>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/session_catalog.hpp"
#include "messaging/errors/co_status.hpp"
#include "storage/sessions/session_record.hpp"

namespace troupe::maintenance {

using server::SessionJobs;
using server::SessionKey;

namespace {

constexpr size_t kBatch = SessionsCollection::kBatch;

}  // namespace

std::vector<bson::Document> reapable(const std::vector<SessionRecordRow>& records,
                                     const std::vector<SessionKey>& missing) {
  const std::unordered_set<SessionKey> gone(missing.begin(), missing.end());
  std::vector<bson::Document> ids;
  for (const SessionRecordRow& record : records)
    if (gone.contains(record.family)) ids.push_back(record.id);
  return ids;
}

Behaviour SessionReaper::behaviour() {
  return {on<ReapSessions>([this](const ReapSessions&, Context& context) {
    asked_.push_back(std::move(context));
    begin();
  })};
}

void SessionReaper::onStart() {
  if (server_->parameters.disableLogicalSessionCacheRefresh) {
    setPhase("idle", "disableLogicalSessionCacheRefresh is set");
    return;
  }
  setPhase("waiting", "for the time of the next reap");
  every(std::chrono::milliseconds(server_->parameters.logicalSessionRefreshMillis), [this] { begin(); });
}

void SessionReaper::onStopRequested() {
  stopping_ = true;
  if (!running_) stop();
}

void SessionReaper::begin() {
  if (running_ || stopping_) return;
  running_ = true;
  start(reap());
}

Task<void> SessionReaper::reap() {
  setPhase("reaping", "what was kept for sessions that are gone");
  const TimePoint begun = environment().now();
  SessionJobs figures;
  figures.reapedAt = server::wallMillis(*server_);
  const auto records = co_await reapAll();
  figures.reaped = records.isOK() ? *records : 0;
  figures.reapMillis = std::chrono::duration_cast<std::chrono::milliseconds>(environment().now() - begun).count();
  server_->sessions.noteReap(figures, records.isOK());
  lastError_ = records.isOK() ? "" : records.status().toString();
  if (!records.isOK() && !stopping_)
    server_->log.info(log::Component::kCommand, 7003004, "sessions", "Sessions that are gone could not all be reaped",
                      bson::doc("error", lastError_));
  for (Context& each : std::exchange(asked_, {})) {
    if (records.isOK()) each.reply(local(SessionsReaped{*records}));
    else each.fail(records.status());
  }
  running_ = false;
  setPhase("waiting", "for the time of the next reap");
  if (stopping_) stop();
}

/// Records are written where numbered commands run: on the primary of a set.
Task<StatusWith<int64_t>> SessionReaper::reapAll() {
  if (!server_->membership || !server::mayWrite(*server_, storage::transactionsNamespace())) co_return 0;
  if (!server_->sessions.jobs().isRefreshed) {
    if (asked_.empty()) co_return 0;
    co_return Status(ErrorCode::kIllegalOperation,
                     "the last refresh of the sessions has not succeeded: run refreshLogicalSessionCacheNow first");
  }
  const std::chrono::minutes timeout(server_->parameters.sessionTimeoutMinutes);
  TROUPE_CO_TRY(co_await reapCatalog(environment().now() - timeout));
  const bson::Date before{server::wallMillis(*server_) - std::chrono::milliseconds(timeout).count()};
  co_return co_await reapRecords(before);
}

Task<Status> SessionReaper::giveWay() {
  co_await node().nextTurn();
  if (stopping_) co_return Status(ErrorCode::kInterruptedAtShutdown, "the node is shutting down");
  co_return Status::OK();
}

Task<Status> SessionReaper::reapCatalog(TimePoint unusedSince) {
  std::vector<SessionKey> batch;
  auto families = server_->sessionCatalog->unusedSince(unusedSince);
  while (!families.empty()) {
    const std::string family = std::move(families.back());
    families.pop_back();
    if (family.size() == SessionKey::kBytes)
      batch.emplace_back(std::string_view(family).substr(0, SessionKey::kIdBytes),
                         std::string_view(family).substr(SessionKey::kIdBytes));
    if (batch.size() < kBatch && !families.empty()) continue;
    TROUPE_CO_TRY(co_await giveWay());
    std::vector<SessionKey> asked;
    asked.swap(batch);
    TROUPE_CO_ASSIGN(const auto missing, co_await collection_.missing(std::move(asked)));
    for (const SessionKey& key : missing)
      if (!server_->sessions.contains(key)) (void)server_->sessionCatalog->forget(std::string(key.bytes()));
  }
  co_return Status::OK();
}

Task<StatusWith<std::vector<SessionRecordRow>>> SessionReaper::nextRecords(bson::Date writtenBefore,
                                                                           std::optional<bson::Document> after) {
  bson::Builder find;
  find.append("find", storage::transactionsNamespace().collection()).openDocument("filter");
  if (after) find.append("_id", bson::doc("$gt", *after));
  find.append("lastWriteDate", bson::doc("$lt", writtenBefore)).close();
  find.append("projection", bson::doc("_id", 1)).append("sort", bson::doc("_id", 1));
  find.append("limit", static_cast<int64_t>(kBatch)).append("batchSize", static_cast<int64_t>(kBatch));
  find.append("singleBatch", true);
  bson::Document command = find.finish();
  TROUPE_CO_ASSIGN(const bson::Document reply, co_await collection_.run(std::move(command)));
  std::vector<SessionRecordRow> found;
  for (const bson::Element& e : reply.view().at("cursor.firstBatch").asArray()) {
    const bson::Element id = e.asDocument()["_id"];
    if (!id.is(bson::Type::kDocument)) continue;
    const auto family = SessionKey::ofStored(id.asDocument());
    if (family.isOK()) found.push_back({bson::Document(id.asDocument()), *family});
  }
  co_return found;
}

Task<StatusWith<int64_t>> SessionReaper::reapRecords(bson::Date writtenBefore) {
  int64_t removed = 0;
  std::optional<bson::Document> after;
  for (;;) {
    TROUPE_CO_TRY(co_await giveWay());
    TROUPE_CO_ASSIGN(const auto records, co_await nextRecords(writtenBefore, after));
    if (records.empty()) co_return removed;
    after = records.back().id;
    std::vector<SessionKey> unused;
    for (const SessionRecordRow& record : records)
      if (!server_->sessions.contains(record.family)) unused.push_back(record.family);
    TROUPE_CO_ASSIGN(auto missing, co_await collection_.missing(std::move(unused)));
    std::erase_if(missing, [this](const SessionKey& key) { return server_->sessions.contains(key); });
    auto ids = reapable(records, missing);
    const auto count = static_cast<int64_t>(ids.size());
    if (count > 0) TROUPE_CO_TRY(co_await remove(std::move(ids), writtenBefore));
    removed += count;
  }
}

Task<Status> SessionReaper::remove(std::vector<bson::Document> ids, bson::Date writtenBefore) {
  for (const bool areImages : {true, false}) {
    const storage::Namespace& ns = areImages ? storage::imagesNamespace() : storage::transactionsNamespace();
    bson::Builder remove;
    remove.append("delete", ns.collection()).openArray("deletes");
    for (const bson::Document& id : ids) {
      remove.pushDocument().openDocument("q").append("_id", id);
      if (!areImages)
        remove.append("lastWriteDate", bson::doc("$lt", writtenBefore));  // written again meanwhile: it stays
      remove.close().append("limit", 1).close();
    }
    remove.close().append("ordered", false).append("writeConcern", sessionWriteConcern());
    bson::Document command = remove.finish();
    const auto reply = co_await collection_.run(std::move(command));
    if (!reply.isOK()) co_return reply.status();
  }
  co_return Status::OK();
}

bson::Document SessionReaper::describe() const {
  const SessionJobs jobs = server_->sessions.jobs();
  return bson::doc("reaps", jobs.reaps, "failedReaps", jobs.failedReaps, "lastReaped", jobs.reaped, "lastError",
                   lastError_);
}

}  // namespace troupe::maintenance
