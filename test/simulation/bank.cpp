#include "test/simulation/bank.hpp"

#include <fmt/format.h>

#include <utility>

#include "messaging/bson/json.hpp"

namespace troupe::sim {

using checkers::Outcome;

namespace {

constexpr uint64_t kAccounts = 4;
constexpr const char* kByMajority = R"("writeConcern": {"w": "majority"})";

bson::Document bankCommand(const std::string& json) { return bson::fromJson(json).value(); }

}  // namespace

int64_t BankLedger::begin(std::string from, std::string to, int64_t amount) {
  const auto number = static_cast<int64_t>(transfers_.size()) + 1;
  Transfer& made = transfers_[number];
  made.from = std::move(from), made.to = std::move(to), made.amount = amount;
  return number;
}

/// All moves of all accounts, each of which has to be the sum of its own.
std::string BankLedger::read(const std::vector<bson::Document>& accounts, Moves& moves) {
  for (const bson::Document& account : accounts) {
    const std::string id(account["_id"].toStringOr());
    int64_t sum = kAtFirst;
    for (const bson::Element& e : account["moves"].asArray()) {
      const bson::View move = e.asDocument();
      sum += move["by"].toInt64();
      moves[move["t"].toInt64()].push_back({id, move["by"].toInt64()});
    }
    const int64_t balance = account["balance"].toInt64();
    if (balance != sum) return fmt::format("{} has {}, and its moves come to {}", id, balance, sum);
    if (balance < 0) return fmt::format("{} has {}", id, balance);
  }
  return {};
}

/// One transfer as one state shows it.
std::string BankLedger::judge(int64_t number, const std::vector<Move>& moves) {
  const auto found = transfers_.find(number);
  if (found == transfers_.end()) return fmt::format("transfer {} was made by nobody", number);
  Transfer& transfer = found->second;
  int taken = 0, given = 0;
  for (const Move& move : moves) {
    if (move.account == transfer.from && move.by == -transfer.amount) ++taken;
    else if (move.account == transfer.to && move.by == transfer.amount) ++given;
    else return fmt::format("transfer {} moves {} on {}", number, move.by, move.account);
  }
  if (taken > 1 || given > 1) return fmt::format("transfer {} took {} times and gave {} times", number, taken, given);
  if (given > taken) return fmt::format("transfer {} has given what it did not take", number);
  if (taken > 0 && !transfer.mayBeTaken) return fmt::format("transfer {} took what was refused to it", number);
  if (given > 0 && !transfer.mayBeGiven) return fmt::format("transfer {} gave what was refused to it", number);
  transfer.wasTaken |= taken > 0;
  transfer.wasGiven |= given > 0;
  return {};
}

BankLedger::Least BankLedger::acknowledged() const {
  Least least;
  for (const auto& [number, transfer] : transfers_)
    least[number] = (transfer.isTaken ? 1 : 0) + (transfer.isGiven ? 1 : 0);
  return least;
}

std::string BankLedger::left(const std::vector<bson::Document>& accounts) {
  Least least;
  for (const auto& [number, transfer] : transfers_)
    least[number] = (transfer.isTaken || transfer.wasTaken ? 1 : 0) + (transfer.isGiven || transfer.wasGiven ? 1 : 0);
  return shown(accounts, least);
}

std::string BankLedger::shown(const std::vector<bson::Document>& accounts, const Least& least) {
  Moves moves;
  if (const std::string why = read(accounts, moves); !why.empty()) return why;
  for (const auto& [number, ofOne] : moves)
    if (const std::string why = judge(number, ofOne); !why.empty()) return why;
  for (const auto& [number, wanted] : least) {
    const auto found = moves.find(number);
    const size_t there = found == moves.end() ? 0 : found->second.size();
    if (there < wanted) return fmt::format("transfer {} had made {} moves, and {} are there", number, wanted, there);
  }
  return {};
}

std::vector<bson::Document> Bank::accounts() {
  std::vector<bson::Document> made;
  for (uint64_t i = 0; i < kAccounts; ++i)
    made.push_back(bson::doc("_id", "a" + std::to_string(i), "balance", BankLedger::kAtFirst, "moves",
                             std::vector<bson::Document>()));
  return made;
}

Task<Outcome> Bank::run(Drivers drivers, Kind kind, uint64_t chance, bool torn) {
  Outcome outcome = Outcome::kUnknown;
  if (kind == Kind::kReadOfPrimary) outcome = co_await read(drivers.primary, true);
  else if (kind == Kind::kReadOfMember) outcome = co_await read(drivers.anyMember, chance % 4 != 0);
  else outcome = co_await transfer(drivers.primary, kind == Kind::kTransferOfMuch, chance, torn);
  co_return outcome;
}

/// One that is refused for lack of money has ended well.
Task<Outcome> Bank::transfer(Driver& driver, bool ofMuch, uint64_t chance, bool torn) {
  const uint64_t from = chance % kAccounts, to = (from + 1 + chance / 4 % (kAccounts - 1)) % kAccounts;
  const auto amount = static_cast<int64_t>(1 + chance / 16 % (ofMuch ? 90 : 10));
  const int64_t number = ledger_.begin("a" + std::to_string(from), "a" + std::to_string(to), amount);
  if (torn) {
    const Outcome given = co_await give(driver, number);
    if (given != Outcome::kOk) co_return given;
  }
  const Outcome taken = co_await take(driver, number);
  if (taken != Outcome::kOk || torn || !ledger_.of(number).isTaken) co_return taken;
  const Outcome given = co_await give(driver, number);
  co_return given;
}

/// The guard of the balance and the change are one operation.
Task<Outcome> Bank::take(Driver& driver, int64_t number) {
  const BankLedger::Transfer asked = ledger_.of(number);
  const bson::Document command = bankCommand(fmt::format(
      R"({{"findAndModify": "bank", "query": {{"_id": "{}", "balance": {{"$gte": {}}}}},
           "update": {{"$inc": {{"balance": {}}}, "$push": {{"moves": {{"t": {}, "by": {}}}}}}}, {}}})",
      asked.from, asked.amount, -asked.amount, number, -asked.amount, kByMajority));
  ledger_.of(number).mayBeTaken = true;
  const DriverReply reply = co_await driver.run("test", command, Driver::Retry::kNumbered);
  const bool didNothing = reply.outcome == Outcome::kOk && !reply.body["value"].is(bson::Type::kDocument);
  // An attempt that got no answer may come in late, and find money: what took nothing is not known by its number.
  const bool isCertain = !reply.followsUnanswered && reply.earlier.empty();
  if (reply.outcome == Outcome::kFailed || (didNothing && isCertain)) ledger_.of(number).mayBeTaken = false;
  else if (reply.outcome == Outcome::kOk && !didNothing) ledger_.of(number).isTaken = true;
  learnTimes(reply);
  co_return reply.outcome;
}

Task<Outcome> Bank::give(Driver& driver, int64_t number) {
  const BankLedger::Transfer asked = ledger_.of(number);
  const bson::Document command = bankCommand(fmt::format(
      R"({{"update": "bank", "updates": [{{"q": {{"_id": "{}"}},
           "u": {{"$inc": {{"balance": {}}}, "$push": {{"moves": {{"t": {}, "by": {}}}}}}}}}], {}}})",
      asked.to, asked.amount, number, asked.amount, kByMajority));
  ledger_.of(number).mayBeGiven = true;
  const DriverReply reply = co_await driver.run("test", command, Driver::Retry::kNumbered);
  if (reply.outcome == Outcome::kFailed) ledger_.of(number).mayBeGiven = false;
  if (reply.outcome == Outcome::kOk) {
    if (reply.body["n"].toInt64() != 1) complain("the account " + asked.to + " is gone");
    ledger_.of(number).isGiven = true;
  }
  learnTimes(reply);
  co_return reply.outcome;
}

void Bank::learnTimes(const DriverReply& reply) {
  if (reply.outcome != Outcome::kOk) return;
  // Answers of several sessions: the latest write, which has all others behind it, need not be answered last.
  const bson::Element time = reply.body["operationTime"];
  if (!times_.empty() && time.asTimestamp() < times_["operationTime"].asTimestamp()) return;
  bson::Builder kept;
  kept.append("operationTime", reply.body["operationTime"]).append("$clusterTime", reply.body["$clusterTime"]);
  times_ = kept.finish();
}

/// All accounts come in one batch, and so in one state.
Task<Outcome> Bank::read(Driver& driver, bool afterKnown) {
  const bool waits = afterKnown && !times_.empty();
  BankLedger::Least least;
  if (waits) least = ledger_.acknowledged();
  bson::Builder concern;
  concern.append("level", "majority");
  if (waits) concern.append("afterClusterTime", times_["operationTime"]);
  bson::Builder find;
  find.append("find", kCollection).append("batchSize", 1000).append("singleBatch", true);
  find.append("readConcern", concern.finish()).append("$readPreference", bson::doc("mode", "nearest"));
  if (waits) find.append("$clusterTime", times_["$clusterTime"]);
  const bson::Document command = find.finish();
  const DriverReply reply = co_await driver.run("test", command, Driver::Retry::kOnce);
  if (reply.outcome != Outcome::kOk) co_return reply.outcome;
  std::vector<bson::Document> accounts;
  for (const bson::Element& e : reply.body.view().at("cursor.firstBatch").asArray())
    accounts.emplace_back(e.asDocument());
  complain(ledger_.shown(accounts, least));
  co_return Outcome::kOk;
}

}  // namespace troupe::sim
