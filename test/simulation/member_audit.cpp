#include "test/simulation/member_audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "messaging/bson/json.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::sim {

namespace {

using Documents = std::vector<bson::Document>;

/// Links break in the end, too: one command is asked again, and not the whole audit.
Task<StatusWith<bson::Document>> askMember(Driver& driver, bson::Document command) {
  constexpr int kTries = 5;
  for (int tries = 1;; ++tries) {
    DriverReply reply = co_await driver.run("test", command, Driver::Retry::kOnce);
    if (reply.status.isOK()) co_return std::move(reply.body);
    if (!reply.mayPass || tries == kTries) co_return reply.status;
  }
}

bson::Document byNearest() { return bson::doc("mode", "nearest"); }

Documents batchIn(bson::View reply) {
  Documents found;
  for (const bson::Element& e : reply.at("cursor.firstBatch").asArray()) found.emplace_back(e.asDocument());
  return found;
}

/// `hint`: the name of an index; empty: the order of the collection.
Task<StatusWith<Documents>> documentsOfMember(Driver& driver, std::string collection, std::string hint) {
  bson::Builder find;
  find.append("find", collection).append("batchSize", 100000).append("singleBatch", true);
  if (hint.empty()) find.append("hint", bson::doc("$natural", 1));
  else find.append("hint", hint);
  find.append("$readPreference", byNearest());
  const bson::Document command = find.finish();
  const auto reply = co_await askMember(driver, command);
  if (!reply.isOK()) co_return reply.status();
  co_return batchIn(*reply);
}

Task<StatusWith<int64_t>> countOfMember(Driver& driver, std::string collection) {
  const bson::Document command = bson::doc("count", collection, "$readPreference", byNearest());
  const auto reply = co_await askMember(driver, command);
  if (!reply.isOK()) co_return reply.status();
  co_return (*reply)["n"].toInt64();
}

/// Indexes by name, for members may have made them in another order.
Task<StatusWith<Documents>> indexesOfMember(Driver& driver, std::string collection) {
  const bson::Document command =
      bson::doc("listIndexes", collection, "cursor", bson::doc("batchSize", 1000), "$readPreference", byNearest());
  const auto reply = co_await askMember(driver, command);
  if (!reply.isOK()) co_return reply.status();
  Documents indexes = batchIn(*reply);
  std::ranges::sort(indexes, {}, [](const bson::Document& one) { return std::string(one["name"].toStringOr()); });
  co_return indexes;
}

bson::Document catalogRow(const bson::Document& listed, const Documents& indexes) {
  bson::Builder row;
  row.append("_id", listed["name"]).append("type", listed["type"]);
  row.append("options", listed["options"]).append("info", listed["info"]).append("indexes", indexes);
  return row.finish();
}

/// Whether a scan by it, without a filter, has to find every document.
bool findsAll(const bson::Document& index) {
  return !index.view().has("partialFilterExpression") && !index["sparse"].truthy() && !index["hidden"].truthy();
}

bool holdTheSame(const Documents& one, const Documents& other) {
  return checkers::compareReplicas({{"before", {{"test", one}}}, {"after", {{"test", other}}}}).holds();
}

/// What is broken in one collection; empty if nothing is. Its documents go to `documents`.
Task<StatusWith<std::string>> auditCollection(Driver& driver, std::string collection, Documents indexes,
                                              Documents* documents) {
  std::string broken;
  const auto complain = [&broken](std::string why) {
    if (broken.empty()) broken = std::move(why);
  };
  TROUPE_CO_ASSIGN(*documents, co_await documentsOfMember(driver, collection, ""));
  TROUPE_CO_ASSIGN(const int64_t counted, co_await countOfMember(driver, collection));
  // Not in full, which begins with a checkpoint.
  const bson::Document validate = bson::doc("validate", collection, "$readPreference", byNearest());
  TROUPE_CO_ASSIGN(const bson::Document report, co_await askMember(driver, validate));
  if (!report["valid"].truthy()) complain("is not valid: " + bson::toRelaxedJson(report));
  for (const bson::Document& index : indexes) {
    if (!findsAll(index)) continue;
    const std::string name(index["name"].toStringOr());
    TROUPE_CO_ASSIGN(const Documents found, co_await documentsOfMember(driver, collection, name));
    complain(checkers::compareIndex(name, found, *documents).broken);
  }
  TROUPE_CO_ASSIGN(const int64_t countedAgain, co_await countOfMember(driver, collection));
  TROUPE_CO_ASSIGN(const Documents after, co_await documentsOfMember(driver, collection, ""));
  if (!holdTheSame(*documents, after)) co_return Status(ErrorCode::kInterrupted, collection + " has changed");
  complain(checkers::compareCount(collection, counted, *documents).broken);
  complain(checkers::compareCount(collection + ", once validated,", countedAgain, *documents).broken);
  if (!broken.empty()) broken = collection + ": " + broken;
  co_return broken;
}

}  // namespace

Task<StatusWith<MemberFindings>> auditMember(Driver& driver) {
  MemberFindings findings;
  const bson::Document list =
      bson::doc("listCollections", 1, "cursor", bson::doc("batchSize", 10000), "$readPreference", byNearest());
  TROUPE_CO_ASSIGN(const bson::Document listed, co_await askMember(driver, list));
  for (const bson::Document& one : batchIn(listed)) {
    const std::string name(one["name"].toStringOr());
    Documents indexes;
    if (one["type"].toStringOr() == "collection") {
      TROUPE_CO_ASSIGN(indexes, co_await indexesOfMember(driver, name));
      Documents& documents = findings.holds["test." + name];
      TROUPE_CO_ASSIGN(const std::string broken, co_await auditCollection(driver, name, indexes, &documents));
      if (findings.broken.empty()) findings.broken = broken;
    }
    findings.holds[MemberFindings::kCatalog].push_back(catalogRow(one, indexes));
  }
  co_return findings;
}

}  // namespace troupe::sim
