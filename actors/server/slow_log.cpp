#include "actors/server/slow_log.hpp"

#include "actors/kernel/node.hpp"
#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/shown_command.hpp"

namespace troupe::server {

void logOperation(const FinishedOperation& finished, bool noteworthy) {
  const Request& request = finished.request;
  const ServerContext& server = request.server();
  if (!noteworthy && !server.log.wants(1, log::Component::kCommand)) return;
  const storage::OperationContext& operation = request.operation();
  bson::Builder attributes;
  attributes.append("type", "command").append("ns", operation.shownNs());
  appendShownCommand(attributes, operation.command);
  finished.appendCosts(attributes);
  attributes.append("numYields", operation.metrics.yields.load(std::memory_order_relaxed))
      .append("reslen", operation.metrics.replyBytes);
  appendFailure(attributes, finished.outcome);
  attributes.append("remote", request.client().remote).append("durationMillis", finished.millis());
  const std::string context = "conn" + std::to_string(request.client().connectionId);
  if (noteworthy) server.log.info(log::Component::kCommand, 51803, context, "Slow query", attributes.finish());
  else server.log.debug(1, log::Component::kCommand, 51801, context, "Operation", attributes.finish());
}

}  // namespace troupe::server
