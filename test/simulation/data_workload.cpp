#include "test/simulation/data_workload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "test/simulation/audit.hpp"

namespace troupe::sim {

using checkers::Outcome;
using checkers::RegisterOperation;

namespace {

constexpr size_t kSessions = 8;
constexpr uint64_t kKeys = 4;

const char* outcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk: return "ok";
    case Outcome::kFailed: return "failed";
    default: return "unknown";
  }
}

const char* workName(WorkKind kind) {
  if (kind == WorkKind::kRegisters) return "registers";
  return kind == WorkKind::kLists ? "lists" : "items";
}

}  // namespace

DataWorkload::DataWorkload(const Scenario& scenario, Simulation& cluster, uint64_t seed)
    : Workload(scenario, cluster, seed), machine_(cluster.addMachine("clients")) {
  const auto make = [&] {
    return Session{std::make_unique<Driver>(machine_, cluster.streams(), cluster.nodes()), ++lastProcess_};
  };
  for (size_t i = 0; i < kSessions; ++i) sessions_.push_back(make());
  auditor_ = make();
}

bool DataWorkload::prepare(Duration atMost) {
  machine_.start(prepareIndex());
  return cluster_.runUntil([this] { return prepared_; }, atMost);
}

Task<void> DataWorkload::prepareIndex() {
  const bson::Document create =
      bson::doc("createIndexes", "items", "indexes",
                std::vector<bson::Document>{bson::doc("key", bson::doc("x", 1), "name", "x_1")}, "writeConcern",
                bson::doc("j", true));
  for (int tries = 0; tries < 10 && !prepared_; ++tries) {
    const DriverReply made = co_await auditor_.driver->run("test", create, Driver::Retry::kNever);
    prepared_ = made.outcome == Outcome::kOk;
  }
}

bool DataWorkload::isQuiet() const {
  return !auditor_.isBusy && std::none_of(sessions_.begin(), sessions_.end(), [](const auto& s) { return s.isBusy; });
}

void DataWorkload::ask(const WorkSpec& work) {
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
  Outcome outcome = Outcome::kUnknown;
  if (work.kind == WorkKind::kRegisters) {
    outcome = co_await onRegister(session, work, chance);
  } else if (work.kind == WorkKind::kLists) {
    outcome = co_await onLists(session, chance);
  } else {
    const auto kind = static_cast<Items::Kind>(chance % 5 % 3);
    outcome = co_await items_.run(*session->driver, kind, chance / 5 % 4 != 0, chance / 20);
  }
  cluster_.note(TraceEvent::Kind::kNote, "", fmt::format("session p{}", session->process), workName(work.kind),
                outcomeName(outcome));
  countAnswer(outcome == Outcome::kOk ? "" : outcomeName(outcome));
  if (outcome == Outcome::kUnknown) session->process = ++lastProcess_;
  session->isBusy = false;
}

Task<Outcome> DataWorkload::onRegister(Session* session, WorkSpec work, uint64_t chance) {
  RegisterOperation operation;
  operation.kind = static_cast<RegisterOperation::Kind>(chance % 3);
  operation.key = "r" + std::to_string(chance / 3 % kKeys);
  operation.value = registers_.newValue();
  if (operation.kind == RegisterOperation::Kind::kCompareAndSet) operation.expected = registers_.known(operation.key);
  const bool torn = static_cast<double>(chance / 16 % 1000) < work.torn * 1000;
  const Outcome outcome = co_await registers_.run(*session->driver, session->process, operation, torn);
  co_return outcome;
}

Task<Outcome> DataWorkload::onLists(Session* session, uint64_t chance) {
  const auto kind = static_cast<Lists::Kind>(chance % 4);
  std::vector<std::string> keys;
  for (uint64_t i = 0, first = chance / 4; i <= first % 3; ++i)
    keys.push_back("l" + std::to_string((first + i) % kKeys));
  const Outcome outcome = co_await lists_.run(*session->driver, session->process, kind, keys);
  co_return outcome;
}

void DataWorkload::auditWhenQuiet() {
  if (!auditWanted_ || !isQuiet()) return;
  auditWanted_ = false;
  auditor_.isBusy = true;
  machine_.start(audit());
}

Task<void> DataWorkload::audit() {
  auto findings = co_await auditContents(*auditor_.driver);
  auditor_.isBusy = false;
  if (!findings.isOK()) {  // the node died meanwhile: again
    auditWanted_ = true;
    co_return;
  }
  std::string broken = findings->broken;
  if (broken.empty()) broken = items_.compare(findings->items);
  cluster_.note(TraceEvent::Kind::kNote, "", "audit", broken.empty() ? "finds all well" : "finds", broken);
  if (!broken.empty()) breakIt(kContentsHold, broken);
}

std::string DataWorkload::whyNotDone() {
  auditWhenQuiet();
  if (auditWanted_ || !isQuiet()) return "an operation or the last audit still runs";
  if (std::exchange(historiesChecked_, true)) return {};
  if (const auto verdict = checkers::checkLinearizable(registers_.history()); !verdict.holds())
    breakIt(kRegistersHold, verdict.broken);
  if (const auto verdict = checkers::checkListAppend(lists_.history(), checkers::Isolation::kStrictSerializable);
      !verdict.holds())
    breakIt(kListsHold, verdict.broken);
  return {};
}

void DataWorkload::breakIt(const char* invariant, const std::string& detail) {
  const auto& wanted = scenario_.invariants;
  const bool isChecked = wanted.empty() || std::find(wanted.begin(), wanted.end(), invariant) != wanted.end();
  if (isChecked) cluster_.fail(fmt::format("{}: {}", invariant, detail));
}

}  // namespace troupe::sim
