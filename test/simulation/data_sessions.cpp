#include "test/simulation/data_sessions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "test/checkers/causal.hpp"

namespace troupe::sim {

using checkers::Outcome;
using checkers::RegisterOperation;

namespace {

constexpr size_t kSessions = 8;
constexpr uint64_t kKeys = 4;

constexpr std::array kRegisterKinds{"reads of a register", "writes of a register", "compare-and-sets"};
constexpr std::array kListKinds{"appends", "appends that read", "finds of lists", "aggregations of lists"};
constexpr std::array kItemKinds{"inserts of an item", "updates of an item", "removals of an item"};

const char* outcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk: return "ok";
    case Outcome::kFailed: return "failed";
    default: return "unknown";
  }
}

}  // namespace

DataSessions::DataSessions(Simulation& cluster, Node& machine, const Safety& safety, Hears hears)
    : cluster_(cluster),
      machine_(machine),
      hears_(std::move(hears)),
      registers_(safety),
      lists_(safety),
      items_(safety),
      counters_(kSessions, safety, hears_.mayLackHistory) {
  for (size_t i = 0; i < kSessions; ++i) {
    const auto driver = [&](Driver::Preference preference) {
      return std::make_unique<Driver>(
          machine_, cluster.streams(), cluster.nodes(), [this](const DriverReply& reply) { heard(reply); }, preference);
    };
    auto changer = std::make_unique<Driver>(machine_, cluster.streams(), cluster.nodes(), nullptr);
    sessions_.push_back({driver(Driver::Preference::kPrimary), driver(Driver::Preference::kNearest), std::move(changer),
                         ++lastProcess_, i});
  }
}

void DataSessions::heard(const DriverReply& reply) const {
  if (reply.status.isOK()) return;
  hears_.ended(std::string(errorName(reply.status.code())));
  const bool lacksHistory = reply.status == ErrorCode::kIncompleteTransactionHistory;
  if (!reply.isExplained || (lacksHistory && !hears_.mayLackHistory))
    hears_.broken(kAnswersExplained, reply.status.toString());
}

bool DataSessions::isQuiet() const {
  return std::ranges::none_of(sessions_, [](const auto& session) { return session.isBusy; });
}

bool DataSessions::ask(const WorkSpec& work, uint64_t chance) {
  Session& session = sessions_[chance % sessions_.size()];
  if (session.isBusy) return false;
  session.isBusy = true;
  machine_.start(operate(&session, work, chance / sessions_.size()));
  return true;
}

Task<void> DataSessions::operate(Session* session, WorkSpec work, uint64_t chance) {
  std::string kind;
  Outcome outcome = Outcome::kUnknown;
  if (work.kind == WorkKind::kRegisters) outcome = co_await onRegister(session, &kind, work, chance);
  else if (work.kind == WorkKind::kLists) outcome = co_await onLists(session, &kind, chance);
  else if (work.kind == WorkKind::kCounters) outcome = co_await onCounters(session, &kind, work, chance);
  else if (work.kind == WorkKind::kSchemaChanges) outcome = co_await onSchema(session, &kind, chance);
  else if (work.kind == WorkKind::kTransfers) outcome = co_await onBank(session, &kind, work, chance);
  else outcome = co_await onItems(session, &kind, chance);
  cluster_.note(TraceEvent::Kind::kNote, "", fmt::format("session p{}", session->process), kind, outcomeName(outcome));
  if (outcome == Outcome::kOk) hears_.ended("");
  done_[kind].asked += 1;
  done_[kind].done += outcome == Outcome::kOk ? 1 : 0;
  if (outcome == Outcome::kUnknown) session->process = ++lastProcess_;
  session->isBusy = false;
}

Task<Outcome> DataSessions::onRegister(Session* session, std::string* kind, WorkSpec work, uint64_t chance) {
  RegisterOperation operation;
  operation.kind = static_cast<RegisterOperation::Kind>(chance % kRegisterKinds.size());
  *kind = kRegisterKinds[chance % kRegisterKinds.size()];
  operation.key = "r" + std::to_string(chance / 3 % kKeys);
  operation.value = registers_.newValue();
  if (operation.kind == RegisterOperation::Kind::kCompareAndSet) operation.expected = registers_.known(operation.key);
  const bool torn = static_cast<double>(chance / 16 % 1000) < work.torn * 1000;
  const Outcome outcome = co_await registers_.run(*session->driver, session->process, operation, torn);
  co_return outcome;
}

Task<Outcome> DataSessions::onLists(Session* session, std::string* kind, uint64_t chance) {
  *kind = kListKinds[chance % kListKinds.size()];
  std::vector<std::string> keys;
  for (uint64_t i = 0, first = chance / 4; i <= first % 3; ++i)
    keys.push_back("l" + std::to_string((first + i) % kKeys));
  const auto operation = static_cast<Lists::Kind>(chance % kListKinds.size());
  const Outcome outcome = co_await lists_.run(*session->driver, session->process, operation, keys);
  co_return outcome;
}

Task<Outcome> DataSessions::onItems(Session* session, std::string* kind, uint64_t chance) {
  const uint64_t place = chance % 5 % kItemKinds.size();  // more inserts and updates than removals
  *kind = kItemKinds[place];
  const bool journaled = chance / 5 % 4 != 0;
  const Outcome outcome =
      co_await items_.run(*session->driver, static_cast<Items::Kind>(place), journaled, chance / 20);
  co_return outcome;
}

/// Now and then the primary is told to keep images in the other way: both are mixed in one history.
Task<Outcome> DataSessions::onCounters(Session* session, std::string* kind, WorkSpec work, uint64_t chance) {
  // A primary that is cut off keeps all who write waiting; some sessions only read, and see what it shows.
  constexpr uint64_t kReads = 2;
  const bool onlyReads = session->place % 4 == 3;
  const uint64_t place = onlyReads ? Counters::kKinds.size() - 1 - chance % kReads : chance % Counters::kKinds.size();
  *kind = Counters::kKinds[place];
  const uint64_t rest = chance / Counters::kKinds.size();
  if (rest % 16 == 0) {
    const bson::Document way =
        bson::doc("setParameter", 1, "storeFindAndModifyImagesInSideCollection", rest / 16 % 2 == 0);
    co_await session->driver->run("admin", way, Driver::Retry::kNever);
  }
  const auto thousandth = static_cast<double>(rest / 32 % 1000);
  const Counters::Wrong wrong{thousandth < work.torn * 1000, thousandth < work.dirty * 1000};
  const Outcome outcome = co_await counters_.run({*session->driver, *session->reader}, session->place,
                                                 static_cast<Counters::Kind>(place), rest / 32000, wrong);
  if (!counters_.broken().empty()) hears_.broken(kCountersHold, counters_.broken());
  co_return outcome;
}

Task<Outcome> DataSessions::onSchema(Session* session, std::string* kind, uint64_t chance) {
  const auto [outcome, unexplained] = co_await schemaChanges_.run(*session->changer, chance, kind);
  if (!unexplained.empty()) hears_.broken(kAnswersExplained, unexplained);
  co_return outcome;
}

Task<Outcome> DataSessions::onBank(Session* session, std::string* kind, WorkSpec work, uint64_t chance) {
  const uint64_t place = chance % Bank::kKinds.size(), rest = chance / Bank::kKinds.size();
  *kind = Bank::kKinds[place];
  const bool torn = static_cast<double>(rest % 1000) < work.torn * 1000;
  const Outcome outcome =
      co_await bank_.run({*session->driver, *session->reader}, static_cast<Bank::Kind>(place), rest / 1000, torn);
  if (!bank_.broken().empty()) hears_.broken(kBankHolds, bank_.broken());
  co_return outcome;
}

void DataSessions::checkHistories() const {
  if (const auto verdict = checkers::checkLinearizable(registers_.history()); !verdict.holds())
    hears_.broken(kRegistersHold, verdict.broken);
  if (const auto verdict = checkers::checkCausal(registers_.history()); !verdict.holds())
    hears_.broken(kSessionsHold, verdict.broken);
  if (const auto verdict = checkers::checkListAppend(lists_.history(), checkers::Isolation::kStrictSerializable);
      !verdict.holds())
    hears_.broken(kListsHold, verdict.broken);
}

void DataSessions::check(const Scenario& scenario, const WorkFloor& floor) const {
  checkHistories();
  uint64_t done = 0;
  const auto complain = [this](const std::string& tooFew) {
    if (!tooFew.empty()) hears_.broken(kWorkIsDone, tooFew);
  };
  for (const auto& [kind, count] : done_) {
    done += count.done;
    complain(floor.whyTooFew(count.done, count.asked, kind));
  }
  complain(floor.whyTooFew(scenario, done));
}

}  // namespace troupe::sim
