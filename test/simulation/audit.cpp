#include "test/simulation/audit.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "messaging/bson/json.hpp"
#include "messaging/errors/co_status.hpp"
#include "test/simulation/operations.hpp"

namespace troupe::sim {

namespace {

Task<StatusWith<bson::Document>> ask(Driver& driver, std::string json) {
  const auto command = bson::fromJson(json);
  if (!command.isOK()) co_return command.status();
  DriverReply reply = co_await driver.run("test", *command, Driver::Retry::kOnce);
  if (!reply.status.isOK()) co_return reply.status;
  co_return std::move(reply.body);
}

constexpr const char* kNaturalOrder = R"({"$natural": 1})";

Task<StatusWith<std::vector<bson::Document>>> documentsBy(Driver& driver, std::string collection, std::string hint) {
  const auto reply = co_await ask(
      driver,
      fmt::format(R"({{"find": "{}", "hint": {}, "batchSize": 100000, "singleBatch": true}})", collection, hint));
  if (!reply.isOK()) co_return reply.status();
  std::vector<bson::Document> found;
  for (const bson::Element& e : reply->view().at("cursor.firstBatch").asArray()) found.emplace_back(e.asDocument());
  co_return found;
}

/// The groups of an aggregation against what a scan has found.
std::string compareGroups(bson::View reply, const std::vector<bson::Document>& items) {
  std::map<int64_t, int64_t> expected, grouped;
  for (const bson::Document& item : items) ++expected[item["x"].toInt64()];
  for (const bson::Element& e : reply.at("cursor.firstBatch").asArray())
    grouped[e.asDocument()["_id"].toInt64()] = e.asDocument()["n"].toInt64();
  return expected == grouped ? "" : "an aggregation groups other items than a scan finds";
}

}  // namespace

Task<StatusWith<Findings>> auditContents(Driver& driver) {
  Findings findings;
  // All that is found: one check must not hide that another sees nothing.
  const auto complain = [&broken = findings.broken](const std::string& why) {
    if (!why.empty()) broken += (broken.empty() ? "" : "; ") + why;
  };
  const auto before = co_await ask(driver, R"({"count": "items"})");
  if (!before.isOK()) co_return before.status();
  findings.countedBefore = (*before)["n"].toInt64();
  for (const char* collection : {"items", "lists", "registers"}) {
    // Not in full, which begins with a checkpoint: a crash would find nothing to recover from the journal.
    const auto report = co_await ask(driver, fmt::format(R"({{"validate": "{}"}})", collection));
    if (report.status() == ErrorCode::kNamespaceNotFound) {
      complain(fmt::format("the collection {} is gone", collection));
      continue;
    }
    if (!report.isOK()) co_return report.status();
    if (!(*report)["valid"].truthy())
      complain(fmt::format("{} is not valid: {}", collection, bson::toRelaxedJson(*report)));
  }
  auto items = co_await documentsBy(driver, "items", kNaturalOrder);
  if (!items.isOK()) co_return items.status();
  findings.items = *items;
  const std::vector<std::pair<std::string, std::string>> indexes{{"_id_", R"({"_id": 1})"}, {"x_1", R"({"x": 1})"}};
  for (const auto& [name, hint] : indexes) {
    const auto found = co_await documentsBy(driver, "items", hint);
    if (!found.isOK()) co_return found.status();
    complain(checkers::compareIndex(name, *found, findings.items).broken);
  }
  const auto counted = co_await ask(driver, R"({"count": "items"})");
  if (!counted.isOK()) co_return counted.status();
  complain(checkers::compareCount("test.items", (*counted)["n"].toInt64(), findings.items).broken);
  const auto groups = co_await ask(
      driver,
      R"({"aggregate": "items", "pipeline": [{"$group": {"_id": "$x", "n": {"$sum": 1}}}], "cursor": {"batchSize": 1000}})");
  if (!groups.isOK()) co_return groups.status();
  complain(compareGroups(*groups, findings.items));
  co_return findings;
}

Task<StatusWith<checkers::Contents>> readContents(Driver& driver) {
  checkers::Contents contents;
  for (const char* collection : {"items", "lists", "registers"}) {
    auto found = co_await documentsBy(driver, collection, kNaturalOrder);
    if (!found.isOK()) co_return found.status();
    contents[std::string("test.") + collection] = std::move(*found);
  }
  if (co_await untilAllIsDurable(driver) != checkers::Outcome::kOk)
    co_return Status(ErrorCode::kWriteConcernFailed, "what was read may not be durable");
  co_return contents;
}

}  // namespace troupe::sim
