#include "test/simulation/log_audit.hpp"

#include <map>
#include <utility>

#include "messaging/errors/co_status.hpp"
#include "storage/oplog/document_delta.hpp"
#include "storage/oplog/oplog_entry.hpp"
#include "test/checkers/comparison.hpp"
#include "test/simulation/state_documents.hpp"

namespace troupe::sim {

namespace {

constexpr Duration kUntilWritesHaveEnded = std::chrono::seconds(2);

bson::Document findAllOf(const char* collection, const bson::Document& filter) {
  return bson::doc("find", collection, "filter", filter, "sort", bson::doc("$natural", 1), "batchSize", 100000,
                   "singleBatch", true, "$readPreference", bson::doc("mode", "nearest"));
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

std::string LogAudit::difference(const std::string& node, const std::vector<bson::Document>& entries,
                                 const std::vector<bson::Document>& held) {
  const auto replayed = replayOf(entries);
  if (!replayed.isOK()) return node + "'s log: " + replayed.status().toString();
  const checkers::Contents there{{StateDocuments::kNamespace, held}}, told{{StateDocuments::kNamespace, *replayed}};
  return checkers::compareReplicas({{node, there}, {node + "'s log", told}}).broken;
}

Task<void> LogAudit::audit(Driver* driver, std::string node) {
  for (;;) {
    co_await machine_.sleepFor(kUntilWritesHaveEnded);
    const bson::Document findEntries = findAllOf("oplog.rs", bson::doc("ns", StateDocuments::kNamespace));
    const auto entries = co_await documentsOf(driver, "local", findEntries);
    if (!entries.isOK()) continue;
    const bson::Document findHeld = findAllOf(StateDocuments::kCollection, bson::Document());
    const auto held = co_await documentsOf(driver, StateDocuments::kDatabase, findHeld);
    if (!held.isOK()) continue;
    const std::string broken = difference(node, *entries, *held);
    cluster_.note(TraceEvent::Kind::kNote, "", "log audit of " + node, broken.empty() ? "finds all well" : "finds",
                  broken);
    if (!broken.empty()) broken_(broken);
    --left_;
    co_return;
  }
}

Task<StatusWith<LogAudit::Documents>> LogAudit::documentsOf(Driver* driver, std::string database, bson::Document find) {
  const DriverReply reply = co_await driver->run(database, find, Driver::Retry::kOnce);
  if (!reply.status.isOK()) co_return reply.status;
  Documents found;
  for (const bson::Element& e : reply.body.view().at("cursor.firstBatch").asArray()) found.emplace_back(e.asDocument());
  co_return found;
}

}  // namespace troupe::sim
