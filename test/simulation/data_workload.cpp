#include "test/simulation/data_workload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "messaging/errors/co_status.hpp"

namespace troupe::sim {

using checkers::Outcome;

namespace {

using namespace std::chrono_literals;

constexpr Duration kBetweenAudits = 4s;
/// Every so many of them crash the node themselves.
constexpr size_t kAuditsToACrash = 3;
/// Audits and recoveries take a large part of the time, in which no session works.
constexpr WorkFloor kNodeFloor{.ofBegun = 0.5, .ofRate = 1.0 / 6};

std::string compareAcrossCrash(const checkers::Contents& before, const checkers::Contents& after) {
  return checkers::compareReplicas({{"before its crash", before}, {"after its recovery", after}}).broken;
}

Status disturbed() { return {ErrorCode::kInterrupted, "the node was not left alone"}; }

}  // namespace

DataWorkload::DataWorkload(const Scenario& scenario, Simulation& cluster, uint64_t seed,
                           std::function<uint64_t()> writes)
    : Workload(scenario, cluster, seed),
      machine_(cluster.addMachine("clients")),
      writes_(std::move(writes)),
      sessions_(cluster, machine_, Safety::ofNode(),
                {[this](const std::string& refused) { countAnswer(refused); },
                 [this](const char* invariant, const std::string& why) { breakIt(invariant, why); }}),
      auditor_(machine_, cluster.streams(), cluster.nodes(), [this](const DriverReply& reply) { heard(reply); }) {}

void DataWorkload::heard(const DriverReply& reply) {
  if (reply.status.isOK()) return;
  countAnswer(std::string(errorName(reply.status.code())));
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
      const DriverReply reply = co_await auditor_.run("test", create, Driver::Retry::kNever);
      made = reply.status;
    }
  }
  const bson::Document index =
      bson::doc("createIndexes", "items", "indexes",
                std::vector<bson::Document>{bson::doc("key", bson::doc("x", 1), "name", "x_1")}, "writeConcern",
                bson::doc("j", true));
  for (int tries = 0; tries < 10 && !prepared_; ++tries) {
    const DriverReply made = co_await auditor_.run("test", index, Driver::Retry::kNever);
    prepared_ = made.outcome == Outcome::kOk;
  }
}

bool DataWorkload::isQuiet() const { return !auditing_ && sessions_.isQuiet(); }

void DataWorkload::ask(const WorkSpec& work) {
  if (cluster_.elapsed() >= nextAudit_) {
    nextAudit_ = cluster_.elapsed() + kBetweenAudits;
    crashWanted_ |= below(kAuditsToACrash) == 0;
    auditWanted_ = true;
  }
  auditWhenQuiet();
  if (auditWanted_ || auditing_) return;
  if (sessions_.ask(work, random_() >> 8)) countAsked();
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
  auditing_ = true;
  machine_.start(audit());
}

Task<void> DataWorkload::audit() {
  Status done = co_await tryAudit();
  if (done.isOK() && crashWanted_) {
    done = co_await crashAndCompare();
    crashWanted_ = !done.isOK();
  }
  auditing_ = false;
  if (!done.isOK()) auditWanted_ = true;
}

/// The fast count is exact as long as the node lives. After a crash it is that of the last checkpoint, until the
/// validation mends it.
std::string DataWorkload::compareCountBefore(const Findings& findings, bool countIsOld) const {
  if (!countIsOld) return checkers::compareCount("test.items", findings.countedBefore, findings.items).broken;
  if (findings.countedBefore >= 0 && findings.countedBefore <= sessions_.items().mostThere()) return {};
  return fmt::format("test.items never had the {} documents that were counted after a crash", findings.countedBefore);
}

Task<Status> DataWorkload::tryAudit() {
  const uint64_t writes = writes_(), recoveries = recoveries_;
  const bool countIsOld = countsAreOld_;
  const auto findings = co_await auditContents(auditor_);
  if (!findings.isOK()) co_return findings.status();
  if (writes != writes_() || recoveries != recoveries_) co_return disturbed();
  countsAreOld_ = false;
  std::string broken = findings->broken;
  if (broken.empty()) broken = compareCountBefore(*findings, countIsOld);
  if (broken.empty()) broken = sessions_.items().compare(findings->items);
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
  TROUPE_CO_ASSIGN(before, co_await readContents(auditor_));
  const auto crash = std::make_shared<Crash>(Crash{.writes = writes_()});
  planCrash(crash);
  co_await machine_.sleepFor(1ms);
  TROUPE_CO_ASSIGN(after, co_await readContents(auditor_));
  if (!crash->isClean) co_return disturbed();
  const std::string broken = compareAcrossCrash(before, after);
  cluster_.note(TraceEvent::Kind::kNote, "", "audit", broken.empty() ? "finds all again" : "finds", broken);
  if (!broken.empty()) breakIt(kRecoveryHolds, broken);
  co_return Status::OK();
}

std::string DataWorkload::whyNotDone() {
  auditWhenQuiet();
  if (auditWanted_ || !isQuiet()) return "an operation or the last audit still runs";
  if (!std::exchange(historiesChecked_, true)) sessions_.check(scenario_, kNodeFloor);
  return {};
}

void DataWorkload::breakIt(const char* invariant, const std::string& detail) {
  const auto& wanted = scenario_.invariants;
  const bool isChecked = wanted.empty() || std::find(wanted.begin(), wanted.end(), invariant) != wanted.end();
  if (isChecked) cluster_.fail(fmt::format("{}: {}", invariant, detail));
}

}  // namespace troupe::sim
