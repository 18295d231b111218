#include "test/simulation/counters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "messaging/bson/json.hpp"

namespace troupe::sim {

using checkers::Outcome;
using Retry = Driver::Retry;

namespace {

constexpr uint64_t kCountersOfSession = 2;
constexpr uint64_t kLongestPauseMillis = 2000;

CounterModel::Found foundIn(bson::View fields) {
  const bson::Element at = fields["at"];
  return CounterModel::Document{fields["n"].toInt64(), fields["by"].toInt64(),
                                at.is(bson::Type::kTimestamp) ? at.asTimestamp().asUint64() : 0};
}

CounterModel::Found foundIn(const bson::Element& document) {
  return document.is(bson::Type::kDocument) ? foundIn(document.asDocument()) : std::nullopt;
}

bool isMarkedAsRetried(bson::View reply) { return reply["retriedStmtIds"].ok() || reply["retriedStmtId"].ok(); }

/// What the reply says of the operation itself; the rest is different each time.
bson::Document withoutTimes(bson::View reply) {
  constexpr std::array kOfTheMoment{"retriedStmtIds", "retriedStmtId",   "operationTime",
                                    "$clusterTime",   "electionId",      "opTime",
                                    "errorLabels",    "topologyVersion", "writeConcernError"};
  bson::Builder kept;
  for (const bson::Element& field : reply)
    if (std::ranges::find(kOfTheMoment, field.name()) == kOfTheMoment.end()) kept.append(field.name(), field);
  return kept.finish();
}

bson::Document timesOf(bson::View reply) {
  bson::Builder kept;
  kept.append("operationTime", reply["operationTime"]).append("$clusterTime", reply["$clusterTime"]);
  return kept.finish();
}

}  // namespace

bson::Document Counters::commandFor(const Asked& asked, const std::string& concern) {
  const std::string change =
      fmt::format(R"({{"$inc": {{"n": 1}}, "$set": {{"by": {}}}, "$currentDate": {{"at": {{"$type": "timestamp"}}}}}})",
                  asked.number);
  std::string fields;
  if (asked.kind == Kind::kAdd)
    fields = fmt::format(R"("update": "{}", "updates": [{{"q": {{"_id": "{}"}}, "u": {}, "upsert": true}}])",
                         asked.collection, asked.id, change);
  else if (asked.kind == Kind::kTake)
    fields =
        fmt::format(R"("findAndModify": "{}", "query": {{"_id": "{}"}}, "remove": true)", asked.collection, asked.id);
  else
    fields = fmt::format(R"("findAndModify": "{}", "query": {{"_id": "{}"}}, "update": {}, "upsert": true, "new": {})",
                         asked.collection, asked.id, change, asked.kind == Kind::kAddAndTellAfter);
  return bson::fromJson(fmt::format(R"({{{}, "writeConcern": {}}})", fields, concern)).value();
}

void Counters::complain(const Asked& asked, const std::string& why) {
  if (broken_.empty() && !why.empty()) broken_ = fmt::format("{} {}: {}", asked.collection, asked.id, why);
}

Task<Outcome> Counters::run(Drivers drivers, size_t session, Kind kind, uint64_t chance, Wrong wrong) {
  Asked asked;
  asked.kind = kind;
  asked.collection = kCollections[chance % kCollections.size()];
  const bool reads = kind == Kind::kReadOfPrimary || kind == Kind::kReadOfMember;
  const bool isOthers = reads && chance / 4 % 2 == 0;
  const uint64_t of = isOthers ? chance / 8 % sessions_ : session;
  asked.id = fmt::format("s{}c{}", of, chance / 2 % kCountersOfSession);
  if (isOthers && !changing_.empty()) {
    const auto& [collection, id] = *std::next(changing_.begin(), static_cast<int64_t>(chance / 8 % changing_.size()));
    asked.collection = collection, asked.id = id;
  }
  if (!reads && counterOf(asked).model.isVague()) asked.kind = Kind::kReadOfMember;
  Outcome outcome = Outcome::kUnknown;
  if (asked.kind == Kind::kReadOfPrimary) outcome = co_await read(drivers.primary, asked, false, wrong.dirty);
  else if (asked.kind == Kind::kReadOfMember)
    outcome = co_await read(drivers.anyMember, asked, chance / 64 % 4 != 0, wrong.dirty);
  else outcome = co_await write(drivers.primary, asked, chance, wrong.torn);
  co_return outcome;
}

/// Some are given up with their first attempt: what became of them is only seen later.
Task<Outcome> Counters::write(Driver& driver, Asked asked, uint64_t chance, bool torn) {
  asked.number = ++lastNumber_;
  const bson::Document command = commandFor(asked, safety_.write);
  const Retry retry = chance / 16 % 8 == 0 ? Retry::kNumberedOnce : safety_.writes;
  counterOf(asked).model.begin(asked.number, asked.kind == Kind::kTake);
  const auto changing = changing_.emplace(asked.collection, asked.id).first;
  if (torn) co_await driver.run("test", command, retry);
  const DriverReply reply = co_await driver.run("test", command, retry);
  changing_.erase(changing);
  learn(asked, driver, reply);
  if (reply.outcome == Outcome::kOk && chance / 4 % 4 == 0) {
    const uint64_t pause = chance / 128 % 2 == 0 ? 0 : chance / 256 % kLongestPauseMillis;
    co_await repeat(driver, asked, reply.body, std::chrono::milliseconds(pause));
  }
  co_return reply.outcome;
}

void Counters::learn(const Asked& asked, const Driver& driver, const DriverReply& reply) {
  Counter& counter = counterOf(asked);
  checkAttempts(asked, reply);
  if (reply.outcome == Outcome::kFailed) complain(asked, counter.model.failed(asked.number));
  if (reply.outcome != Outcome::kOk) return;
  using Tells = CounterModel::Tells;
  const Tells tells = asked.kind == Kind::kAdd               ? Tells::kNothing
                      : asked.kind == Kind::kAddAndTellAfter ? Tells::kAfter
                                                             : Tells::kBefore;
  complain(asked, counter.model.done(asked.number, tells, foundIn(reply.body["value"])));
  if (tells == Tells::kNothing && reply.body["n"].toInt64() != 1) complain(asked, "an update that changed nothing");
  counter.acknowledged = counter.known = asked.number;
  counter.by = {&driver, reply.connection};
  counter.times = timesOf(reply.body);
}

bool Counters::isExcused(const DriverReply& refusal) const {
  if (refusal.mayPass || refusal.hasNoRoom()) return true;
  return mayLackHistory_ && refusal.status == ErrorCode::kIncompleteTransactionHistory;
}

/// A numbered write may end without an answer, or with one that another server would not give. Any other refusal says
/// that the server has lost its way: the number was never used, or its write was carried out and is known.
void Counters::checkAttempts(const Asked& asked, const DriverReply& reply) {
  if (!reply.status.isOK() && !isExcused(reply)) complain(asked, "was refused: " + reply.status.toString());
  if (reply.followsUnanswered || !isMarkedAsRetried(reply.body)) return;
  if (reply.earlier.empty()) return complain(asked, "is said to have been carried out before its first attempt");
  const bson::Document told = withoutTimes(reply.body);
  const auto isIt = [&](const bson::Document& one) { return withoutTimes(one) == told; };
  if (std::ranges::any_of(reply.earlier, isIt)) return;
  complain(asked, fmt::format("was answered with {}, and again with {}", bson::toRelaxedJson(reply.earlier.back()),
                              bson::toRelaxedJson(told)));
}

/// As a driver does that has lost the answer: it was acknowledged by a majority, and so must be answered alike by each
/// server that acknowledges it again. One that is primary no longer may know nothing of it, carry it out once more and
/// find no majority. No server may refuse it for good: one that has no room on its disk refuses what it does not know,
/// and one that has joined since has no log that goes so far back.
Task<void> Counters::repeat(Driver& driver, Asked asked, bson::Document first, Duration pause) {
  if (pause > Duration::zero()) co_await driver.pause(pause);
  const DriverReply second = co_await driver.repeat("test");
  if (!second.status.isOK()) {
    if (!isExcused(second)) complain(asked, "was acknowledged, and then refused: " + second.status.toString());
    co_return;
  }
  const bool didNothing = asked.kind == Kind::kTake && !foundIn(first["value"]);
  if (!didNothing && !isMarkedAsRetried(second.body)) complain(asked, "was acknowledged, and carried out again");
  if (withoutTimes(first) != withoutTimes(second.body))
    complain(asked, fmt::format("was answered with {}, and again with {}", bson::toRelaxedJson(first),
                                bson::toRelaxedJson(second.body)));
}

/// A primary shows on a connection what it has acknowledged there. Another one, and any other member, may be behind
/// unless it is told how far it has to have come.
Task<Outcome> Counters::read(Driver& driver, Asked asked, bool afterKnown, bool dirty) {
  const Counter& counter = counterOf(asked);
  const int64_t acknowledged = counter.acknowledged, known = counter.known;
  const Connection by = counter.by;
  const bool waits = afterKnown && known > 0;
  bson::Builder concern;
  concern.append("level", dirty ? "local" : "majority");
  if (waits) concern.append("afterClusterTime", counter.times["operationTime"]);
  bson::Builder find;
  find.append("find", asked.collection)
      .append("filter", bson::doc("_id", asked.id))
      .append("readConcern", concern.finish());
  if (asked.kind == Kind::kReadOfMember) find.append("$readPreference", bson::doc("mode", "nearest"));
  if (waits) find.append("$clusterTime", counter.times["$clusterTime"]);
  const bson::Document command = find.finish();
  const DriverReply reply = co_await driver.run("test", command, Retry::kOnce);
  if (reply.outcome != Outcome::kOk) co_return reply.outcome;
  const auto found = foundIn(reply.body.view().at("cursor.firstBatch").asArray().first());
  const int64_t least = waits ? known : by == Connection{&driver, reply.connection} ? acknowledged : 0;
  Counter& now = counterOf(asked);
  complain(asked, now.model.shown(found, least));
  if (found && found->by > now.known) {
    now.known = found->by;
    now.times = timesOf(reply.body);
  }
  co_return Outcome::kOk;
}

std::string Counters::compare(const std::string& collection, const std::vector<bson::Document>& found) {
  std::map<std::string, CounterModel::Found> there;
  for (const bson::Document& one : found) there[std::string(one["_id"].toStringOr())] = foundIn(one.view());
  const auto known = counters_.find(collection);
  if (known == counters_.end()) return {};
  for (auto& [id, counter] : known->second) {
    const std::string why = counter.model.left(there[id]);
    if (!why.empty()) return fmt::format("{} {} {}", collection, id, why);
  }
  return {};
}

}  // namespace troupe::sim
