#include "actors/server/slow_log.hpp"

#include "actors/kernel/node.hpp"
#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/shown_command.hpp"

namespace troupe::server {

void logOperation(const Request& request, const Status& outcome, std::chrono::nanoseconds took) {
  const ServerContext& server = request.server();
  const storage::OperationContext& operation = request.operation();
  const int64_t threshold = server.parameters.slowOperationMillis.load(std::memory_order_relaxed);
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  const bool slow = threshold >= 0 && millis >= threshold;
  if (!slow && !server.log.wants(1, log::Component::kCommand)) return;
  const storage::OperationMetrics& m = operation.metrics;
  bson::Builder attributes;
  attributes.append("type", "command").append("ns", operation.shownNs());
  appendShownCommand(attributes, operation.command);
  if (const auto plan = m.planSummary.text(); !plan.empty()) attributes.append("planSummary", plan);
  attributes.append("keysExamined", m.keysExamined)
      .append("docsExamined", m.docsExamined)
      .append("nreturned", m.returned);
  if (m.inserted) attributes.append("ninserted", m.inserted);
  if (m.modified) attributes.append("nModified", m.modified);
  if (m.deleted) attributes.append("ndeleted", m.deleted);
  if (m.writeConflicts) attributes.append("writeConflicts", m.writeConflicts);
  if (m.hasSortStage) attributes.append("hasSortStage", true);
  attributes.append("numYields", m.yields.load(std::memory_order_relaxed)).append("reslen", m.replyBytes);
  if (!outcome.isOK())
    attributes.append("errCode", static_cast<int32_t>(outcome.code())).append("errMsg", outcome.reason());
  attributes.append("remote", request.client().remote).append("durationMillis", static_cast<int64_t>(millis));
  const std::string context = "conn" + std::to_string(request.client().connectionId);
  if (slow) server.log.info(log::Component::kCommand, 51803, context, "Slow query", attributes.finish());
  else server.log.debug(1, log::Component::kCommand, 51801, context, "Operation", attributes.finish());
}

}  // namespace troupe::server
