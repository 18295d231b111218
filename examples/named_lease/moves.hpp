#pragma once
#include <chrono>
#include <string>

#include "actors/server/request.hpp"
#include "actors/server/retryable_runs.hpp"

/// Counts the moves of a lease in `leases.moves`.
inline troupe::Task<troupe::Status> countMove(troupe::server::Request& request, std::string lease) {
  using troupe::bson::doc;
  const auto& server = request.server();
  const auto until = server.node.environment().now() + std::chrono::seconds(10);
  const auto count = doc("findAndModify", "moves", "query", doc("_id", lease), "update", doc("$inc", doc("n", 1)),
                         "upsert", true);
  const auto reply = co_await server.serviceWrites->run("leases", count, until);
  co_return reply.status();
}
