#include "test/simulation/log_audit.hpp"

#include <map>
#include <utility>

#include "messaging/errors/co_status.hpp"
#include "storage/oplog/document_delta.hpp"
#include "storage/oplog/oplog_entry.hpp"

namespace troupe::sim {

namespace {

constexpr const char* kWritten = "config.written";
constexpr Duration kUntilWritesHaveEnded = std::chrono::seconds(2);

bson::Document findAllOf(const char* collection, const bson::Document& filter) {
  return bson::doc("find", collection, "filter", filter, "sort", bson::doc("$natural", 1), "batchSize", 100000,
                   "singleBatch", true, "$readPreference", bson::doc("mode", "nearest"));
}

std::vector<bson::Document> documentsIn(bson::View reply) {
  std::vector<bson::Document> found;
  for (const bson::Element& e : reply.at("cursor.firstBatch").asArray()) found.emplace_back(e.asDocument());
  return found;
}

/// What the entries, in their order, make of an empty collection.
StatusWith<std::vector<bson::Document>> replayOf(const std::vector<bson::Document>& entries) {
  std::map<int64_t, bson::Document> replayed;
  for (const bson::Document& document : entries) {
    TROUPE_ASSIGN(const auto entry, storage::OplogEntry::parse(document));
    const storage::LoggedOperation& operation = entry.operation;
    const bson::View id = operation.other ? *operation.other : operation.object;
    bson::Document& target = replayed[id["_id"].toInt64()];
    if (operation.kind == storage::OplogKind::kRemove) {
      target = {};
    } else if (!storage::isDelta(operation.object)) {
      target = bson::Document(operation.object);
    } else {
      TROUPE_ASSIGN(target, storage::applyDelta(target, operation.object));
    }
  }
  std::vector<bson::Document> left;
  for (auto& [id, document] : replayed)
    if (!document.empty()) left.push_back(std::move(document));
  return left;
}

std::string compareWithLog(const std::string& node, const checkers::Contents& held,
                           const checkers::Contents& replayed) {
  return checkers::compareReplicas({{node, held}, {node + "'s log", replayed}}).broken;
}

}  // namespace

LogAudit::LogAudit(Simulation& cluster, std::function<void(const std::string&)> broken)
    : cluster_(cluster),
      broken_(std::move(broken)),
      machine_(cluster.addMachine("auditor")),
      left_(cluster.nodes().size()) {
  for (const std::string& node : cluster.nodes()) {
    drivers_.push_back(std::make_unique<Driver>(machine_, cluster.streams(), std::vector<std::string>{node}, nullptr,
                                                Driver::Preference::kNearest));
    machine_.start(audit(drivers_.back().get(), node));
  }
}

Task<void> LogAudit::audit(Driver* driver, std::string node) {
  for (;;) {
    co_await machine_.sleepFor(kUntilWritesHaveEnded);
    const auto replayed = co_await replay(driver);
    const auto held = co_await contents(driver);
    // What the log holds is read as it is; any other failure is one of asking for it.
    const Status failure = held.isOK() ? replayed.status() : held.status();
    if (!failure.isOK() && failure != ErrorCode::kFailedToParse) continue;
    const std::string broken = failure.isOK() ? compareWithLog(node, *held, *replayed) : failure.toString();
    cluster_.note(TraceEvent::Kind::kNote, "", "audit of " + node, broken.empty() ? "finds all well" : "finds", broken);
    if (!broken.empty()) broken_(broken);
    --left_;
    co_return;
  }
}

Task<StatusWith<checkers::Contents>> LogAudit::replay(Driver* driver) {
  const bson::Document find = findAllOf("oplog.rs", bson::doc("ns", kWritten));
  const DriverReply reply = co_await driver->run("local", find, Driver::Retry::kOnce);
  if (!reply.status.isOK()) co_return reply.status;
  checkers::Contents contents;
  TROUPE_CO_ASSIGN(contents[kWritten], replayOf(documentsIn(reply.body)));
  co_return contents;
}

Task<StatusWith<checkers::Contents>> LogAudit::contents(Driver* driver) {
  const bson::Document find = findAllOf("written", bson::Document());
  const DriverReply reply = co_await driver->run("config", find, Driver::Retry::kOnce);
  if (!reply.status.isOK()) co_return reply.status;
  checkers::Contents contents;
  contents[kWritten] = documentsIn(reply.body);
  co_return contents;
}

}  // namespace troupe::sim
