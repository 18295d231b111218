#include "test/simulation/operations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "messaging/bson/json.hpp"

namespace troupe::sim {

using checkers::ListStep;
using checkers::ListTransaction;
using checkers::Outcome;
using checkers::RegisterOperation;
using Retry = Driver::Retry;

namespace {

constexpr const char* kDatabase = "test";

bson::Document command(const std::string& json) {
  auto parsed = bson::fromJson(json);
  if (!parsed.isOK()) throw std::logic_error(parsed.status().toString() + " in " + json);
  return std::move(*parsed);
}

bson::Document reading(const std::string& fields, const Safety& safety) {
  return command("{" + fields + (safety.read.empty() ? "}" : R"(, "readConcern": )" + safety.read + "}"));
}

std::vector<bson::Document> batchOf(bson::View reply) {
  std::vector<bson::Document> found;
  const auto batch = reply.at("cursor.firstBatch");
  if (!batch.is(bson::Type::kArray)) return found;
  for (const bson::Element& e : batch.asArray()) found.emplace_back(e.asDocument());
  return found;
}

std::vector<int64_t> contentsOf(bson::View document) {
  std::vector<int64_t> contents;
  const auto items = document["items"];
  if (items.is(bson::Type::kArray))
    for (const bson::Element& e : items.asArray()) contents.push_back(e.toInt64());
  return contents;
}

}  // namespace

Task<Outcome> untilAllIsDurable(Driver& driver) {
  const bson::Document barrier = command(
      R"({"update": "barrier", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}, "upsert": true}],
          "writeConcern": {"j": true}})");
  const DriverReply reply = co_await driver.run(kDatabase, barrier, Retry::kNever);
  co_return reply.outcome == Outcome::kOk ? Outcome::kOk : Outcome::kUnknown;
}

namespace {

Task<Outcome> untilReadIsSafe(Driver& driver, const Safety* safety) {
  if (!safety->read.empty()) co_return Outcome::kOk;
  co_return co_await untilAllIsDurable(driver);
}

}  // namespace

std::optional<int64_t> Registers::known(const std::string& key) const {
  const auto found = known_.find(key);
  return found == known_.end() ? std::nullopt : found->second;
}

Task<Outcome> Registers::run(Driver& driver, int process, RegisterOperation operation, bool torn) {
  using Kind = RegisterOperation::Kind;
  const auto id = history_.begin(process, operation, driver.now());
  Outcome outcome = Outcome::kUnknown;
  if (operation.kind == Kind::kRead) outcome = co_await read(driver, operation);
  else if (operation.kind == Kind::kWrite) outcome = co_await write(driver, operation);
  else if (torn) outcome = co_await tornCompareAndSet(driver, operation);
  else outcome = co_await compareAndSet(driver, operation);
  if (outcome == Outcome::kOk && operation.kind == Kind::kRead) known_[operation.key] = operation.read;
  else if (outcome == Outcome::kOk && operation.applied) known_[operation.key] = operation.value;
  history_.end(id, outcome, driver.now(), operation);
  co_return outcome;
}

Task<Outcome> Registers::read(Driver& driver, RegisterOperation& operation) {
  const bson::Document find =
      reading(fmt::format(R"("find": "registers", "filter": {{"_id": "{}"}})", operation.key), safety_);
  const DriverReply reply = co_await driver.run(kDatabase, find, Retry::kOnce);
  if (reply.outcome != Outcome::kOk) co_return reply.outcome;
  const auto found = batchOf(reply.body);
  if (!found.empty()) operation.read = found[0]["v"].toInt64();
  co_return co_await untilReadIsSafe(driver, &safety_);
}

Task<Outcome> Registers::write(Driver& driver, const RegisterOperation& operation) {
  const bson::Document update = command(fmt::format(
      R"({{"update": "registers", "updates": [{{"q": {{"_id": "{}"}}, "u": {{"$set": {{"v": {}}}}}, "upsert": true}}],
           "writeConcern": {}}})",
      operation.key, operation.value, safety_.write));
  const DriverReply reply = co_await driver.run(kDatabase, update, safety_.writes);
  co_return reply.outcome;
}

Task<Outcome> Registers::compareAndSet(Driver& driver, RegisterOperation& operation) {
  bson::Document asked;
  if (operation.expected)
    asked = command(fmt::format(R"({{"findAndModify": "registers", "query": {{"_id": "{}", "v": {}}},
                                     "update": {{"$set": {{"v": {}}}}}, "writeConcern": {}}})",
                                operation.key, *operation.expected, operation.value, safety_.write));
  else
    asked = command(fmt::format(R"({{"insert": "registers", "documents": [{{"_id": "{}", "v": {}}}],
                                     "writeConcern": {}}})",
                                operation.key, operation.value, safety_.write));
  const DriverReply reply = co_await driver.run(kDatabase, asked, safety_.writes);
  const bool collided = reply.status == ErrorCode::kDuplicateKey;
  if (reply.outcome != Outcome::kOk && !collided) co_return reply.outcome;
  operation.applied = !collided && reply.body.view().at(operation.expected ? "lastErrorObject.n" : "n").toInt64() == 1;
  if (operation.applied) co_return Outcome::kOk;
  co_return co_await untilReadIsSafe(driver, &safety_);  // what it collided with
}

Task<Outcome> Registers::tornCompareAndSet(Driver& driver, RegisterOperation& operation) {
  RegisterOperation seen;
  seen.key = operation.key;
  const Outcome read = co_await this->read(driver, seen);
  if (read != Outcome::kOk) co_return read;
  operation.applied = seen.read == operation.expected;
  if (!operation.applied) co_return Outcome::kOk;
  const Outcome written = co_await write(driver, operation);
  co_return written;
}

Task<Outcome> Lists::run(Driver& driver, int process, Kind kind, std::vector<std::string> keys) {
  ListTransaction transaction;
  if (kind == Kind::kAppend || kind == Kind::kAppendAndRead)
    transaction.steps.push_back(ListStep::append(keys[0], ++lastValue_));
  if (kind == Kind::kAppendAndRead) transaction.steps.push_back(ListStep::read(keys[0]));
  if (kind == Kind::kFind || kind == Kind::kAggregate)
    for (const std::string& key : keys) transaction.steps.push_back(ListStep::read(key));
  const auto id = history_.begin(process, transaction, driver.now());
  Outcome outcome = Outcome::kUnknown;
  if (kind == Kind::kAppend) outcome = co_await append(driver, transaction.steps[0]);
  else if (kind == Kind::kAppendAndRead) outcome = co_await appendAndRead(driver, transaction);
  else outcome = co_await read(driver, kind, transaction);
  // Of what has no answer only the appends matter.
  if (outcome != Outcome::kOk) std::erase_if(transaction.steps, [](const ListStep& step) { return !step.isAppend; });
  history_.end(id, outcome, driver.now(), transaction);
  co_return outcome;
}

Task<Outcome> Lists::append(Driver& driver, const ListStep& step) {
  const bson::Document update = command(fmt::format(
      R"({{"update": "lists", "updates": [{{"q": {{"_id": "{}"}}, "u": {{"$push": {{"items": {}}}}}, "upsert": true}}],
           "writeConcern": {}}})",
      step.key, step.value, safety_.write));
  const DriverReply reply = co_await driver.run(kDatabase, update, safety_.writes);
  co_return reply.outcome;
}

Task<Outcome> Lists::appendAndRead(Driver& driver, ListTransaction& transaction) {
  const ListStep& step = transaction.steps[0];
  const bson::Document asked = command(fmt::format(
      R"({{"findAndModify": "lists", "query": {{"_id": "{}"}}, "update": {{"$push": {{"items": {}}}}}, "upsert": true,
           "new": true, "writeConcern": {}}})",
      step.key, step.value, safety_.write));
  const DriverReply reply = co_await driver.run(kDatabase, asked, safety_.writes);
  if (reply.outcome == Outcome::kOk) transaction.steps[1].contents = contentsOf(reply.body["value"].asDocument());
  co_return reply.outcome;
}

Task<Outcome> Lists::read(Driver& driver, Kind kind, ListTransaction& transaction) {
  std::vector<std::string> keys;
  for (const ListStep& step : transaction.steps) keys.push_back("\"" + step.key + "\"");
  const std::string match = fmt::format(R"({{"_id": {{"$in": [{}]}}}})", fmt::join(keys, ", "));
  bson::Document asked;
  if (kind == Kind::kFind) asked = reading(fmt::format(R"("find": "lists", "filter": {})", match), safety_);
  else
    asked =
        reading(fmt::format(R"("aggregate": "lists", "pipeline": [{{"$match": {}}}], "cursor": {{}})", match), safety_);
  const DriverReply reply = co_await driver.run(kDatabase, asked, Retry::kOnce);
  if (reply.outcome != Outcome::kOk) co_return reply.outcome;
  for (const bson::Document& found : batchOf(reply.body))
    for (ListStep& step : transaction.steps)
      if (found["_id"].toStringOr() == step.key) step.contents = contentsOf(found);
  co_return co_await untilReadIsSafe(driver, &safety_);
}

Task<Outcome> Items::run(Driver& driver, Kind kind, bool safe, uint64_t chance) {
  std::vector<int64_t> free;
  for (const auto& [id, item] : items_)
    if (item.isCertain && item.isThere && !item.isBusy) free.push_back(id);
  if (free.empty()) kind = Kind::kInsert;
  const int64_t id = kind == Kind::kInsert ? static_cast<int64_t>(items_.size()) + 1 : free[chance % free.size()];
  const auto x = static_cast<int64_t>(chance / 7 % 10);
  items_[id].isBusy = true;
  mostThere_ = std::max<int64_t>(mostThere_, std::count_if(items_.begin(), items_.end(), [](const auto& entry) {
                                   return entry.second.isThere || !entry.second.isCertain || entry.second.isBusy;
                                 }));
  std::string asked;
  if (kind == Kind::kInsert)
    asked = fmt::format(R"("insert": "items", "documents": [{{"_id": {}, "x": {}, "tag": "a tag of item {}"}}])", id, x,
                        id);
  else if (kind == Kind::kUpdate)
    asked =
        fmt::format(R"("update": "items", "updates": [{{"q": {{"_id": {}}}, "u": {{"$set": {{"x": {}}}}}}}])", id, x);
  else asked = fmt::format(R"("delete": "items", "deletes": [{{"q": {{"_id": {}}}, "limit": 1}}])", id);
  const bson::Document sent =
      command(fmt::format(R"({{{}, "writeConcern": {}}})", asked, safe ? safety_.write : R"({"w": 1})"));
  const DriverReply reply = co_await driver.run(kDatabase, sent, safety_.writes);
  Item& item = items_[id];
  item.isBusy = false;
  const bool isOk = reply.outcome == Outcome::kOk;
  if (isOk && kind == Kind::kInsert) item.isThere = true;
  if (isOk && kind == Kind::kRemove) item.isThere = false;
  if (isOk && kind != Kind::kRemove) item.x = x;
  if (reply.outcome == Outcome::kUnknown || (isOk && !safe)) item.isCertain = false;
  co_return reply.outcome;
}

std::string Items::compare(const std::vector<bson::Document>& found) const {
  std::map<int64_t, int64_t> there;
  for (const bson::Document& one : found) there[one["_id"].toInt64()] = one["x"].toInt64();
  for (const auto& [id, item] : items_) {
    if (!item.isCertain || item.isBusy) continue;
    const auto at = there.find(id);
    if (item.isThere && at == there.end()) return fmt::format("item {} was acknowledged and is lost", id);
    if (!item.isThere && at != there.end()) return fmt::format("item {} was removed and is back", id);
    if (item.isThere && at->second != item.x)
      return fmt::format("item {} was acknowledged with x = {} and has {}", id, item.x, at->second);
  }
  for (const auto& [id, x] : there)
    if (!items_.contains(id)) return fmt::format("item {} was never inserted", id);
  return {};
}

}  // namespace troupe::sim
