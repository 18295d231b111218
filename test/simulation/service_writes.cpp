#include "test/simulation/service_writes.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "actors/server/retryable_runs.hpp"
#include "actors/server/server_context.hpp"

namespace troupe::sim {

namespace {

constexpr auto kAtMost = std::chrono::seconds(15);

bson::Document increment(int64_t id) {
  return bson::doc("findAndModify", ServiceWrites::kCollection, "query", bson::doc("_id", id), "update",
                   bson::doc("$inc", bson::doc("n", 1)), "upsert", true, "new", true, "writeConcern",
                   bson::doc("w", "majority"));
}

/// The write has reached a majority: no failover takes it back.
bool isSafe(const StatusWith<bson::Document>& reply) { return reply.isOK() && !reply->view().has("writeConcernError"); }

std::string refusalIn(const StatusWith<bson::Document>& reply) {
  if (isSafe(reply)) return {};
  return std::string(errorName(reply.isOK() ? ErrorCode::kWriteConcernFailed : reply.status().code()));
}

}  // namespace

void ServiceWrites::begin(NodeLife& life, bool torn) {
  Node& node = life.node();
  const auto id = static_cast<int64_t>(state_->begun.size());
  state_->begun[id] = false;
  const Asked asked{id, node.environment().now() + kAtMost, torn};
  node.start(write(*life.assembly().context().serviceWrites, asked, state_));
}

Task<void> ServiceWrites::write(server::RetryableRuns& runs, Asked asked, std::shared_ptr<State> state) {
  const bson::Document command = increment(asked.id);
  if (asked.torn) co_await runs.run("test", command, asked.until);
  const auto reply = co_await runs.run("test", command, asked.until);
  state->ended(refusalIn(reply));
  if (!isSafe(reply)) co_return;
  state->begun[asked.id] = true;
  ++state->acknowledged;
  if (const int64_t told = reply->view().at("value.n").toInt64(); told != 1)
    state->broken = fmt::format("the write of document {} was answered with n: {}", asked.id, told);
}

void ServiceWrites::check(const WorkFloor& floor, const DataSessions::Broken& broken) const {
  const State& state = *state_;
  if (!state.broken.empty()) broken(kServiceWritesHold, state.broken);
  const std::string tooFew = floor.whyTooFew(state.acknowledged, state.begun.size(), "writes of services");
  if (!tooFew.empty()) broken(kWorkIsDone, tooFew);
}

std::string ServiceWrites::compare(const std::vector<bson::Document>& found) const {
  auto missing = state_->begun;
  for (const bson::Document& document : found) {
    const int64_t id = document["_id"].toInt64(), n = document["n"].toInt64();
    if (missing.erase(id) == 0) return fmt::format("document {} was written by nobody", id);
    if (n != 1) return fmt::format("the write of document {} was carried out {} times", id, n);
  }
  for (const auto& [id, wasAcknowledged] : missing)
    if (wasAcknowledged) return fmt::format("the write of document {} was acknowledged, and is not there", id);
  return {};
}

}  // namespace troupe::sim
