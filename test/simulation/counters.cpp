#include "test/simulation/counters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "messaging/bson/json.hpp"

namespace troupe::sim {

using checkers::Outcome;
using Retry = Driver::Retry;

namespace {

constexpr uint64_t kCountersOfSession = 2;

/// The document that a findAndModify answers with; 0 for none.
int64_t toldBy(bson::View reply) {
  const bson::Element value = reply["value"];
  return value.is(bson::Type::kDocument) ? value.asDocument()["n"].toInt64() : 0;
}

bool isMarkedAsRetried(bson::View reply) { return reply["retriedStmtIds"].ok() || reply["retriedStmtId"].ok(); }

/// What the application sees of a reply.
std::string shown(bson::View reply) {
  const bson::Element count = reply["n"];
  return fmt::format("n {}, value {}", count.ok() ? count.toInt64() : -1, toldBy(reply));
}

}  // namespace

bson::Document Counters::commandFor(const Asked& asked, const std::string& concern) {
  const std::string update = R"("update": {"$inc": {"n": 1}}, "upsert": true)";
  std::string fields;
  switch (asked.kind) {
    case Kind::kAdd:
      fields = fmt::format(
          R"("update": "{}", "updates": [{{"q": {{"_id": "{}"}}, "u": {{"$inc": {{"n": 1}}}}, "upsert": true}}])",
          asked.collection, asked.id);
      break;
    case Kind::kAddAndTellBefore:
    case Kind::kAddAndTellAfter:
      fields = fmt::format(R"("findAndModify": "{}", "query": {{"_id": "{}"}}, {}, "new": {})", asked.collection,
                           asked.id, update, asked.kind == Kind::kAddAndTellAfter);
      break;
    case Kind::kTake:
      fields =
          fmt::format(R"("findAndModify": "{}", "query": {{"_id": "{}"}}, "remove": true)", asked.collection, asked.id);
      break;
  }
  return bson::fromJson(fmt::format(R"({{{}, "writeConcern": {}}})", fields, concern)).value();
}

Counters::Values& Counters::valuesOf(const Asked& asked) {
  return values_[asked.collection].try_emplace(asked.id, Values{0}).first->second;
}

void Counters::complain(const Asked& asked, const std::string& why) {
  if (broken_.empty()) broken_ = fmt::format("{} {}: {}", asked.collection, asked.id, why);
}

Task<Outcome> Counters::run(Driver& driver, size_t session, Kind kind, uint64_t chance, bool torn) {
  Asked asked;
  asked.kind = kind;
  asked.collection = kCollections[chance % kCollections.size()];
  asked.id = fmt::format("s{}c{}", session, chance / 2 % kCountersOfSession);
  const bson::Document command = commandFor(asked, safety_.write);
  if (torn) co_await driver.run("test", command, safety_.writes);
  const DriverReply reply = co_await driver.run("test", command, safety_.writes);
  learn(asked, reply);
  const bool repeats = reply.outcome == Outcome::kOk && safety_.writes == Retry::kNumbered && chance / 4 % 4 == 0;
  if (!repeats) co_return reply.outcome;
  co_return co_await again(driver, asked, reply.body);
}

void Counters::learn(const Asked& asked, const DriverReply& reply) {
  Values& values = valuesOf(asked);
  if (reply.outcome == Outcome::kFailed) return;
  const bool adds = asked.kind != Kind::kTake;
  Values after;
  for (const int64_t value : values) after.insert(adds ? value + 1 : 0);
  if (reply.outcome == Outcome::kUnknown) {
    values.merge(after);
    return;
  }
  const bool tells = asked.kind != Kind::kAdd;
  const int64_t told = toldBy(reply.body);
  const Values& possible = asked.kind == Kind::kAddAndTellAfter ? after : values;
  if (tells && !possible.contains(told))
    complain(asked, fmt::format("told {} where {} was possible", told, fmt::join(possible, " or ")));
  if (!tells && reply.body["n"].toInt64() != 1) complain(asked, "an update that changed nothing");
  if (tells) after = {!adds ? 0 : asked.kind == Kind::kAddAndTellAfter ? told : told + 1};
  values = std::move(after);
}

/// As a driver does that has lost the answer: it was carried out, and must be answered alike. Who cannot say so any
/// more says that.
Task<Outcome> Counters::again(Driver& driver, Asked asked, bson::Document first) {
  const DriverReply second = co_await driver.repeat("test");
  if (second.outcome != Outcome::kOk) co_return Outcome::kOk;
  const bool didNothing = asked.kind == Kind::kTake && toldBy(first) == 0;
  if (shown(second.body) != shown(first))
    complain(asked, fmt::format("answered with {}, and again with {}", shown(first), shown(second.body)));
  if (!didNothing && !isMarkedAsRetried(second.body)) complain(asked, "carried out again");
  co_return Outcome::kOk;
}

std::string Counters::compare(const std::string& collection, const std::vector<bson::Document>& found) const {
  std::map<std::string, int64_t> there;
  for (const bson::Document& one : found) there[std::string(one["_id"].toStringOr())] = one["n"].toInt64();
  const auto known = values_.find(collection);
  if (known == values_.end()) return {};
  for (const auto& [id, values] : known->second) {
    const int64_t value = there.contains(id) ? there[id] : 0;
    if (!values.contains(value))
      return fmt::format("{} {} stands at {} instead of {}", collection, id, value, fmt::join(values, " or "));
  }
  return {};
}

}  // namespace troupe::sim
