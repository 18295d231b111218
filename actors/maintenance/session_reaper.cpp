#include "actors/maintenance/session_reaper.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
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

std::vector<SessionRecordRow> reapable(const std::vector<SessionRecordRow>& records,
                                       const std::vector<SessionKey>& missing) {
  const std::unordered_set<SessionKey> gone(missing.begin(), missing.end());
  std::vector<SessionRecordRow> found;
  std::ranges::copy_if(records, std::back_inserter(found),
                       [&](const SessionRecordRow& record) { return gone.contains(record.family); });
  return found;
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
  waiting_ = std::exchange(asked_, {});
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
  for (Context& each : std::exchange(waiting_, {})) {
    if (records.isOK()) each.reply(local(SessionsReaped{*records}));
    else each.fail(records.status());
  }
  running_ = false;
  setPhase("waiting", "for the time of the next reap");
  if (stopping_) stop();
  else if (!asked_.empty()) begin();
}

/// Records are written where numbered commands run: on the primary of a set.
Task<StatusWith<int64_t>> SessionReaper::reapAll() {
  if (!server_->membership || !mayReap()) co_return 0;
  if (!server_->sessions.jobs().isRefreshed) {
    if (waiting_.empty()) co_return 0;
    co_return Status(ErrorCode::kIllegalOperation,
                     "the last refresh of the sessions has not succeeded: run refreshLogicalSessionCacheNow first");
  }
  const std::chrono::minutes timeout(server_->parameters.sessionTimeoutMinutes);
  TROUPE_CO_TRY(co_await reapCatalog(environment().now() - timeout));
  const int64_t before = server::wallMillis(*server_) - std::chrono::milliseconds(timeout).count();
  if (before <= 0) co_return 0;
  co_return co_await reapRecords({bson::Date{before}, bson::Timestamp{static_cast<uint32_t>(before / 1000), 0}});
}

bool SessionReaper::mayReap() const { return server::mayWrite(*server_, storage::transactionsNamespace()); }

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

/// What somebody else has put there may fill pages: they are continued behind their last document, whatever it is. Ids
/// that are no documents are passed over by the bounds, which are those of documents.
Task<StatusWith<SessionReaper::Page>> SessionReaper::nextRecords(WrittenBefore before,
                                                                 std::optional<bson::Document> after) {
  bson::Builder find;
  find.append("find", storage::transactionsNamespace().collection()).openDocument("filter");
  if (after) find.append("_id", bson::doc("$gt", *after));
  else find.append("_id", bson::doc("$gte", bson::Document()));
  find.append("lastWriteDate", bson::doc("$lt", before.date));
  find.append("lastWriteOpTime.ts", bson::doc("$lt", before.time)).close();
  find.append("projection", bson::doc("_id", 1)).append("sort", bson::doc("_id", 1));
  find.append("limit", static_cast<int64_t>(kBatch)).append("batchSize", static_cast<int64_t>(kBatch));
  find.append("singleBatch", true);
  bson::Document command = find.finish();
  TROUPE_CO_ASSIGN(const bson::Document reply, co_await collection_.runHere(std::move(command)));
  Page page;
  for (const bson::Element& e : reply.view().at("cursor.firstBatch").asArray()) {
    const bson::Element id = e.asDocument()["_id"];
    if (!id.is(bson::Type::kDocument)) continue;
    page.last = bson::Document(id.asDocument());
    if (const auto family = SessionKey::ofStored(id.asDocument()); family.isOK())
      page.records.push_back({*page.last, *family});
  }
  co_return page;
}

void SessionReaper::dropUsed(std::vector<SessionRecordRow>& records) const {
  std::erase_if(records, [this](const SessionRecordRow& record) { return server_->sessions.contains(record.family); });
}

Task<StatusWith<int64_t>> SessionReaper::reapRecords(WrittenBefore before) {
  int64_t removed = 0;
  std::optional<bson::Document> after;
  for (;;) {
    TROUPE_CO_TRY(co_await giveWay());
    if (!mayReap()) co_return removed;
    TROUPE_CO_ASSIGN(Page page, co_await nextRecords(before, after));
    if (!page.last) co_return removed;
    after = std::move(page.last);
    dropUsed(page.records);
    std::vector<SessionKey> unused;
    for (const SessionRecordRow& record : page.records) unused.push_back(record.family);
    TROUPE_CO_ASSIGN(const auto missing, co_await collection_.missing(std::move(unused)));
    auto gone = reapable(page.records, missing);
    TROUPE_CO_ASSIGN(const int64_t count, co_await remove(std::move(gone), before));
    removed += count;
  }
}

/// A session may come into use at any time, also between the two commands. One that does has a record and an image that
/// are not as old any more, or will have: the queries spare what is written, and what is about to be is not touched,
/// since that would end the command that has the session. Only this node knows what is in use here, so the commands are
/// its own: on another primary they would remove what that one uses.
Task<StatusWith<int64_t>> SessionReaper::remove(std::vector<SessionRecordRow> records, WrittenBefore before) {
  int64_t removed = 0;
  for (const bool areImages : {true, false}) {
    dropUsed(records);
    if (records.empty() || !mayReap()) co_return removed;
    const storage::Namespace& ns = areImages ? storage::imagesNamespace() : storage::transactionsNamespace();
    bson::Builder remove;
    remove.append("delete", ns.collection()).openArray("deletes");
    for (const SessionRecordRow& record : records) {
      remove.pushDocument().openDocument("q").append("_id", record.id);
      if (areImages) {
        remove.append("ts", bson::doc("$lt", before.time));
      } else {
        remove.append("lastWriteDate", bson::doc("$lt", before.date));
        remove.append("lastWriteOpTime.ts", bson::doc("$lt", before.time));
      }
      remove.close().append("limit", 1).close();
    }
    remove.close().append("ordered", false).append("writeConcern", sessionWriteConcern());
    bson::Document command = remove.finish();
    TROUPE_CO_ASSIGN(const bson::Document reply, co_await collection_.runHere(std::move(command)));
    if (!areImages) removed = reply["n"].toInt64();
  }
  co_return removed;
}

bson::Document SessionReaper::describe() const {
  const SessionJobs jobs = server_->sessions.jobs();
  return bson::doc("reaps", jobs.reaps, "failedReaps", jobs.failedReaps, "lastReaped", jobs.reaped, "lastError",
                   lastError_);
}

}  // namespace troupe::maintenance
