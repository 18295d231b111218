#include "actors/maintenance/sessions_collection.hpp"

#include <chrono>
#include <string>
#include <unordered_set>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/role_check.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::maintenance {

using server::kSessions;
using server::SessionCache;
using server::SessionKey;

namespace {

constexpr auto kCommandTimeout = std::chrono::seconds(60);
constexpr int64_t kMajorityTimeoutMillis = 15'000;

/// What went wrong in a reply that says that it is fine.
Status failureWithin(bson::View reply) {
  const bson::Element errors = reply["writeErrors"];
  bson::View first;
  if (errors.is(bson::Type::kArray) && !errors.asArray().empty()) first = errors.asArray().first().asDocument();
  else if (const auto concern = reply["writeConcernError"]; concern.is(bson::Type::kDocument))
    first = concern.asDocument();
  if (first.empty()) return Status::OK();
  return {static_cast<ErrorCode>(first["code"].toInt64()), std::string(first["errmsg"].toStringOr())};
}

/// The pipeline of an update: the time is the primary's, and a name is never taken for an expression.
void appendUse(bson::Builder& statement, const SessionCache::Row& used) {
  statement.openArray("u").pushDocument().openDocument("$set").append("lastUse", "$$NOW");
  if (!used.user.empty()) statement.append("user", bson::doc("$literal", used.user));
  statement.close().close().close();
}

}  // namespace

bson::Document sessionWriteConcern() { return bson::doc("w", "majority", "wtimeout", kMajorityTimeoutMillis); }

Task<StatusWith<bson::Document>> SessionsCollection::run(bson::Document command) {
  std::string target = server_.node.name();
  if (server_.membership) target = primaryOf(server_.membership->setName());
  return runOn(std::move(target), std::move(command));
}

Task<StatusWith<bson::Document>> SessionsCollection::runHere(bson::Document command) {
  return runOn(server_.node.name(), std::move(command));
}

Task<StatusWith<bson::Document>> SessionsCollection::runOn(std::string target, bson::Document command) {
  std::string database(kSessions.db());
  TROUPE_CO_ASSIGN(bson::Document reply,
                   co_await nodes_->run(std::move(target), std::move(database), std::move(command), kCommandTimeout));
  TROUPE_CO_TRY(failureWithin(reply));
  co_return reply;
}

Task<Status> SessionsCollection::prepare() {
  const int64_t seconds = server_.parameters.sessionTimeoutMinutes * 60;
  bson::Builder create;
  create.append("createIndexes", kSessions.collection()).openArray("indexes");
  create.push(bson::doc("key", bson::doc("lastUse", 1), "name", kIndexName, "expireAfterSeconds", seconds));
  create.close().append("writeConcern", sessionWriteConcern());
  bson::Document command = create.finish();
  const auto made = co_await run(std::move(command));
  if (!(made.status() == ErrorCode::kIndexOptionsConflict)) co_return made.status();
  if (!server::mayWrite(server_, kSessions)) co_return Status::OK();
  command =
      bson::doc("collMod", kSessions.collection(), "index",
                bson::doc("name", kIndexName, "expireAfterSeconds", seconds), "writeConcern", sessionWriteConcern());
  const auto changed = co_await run(std::move(command));
  co_return changed.status();
}

Task<Status> SessionsCollection::write(std::vector<SessionCache::Row> used) {
  bson::Builder update;
  update.append("update", kSessions.collection()).openArray("updates");
  for (const SessionCache::Row& row : used) {
    update.pushDocument().append("q", bson::doc("_id", row.key.toDocument()));
    appendUse(update, row);
    update.append("upsert", true).close();
  }
  update.close().append("ordered", false).append("writeConcern", sessionWriteConcern());
  bson::Document command = update.finish();
  const auto reply = co_await run(std::move(command));
  co_return reply.status();
}

Task<Status> SessionsCollection::remove(std::vector<SessionKey> ended) {
  bson::Builder remove;
  remove.append("delete", kSessions.collection()).openArray("deletes");
  for (const SessionKey& key : ended) remove.push(bson::doc("q", bson::doc("_id", key.toDocument()), "limit", 1));
  remove.close().append("ordered", false).append("writeConcern", sessionWriteConcern());
  bson::Document command = remove.finish();
  const auto reply = co_await run(std::move(command));
  co_return reply.status();
}

Task<StatusWith<std::vector<SessionKey>>> SessionsCollection::missing(std::vector<SessionKey> sessions) {
  if (sessions.empty()) co_return std::vector<SessionKey>();
  bson::Builder find;
  find.append("find", kSessions.collection()).openDocument("filter").openDocument("_id").openArray("$in");
  for (const SessionKey& key : sessions) find.push(key.toDocument());
  const auto most = static_cast<int64_t>(sessions.size());
  find.close().close().close().append("projection", bson::doc("_id", 1));
  find.append("batchSize", most).append("singleBatch", true);
  bson::Document command = find.finish();
  TROUPE_CO_ASSIGN(const bson::Document reply, co_await run(std::move(command)));
  std::unordered_set<SessionKey> present;
  for (const bson::Element& e : reply.view().at("cursor.firstBatch").asArray())
    if (const auto key = SessionKey::ofStored(e.asDocument()["_id"].asDocument()); key.isOK()) present.insert(*key);
  std::erase_if(sessions, [&](const SessionKey& key) { return present.contains(key); });
  co_return sessions;
}

}  // namespace troupe::maintenance
