#include "actors/server/profile_record.hpp"

#include <algorithm>
#include <span>

#include "actors/server/lock_statistics.hpp"
#include "actors/server/namespace_resolution.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/shown_command.hpp"
#include "messaging/bson/validate.hpp"

namespace troupe::server {

namespace {

constexpr size_t kMostUsers = 16;

void appendCursor(bson::Builder& out, const Request& request, bool whole) {
  if (const bson::View origin = request.originatingCommand; !origin.empty() && whole)
    out.append("originatingCommand", origin);
  if (request.cursorId != 0) out.append("cursorid", request.cursorId);
}

void appendClient(bson::Builder& out, const Client& client) {
  out.append("client", std::string_view(client.remote).substr(0, client.remote.rfind(':')));
  const bson::Document metadata = client.metadata();
  if (const auto name = metadata.view().at("application.name"); name) out.append("appName", name);
  out.openArray("allUsers");
  for (const AuthenticatedUser& user : std::span(client.users).first(std::min(client.users.size(), kMostUsers)))
    out.pushDocument().append("user", user.name).append("db", user.database).close();
  out.close();
  out.append("user", client.users.empty() ? "" : client.users.front().name + "@" + client.users.front().database);
}

/// The command with the comment of the one that opened its cursor, unless it has its own.
bson::Document commented(bson::View command, bson::View origin) {
  bson::Builder out;
  out.appendAll(command);
  if (!command.has("comment")) out.append("comment", origin["comment"]);
  return out.finish();
}

/// `whole`: with what the client sent; else it is left out.
bson::Document build(const FinishedOperation& finished, bool whole) {
  const Request& request = finished.request;
  const storage::OperationContext& operation = request.operation();
  const storage::OperationMetrics& metrics = operation.metrics;
  bson::Builder out;
  out.append("op", shownKind(operation.commandName)).append("ns", operation.shownNs());
  if (whole) appendShownCommand(out, commented(operation.command, request.originatingCommand));
  else out.openDocument("command").append("$truncated", true).close();
  appendCursor(out, request, whole);
  finished.appendCosts(out);
  if (request.cursorExhausted) out.append("cursorExhausted", true);
  out.append("numYield", metrics.yields.load(std::memory_order_relaxed));
  const storage::Locker* locker = operation.shownLocker();
  out.append("locks", locker ? lockStatistics(locker->statistics()) : bson::Document());
  out.append("responseLength", metrics.replyBytes);
  out.append("protocol", request.wire().legacy ? "op_query" : "op_msg").append("millis", finished.millis());
  out.append("ts", bson::Date{wallMillis(request.server())});
  appendClient(out, request.client());
  appendFailure(out, withoutHiddenValues(request, finished.outcome));
  return out.finish();
}

}  // namespace

bson::Document profileRecord(const FinishedOperation& finished) {
  bson::Document record = build(finished, true);
  // A command may nest as deeply as a document may, and lies two levels deeper here.
  if (!bson::validate(record.bytes()).isOK()) record = build(finished, false);
  return record;
}

}  // namespace troupe::server
