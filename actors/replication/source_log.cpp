#include "actors/replication/source_log.hpp"

#include <string>
#include <utility>

#include "messaging/errors/co_status.hpp"

namespace troupe::replication {

namespace {

constexpr Duration kReadTimeout = std::chrono::seconds(10);

/// The only document of a reply to a find; empty: it found none.
StatusWith<bson::Document> onlyFound(const StatusWith<bson::Document>& reply) {
  if (!reply.isOK()) return reply.status();
  const bson::Element first = reply->view().at("cursor.firstBatch.0");
  return first.is(bson::Type::kDocument) ? bson::Document(first.asDocument()) : bson::Document();
}

Task<StatusWith<bson::Document>> findOne(RemoteMembers& members, NodeName source, bson::Document find) {
  const auto reply = co_await members.run(std::move(source), "local", std::move(find), kReadTimeout);
  co_return onlyFound(reply);
}

Task<StatusWith<bson::Document>> endOfLog(RemoteMembers& members, NodeName source, int32_t direction) {
  bson::Document find =
      bson::doc("find", "oplog.rs", "sort", bson::doc("$natural", direction), "limit", int32_t{1}, "singleBatch", true);
  auto found = co_await findOne(members, source, std::move(find));
  if (found.isOK() && !opTimeOf(found->view()))
    co_return Status(ErrorCode::kOplogStartMissing, "the log of " + source + " is empty or cannot be read");
  co_return found;
}

Task<StatusWith<bool>> hasEntry(RemoteMembers& members, NodeName source, OpTime wanted) {
  bson::Document find = bson::doc("find", "oplog.rs", "filter", bson::doc("ts", wanted.timestamp), "limit", int32_t{1},
                                  "singleBatch", true);
  const auto found = co_await findOne(members, std::move(source), std::move(find));
  if (!found.isOK()) co_return found.status();
  co_return opTimeOf(found->view()) == wanted;
}

}  // namespace

std::optional<OpTime> opTimeOf(bson::View entry) {
  bson::Element time, term;
  for (const bson::Element& field : entry) {
    if (!time && field.name() == "ts") time = field;
    else if (!term && field.name() == "t") term = field;
    if (time && term) break;
  }
  if (!time.is(bson::Type::kTimestamp) || !term.isNumber()) return std::nullopt;
  return OpTime{term.toInt64(), time.asTimestamp()};
}

bool takeEntries(const std::vector<bson::View>& entries, size_t from, OpTime last, std::vector<FetchedEntry>& into) {
  into.reserve(into.size() + entries.size() - from);
  for (size_t at = from; at < entries.size(); ++at) {
    const auto opTime = opTimeOf(entries[at]);
    if (!opTime || opTime->term < last.term || opTime->timestamp <= last.timestamp) return false;
    last = *opTime;
    into.push_back({bson::Document(entries[at]), last});
  }
  return true;
}

size_t bytesOf(const std::vector<FetchedEntry>& entries) {
  size_t bytes = 0;
  for (const FetchedEntry& entry : entries) bytes += entry.document.bytes().size();
  return bytes;
}

bson::Document tailingFind(const OpTime& from) {
  bson::Document filter;
  if (from != OpTime()) filter = bson::doc("ts", bson::doc("$gte", from.timestamp));
  return bson::doc("find", "oplog.rs", "filter", filter, "tailable", true, "awaitData", true);
}

Task<StatusWith<bson::Document>> oldestEntry(RemoteMembers& members, NodeName source) {
  return endOfLog(members, std::move(source), 1);
}

Task<StatusWith<bson::Document>> newestEntry(RemoteMembers& members, NodeName source) {
  return endOfLog(members, std::move(source), -1);
}

Task<StatusWith<bson::Document>> entryOf(RemoteMembers& members, NodeName source, OpTime at) {
  bson::Document find =
      bson::doc("find", "oplog.rs", "filter", bson::doc("ts", at.timestamp), "limit", int32_t{1}, "singleBatch", true);
  auto found = co_await findOne(members, source, std::move(find));
  if (found.isOK() && opTimeOf(found->view()) != at)
    co_return Status(ErrorCode::kOplogStartMissing, "the log of " + source + " does not have an entry any more");
  co_return found;
}

Task<StatusWith<std::optional<OpTime>>> oldestOpenTransaction(RemoteMembers& members, NodeName source) {
  bson::Document open = bson::doc("state", bson::doc("$in", bson::array("inProgress", "prepared")));
  bson::Document find =
      bson::doc("find", "transactions", "filter", open, "sort", bson::doc("startOpTime", 1), "limit", int32_t{1},
                "singleBatch", true, "$readPreference", bson::doc("mode", "secondaryPreferred"));
  const auto reply = co_await members.run(std::move(source), "config", std::move(find), kReadTimeout);
  const auto found = onlyFound(reply);
  if (!found.isOK()) co_return found.status();
  const bson::Element start = found->view()["startOpTime"];
  if (!start.is(bson::Type::kDocument)) co_return std::optional<OpTime>();
  co_return opTimeOf(start.asDocument());
}

Task<StatusWith<int64_t>> rollbackIdOf(RemoteMembers& members, NodeName source) {
  bson::Document find = bson::doc("find", "system.rollback.id", "filter", bson::doc("_id", "rollbackId"), "limit",
                                  int32_t{1}, "singleBatch", true);
  const auto found = co_await findOne(members, std::move(source), std::move(find));
  if (!found.isOK()) co_return found.status();
  co_return found->view()["rollbackId"].toInt64();
}

/// The rollback id first: what is read afterwards may be of a later one, and is then found to be.
Task<StatusWith<Probed>> probeLog(RemoteMembers& members, NodeName source, std::optional<OpTime> required) {
  Probed probed;
  probed.source = source;
  TROUPE_CO_ASSIGN(probed.rollbackId, co_await rollbackIdOf(members, source));
  TROUPE_CO_ASSIGN(const auto oldest, co_await endOfLog(members, source, 1));
  TROUPE_CO_ASSIGN(const auto newest, co_await endOfLog(members, source, -1));
  probed.oldest = *opTimeOf(oldest.view());
  probed.newest = *opTimeOf(newest.view());
  if (required) {
    TROUPE_CO_ASSIGN(probed.hasRequiredEntry, co_await hasEntry(members, source, *required));
  }
  co_return probed;
}

}  // namespace troupe::replication
