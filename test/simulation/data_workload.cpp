#include "test/simulation/data_workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "messaging/errors/co_status.hpp"
#include "test/checkers/causal.hpp"

namespace troupe::sim {

using checkers::Outcome;
using checkers::RegisterOperation;

namespace {

using namespace std::chrono_literals;

constexpr size_t kSessions = 8;
constexpr uint64_t kKeys = 4;
constexpr Duration kBetweenAudits = 4s;
/// Every so many of them crash the node themselves.
constexpr size_t kAuditsToACrash = 3;
/// The share of what is begun that has to be done, of each kind of operation that was begun so often, and how many
/// operations a second.
constexpr double kLeastDone = 0.5;
constexpr uint64_t kOften = 20;
constexpr double kLeastRate = 10;

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

std::string compareAcrossCrash(const checkers::Contents& before, const checkers::Contents& after) {
  return checkers::compareReplicas({{"before its crash", before}, {"after its recovery", after}}).broken;
}

Status disturbed() { return {ErrorCode::kInterrupted, "the node was not left alone"}; }

}  // namespace

DataWorkload::DataWorkload(const Scenario& scenario, Simulation& cluster, uint64_t seed,
                           std::function<uint64_t()> writes)
    : Workload(scenario, cluster, seed), machine_(cluster.addMachine("clients")), writes_(std::move(writes)) {
  for (size_t i = 0; i < kSessions; ++i) sessions_.push_back(newSession());
  auditor_ = newSession();
}

DataWorkload::Session DataWorkload::newSession() {
  auto driver = std::make_unique<Driver>(machine_, cluster_.streams(), cluster_.nodes(),
                                         [this](const DriverReply& reply) { heard(reply); });
  return Session{std::move(driver), ++lastProcess_};
}

void DataWorkload::heard(const DriverReply& reply) {
  if (reply.status.isOK()) return;
  countAnswer(errorName(reply.status.code()));
  if (!reply.isExplained) breakIt(kAnswersExplained, reply.status.toString());
}

bool DataWorkload::prepare(Duration atMost) {
  machine_.start(makeCollections());
  return cluster_.runUntil([this] { return prepared_; }, atMost);
}

Task<void> DataWorkload::makeCollections() {
  for (const char* collection : {"lists", "registers"}) {
    for (Status made = disturbed(); !made.isOK() && made != ErrorCode::kNamespaceExists;) {
      const bson::Document create = bson::doc("create", collection, "writeConcern", bson::doc("j", true));
      const DriverReply reply = co_await auditor_.driver->run("test", create, Driver::Retry::kNever);
      made = reply.status;
    }
  }
  const bson::Document index =
      bson::doc("createIndexes", "items", "indexes",
                std::vector<bson::Document>{bson::doc("key", bson::doc("x", 1), "name", "x_1")}, "writeConcern",
                bson::doc("j", true));
  for (int tries = 0; tries < 10 && !prepared_; ++tries) {
    const DriverReply made = co_await auditor_.driver->run("test", index, Driver::Retry::kNever);
    prepared_ = made.outcome == Outcome::kOk;
  }
}

bool DataWorkload::isQuiet() const {
  return !auditor_.isBusy && std::none_of(sessions_.begin(), sessions_.end(), [](const auto& s) { return s.isBusy; });
}

void DataWorkload::ask(const WorkSpec& work) {
  if (cluster_.elapsed() >= nextAudit_) {
    nextAudit_ = cluster_.elapsed() + kBetweenAudits;
    crashWanted_ |= below(kAuditsToACrash) == 0;
    auditWanted_ = true;
  }
  auditWhenQuiet();
  if (auditWanted_ || auditor_.isBusy) return;
  const uint64_t chance = random_() >> 8;
  Session& session = sessions_[below(sessions_.size())];
  if (session.isBusy) return;
  session.isBusy = true;
  countAsked();
  machine_.start(operate(&session, work, chance));
}

Task<void> DataWorkload::operate(Session* session, WorkSpec work, uint64_t chance) {
  std::string kind;
  Outcome outcome = Outcome::kUnknown;
  if (work.kind == WorkKind::kRegisters) outcome = co_await onRegister(session, &kind, work, chance);
  else if (work.kind == WorkKind::kLists) outcome = co_await onLists(session, &kind, chance);
  else outcome = co_await onItems(session, &kind, chance);
  cluster_.note(TraceEvent::Kind::kNote, "", fmt::format("session p{}", session->process), kind, outcomeName(outcome));
  if (outcome == Outcome::kOk) countAnswer("");
  done_[kind].asked += 1;
  done_[kind].done += outcome == Outcome::kOk ? 1 : 0;
  if (outcome == Outcome::kUnknown) session->process = ++lastProcess_;
  session->isBusy = false;
}

Task<Outcome> DataWorkload::onRegister(Session* session, std::string* kind, WorkSpec work, uint64_t chance) {
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

Task<Outcome> DataWorkload::onLists(Session* session, std::string* kind, uint64_t chance) {
  *kind = kListKinds[chance % kListKinds.size()];
  std::vector<std::string> keys;
  for (uint64_t i = 0, first = chance / 4; i <= first % 3; ++i)
    keys.push_back("l" + std::to_string((first + i) % kKeys));
  const auto operation = static_cast<Lists::Kind>(chance % kListKinds.size());
  const Outcome outcome = co_await lists_.run(*session->driver, session->process, operation, keys);
  co_return outcome;
}

Task<Outcome> DataWorkload::onItems(Session* session, std::string* kind, uint64_t chance) {
  const uint64_t place = chance % 5 % kItemKinds.size();  // more inserts and updates than removals
  *kind = kItemKinds[place];
  const bool journaled = chance / 5 % 4 != 0;
  const Outcome outcome =
      co_await items_.run(*session->driver, static_cast<Items::Kind>(place), journaled, chance / 20);
  co_return outcome;
}

void DataWorkload::recovered() {
  auditWanted_ = true;
  countsAreOld_ = true;
  ++recoveries_;
}

void DataWorkload::calm() {
  auditWanted_ = true;
  crashWanted_ = true;
}

void DataWorkload::auditWhenQuiet() {
  if (!auditWanted_ || !isQuiet()) return;
  auditWanted_ = false;
  auditor_.isBusy = true;
  machine_.start(audit());
}

Task<void> DataWorkload::audit() {
  Status done = co_await tryAudit();
  if (done.isOK() && crashWanted_) {
    done = co_await crashAndCompare();
    crashWanted_ = !done.isOK();
  }
  auditor_.isBusy = false;
  if (!done.isOK()) auditWanted_ = true;
}

/// The fast count is exact as long as the node lives. After a crash it is that of the last checkpoint, until the
/// validation mends it.
std::string DataWorkload::compareCountBefore(const Findings& findings, bool countIsOld) const {
  if (!countIsOld) return checkers::compareCount("test.items", findings.countedBefore, findings.items).broken;
  if (findings.countedBefore >= 0 && findings.countedBefore <= items_.mostThere()) return {};
  return fmt::format("test.items never had the {} documents that were counted after a crash", findings.countedBefore);
}

Task<Status> DataWorkload::tryAudit() {
  const uint64_t writes = writes_(), recoveries = recoveries_;
  const bool countIsOld = countsAreOld_;
  const auto findings = co_await auditContents(*auditor_.driver);
  if (!findings.isOK()) co_return findings.status();
  if (writes != writes_() || recoveries != recoveries_) co_return disturbed();
  countsAreOld_ = false;
  std::string broken = findings->broken;
  if (broken.empty()) broken = compareCountBefore(*findings, countIsOld);
  if (broken.empty()) broken = items_.compare(findings->items);
  cluster_.note(TraceEvent::Kind::kNote, "", "audit", broken.empty() ? "finds all well" : "finds", broken);
  if (!broken.empty()) breakIt(kContentsHold, broken);
  co_return Status::OK();
}

/// Between two turns. What a session that has lost its connection had sent may still come in before.
void DataWorkload::planCrash(const std::shared_ptr<Crash>& crash) {
  cluster_.at({}, [this, crash] {
    crash->isClean = crash->writes == writes_();
    const std::string& node = cluster_.nodes()[0];
    cluster_.kill(node);
    cluster_.restart(node);
  });
}

Task<Status> DataWorkload::crashAndCompare() {
  checkers::Contents before, after;
  TROUPE_CO_ASSIGN(before, co_await readContents(*auditor_.driver));
  const auto crash = std::make_shared<Crash>(Crash{.writes = writes_()});
  planCrash(crash);
  co_await machine_.sleepFor(1ms);
  TROUPE_CO_ASSIGN(after, co_await readContents(*auditor_.driver));
  if (!crash->isClean) co_return disturbed();
  const std::string broken = compareAcrossCrash(before, after);
  cluster_.note(TraceEvent::Kind::kNote, "", "audit", broken.empty() ? "finds all again" : "finds", broken);
  if (!broken.empty()) breakIt(kRecoveryHolds, broken);
  co_return Status::OK();
}

std::string DataWorkload::whyNotDone() {
  auditWhenQuiet();
  if (auditWanted_ || !isQuiet()) return "an operation or the last audit still runs";
  if (!std::exchange(historiesChecked_, true)) {
    checkHistories();
    checkWorkIsDone();
  }
  return {};
}

void DataWorkload::checkHistories() {
  if (const auto verdict = checkers::checkLinearizable(registers_.history()); !verdict.holds())
    breakIt(kRegistersHold, verdict.broken);
  if (const auto verdict = checkers::checkCausal(registers_.history()); !verdict.holds())
    breakIt(kSessionsHold, verdict.broken);
  if (const auto verdict = checkers::checkListAppend(lists_.history(), checkers::Isolation::kStrictSerializable);
      !verdict.holds())
    breakIt(kListsHold, verdict.broken);
}

void DataWorkload::checkWorkIsDone() {
  double done = 0;
  for (const auto& [kind, count] : done_) {
    done += static_cast<double>(count.done);
    if (count.asked >= kOften && static_cast<double>(count.done) < kLeastDone * static_cast<double>(count.asked))
      breakIt(kWorkIsDone, fmt::format("{} of {} {}", count.done, count.asked, kind));
  }
  const double seconds = std::chrono::duration<double>(scenario_.faultsEndAfter).count();
  if (done < kLeastRate * seconds) breakIt(kWorkIsDone, fmt::format("{} operations in {} s", done, seconds));
}

void DataWorkload::breakIt(const char* invariant, const std::string& detail) {
  const auto& wanted = scenario_.invariants;
  const bool isChecked = wanted.empty() || std::find(wanted.begin(), wanted.end(), invariant) != wanted.end();
  if (isChecked) cluster_.fail(fmt::format("{}: {}", invariant, detail));
}

}  // namespace troupe::sim
