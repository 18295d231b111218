#include "supervisors/cli/local_cluster.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "supervisors/cli/find_program.hpp"
#include "supervisors/cli/free_port.hpp"

namespace troupe::supervisors {

namespace {

using Clock = std::chrono::steady_clock;
using Reports = std::vector<MemberReport>;

constexpr auto kToAnswer = std::chrono::minutes(2);  // a recovery from the log may take a while
constexpr auto kToBeReady = std::chrono::minutes(5);
constexpr auto kToReport = std::chrono::seconds(5);  // a member that hangs must not hide the others
constexpr auto kToEnd = std::chrono::minutes(1);
constexpr auto kBetweenLooks = std::chrono::milliseconds(100);

constexpr uint16_t kToAdminPort = 1000;  ///< from the first port of a set: 27017 and 28017
constexpr double kSmallestCacheGB = 0.25, kLargestCacheGB = 1;
constexpr const char* kSet = "rs0";

StatusWith<client::Connection> connect(const ClusterMember& member,
                                       std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  client::Target target;
  target.port = static_cast<uint16_t>(member.port);
  target.connectTimeoutMs = 2000;
  target.socketTimeoutMs = patience.count();
  target.appName = "troupe cluster";
  return client::Connection::open(target);
}

/// The state of a member that shows no status of its set.
std::string stateFor(const Status& refusal) {
  if (refusal == ErrorCode::kNotYetInitialized) return "STARTUP";
  if (refusal == ErrorCode::kInvalidReplicaSetConfig) return "REMOVED";
  return refusal.reason();
}

Status taken(int32_t port, int32_t number) {
  return {ErrorCode::kSocketException,
          fmt::format("the port {} of member {} is in use by another program", port, number)};
}

/// By default each daemon takes half of the machine: members share that, and leave the most of it to others.
double cacheOfEach(size_t members) {
  const double machine = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  const double share = (machine / (1 << 30) - 1) / 2 / static_cast<double>(members);
  return std::clamp(share, kSmallestCacheGB, kLargestCacheGB);
}

StatusWith<std::vector<ClusterMember>> choosePorts(const LocalCluster::Wishes& wishes) {
  std::vector<ClusterMember> members;
  uint16_t next = wishes.port.value_or(client::kDefaultPort);
  auto nextAdmin = static_cast<uint16_t>(next < 64'000 ? next + kToAdminPort : next - kToAdminPort);
  for (int32_t id = 1; id <= static_cast<int32_t>(wishes.members.value_or(3)); ++id) {
    const uint16_t port = freePort(next, wishes.port ? 1 : 1000);
    if (port == 0) return taken(next, id);
    uint16_t admin = freePort(nextAdmin, 1000);
    if (admin == port) admin = freePort(static_cast<uint16_t>(admin + 1), 1000);
    if (admin == 0) return taken(nextAdmin, id);
    members.push_back({.id = id, .port = port, .adminPort = admin});
    next = static_cast<uint16_t>(port + 1), nextAdmin = static_cast<uint16_t>(admin + 1);
  }
  return members;
}

Status ended(const ClusterMember& member, const MemberFiles& files) {
  const std::string why = lastError(files);
  return {ErrorCode::kOperationFailed,
          fmt::format("member {} has ended{}{}; its log is {}", member.id, why.empty() ? "" : ": ", why, files.log)};
}

Status checkPorts(const ClusterMember& member) {
  for (const int32_t port : {member.port, member.adminPort})
    if (!isFreePort(static_cast<uint16_t>(port))) return taken(port, member.id);
  return Status::OK();
}

Status checkWishes(const LocalCluster::Wishes& wishes, const ClusterPlan& plan, const std::string& folder) {
  const auto refuse = [&](std::string what) {
    return Status(ErrorCode::kIllegalOperation, "the set in " + folder + " has " + std::move(what) +
                                                    "; leave the option out, or name another folder with --dir");
  };
  if (wishes.members && *wishes.members != static_cast<int64_t>(plan.members.size()))
    return refuse(fmt::format("{} members", plan.members.size()));
  if (wishes.port && *wishes.port != plan.members.front().port)
    return refuse(fmt::format("its first member at port {}", plan.members.front().port));
  if (wishes.oplogSizeMB && *wishes.oplogSizeMB != plan.oplogSizeMB)
    return refuse((plan.oplogSizeMB > 0 ? fmt::format("logs of {} MiB", plan.oplogSizeMB)
                                        : std::string("logs of the daemon's size")) +
                  ", which the command replSetResizeOplog changes member by member");
  return Status::OK();
}

bson::Document firstConfig(const ClusterPlan& plan) {
  bson::Builder config;
  config.append("_id", plan.set).append("version", 1).openArray("members");
  for (const ClusterMember& member : plan.members) config.push(bson::doc("_id", member.id, "host", member.name()));
  config.close();
  return config.finish();
}

bson::View selfIn(bson::View status) {
  if (!status["members"].is(bson::Type::kArray)) return {};
  for (const auto& member : status["members"].asArray())
    if (member.asDocument()["self"].truthy()) return member.asDocument();
  return {};
}

std::optional<double> lagBehind(bson::View primary, bson::View status) {
  const auto newest = primary["optimeDate"], own = selfIn(status)["optimeDate"];
  if (!newest.is(bson::Type::kDate) || !own.is(bson::Type::kDate)) return std::nullopt;
  return static_cast<double>(std::max<int64_t>(newest.asDate().millis - own.asDate().millis, 0)) / 1000;
}

/// Whether the config of the member with that status has a member of that name.
bool names(bson::View status, std::string_view name) {
  if (!status["members"].is(bson::Type::kArray)) return false;
  for (const auto& member : status["members"].asArray())
    if (member.asDocument()["name"].toStringOr() == name) return true;
  return false;
}

bool hasData(const MemberReport& report) {
  return report.is("PRIMARY") || report.is("SECONDARY") || report.is("ARBITER");
}

std::string states(const Reports& reports) {
  std::string text;
  for (const auto& report : reports)
    text += fmt::format("{}member {}: {}", text.empty() ? "" : ", ", report.member.id, report.state);
  return text;
}

}  // namespace

const MemberReport* primaryOf(const Reports& reports) {
  const MemberReport* found = nullptr;
  for (const MemberReport& report : reports) {
    if (!report.is("PRIMARY")) continue;
    if (!found || report.status["term"].toInt64() > found->status["term"].toInt64()) found = &report;
  }
  return found;
}

bool isSettled(const MemberReport& member, const Reports& all) {
  const MemberReport* const primary = primaryOf(all);
  return hasData(member) || (primary && !names(primary->status, member.member.name()));
}

bool isBack(const MemberReport& member, const Reports& all) {
  return member.is("RECOVERING") || isSettled(member, all);
}

std::string changedStates(const Reports& before, const Reports& now) {
  Reports changed;
  for (size_t i = 0; i < now.size(); ++i)
    if (i >= before.size() || before[i].state != now[i].state) changed.push_back(now[i]);
  return states(changed);
}

bool isReady(const Reports& reports) {
  return primaryOf(reports) &&
         std::all_of(reports.begin(), reports.end(), [&](const auto& report) { return isSettled(report, reports); });
}

StatusWith<LocalCluster> LocalCluster::open(const std::string& path) {
  ClusterFolder folder(path);
  TROUPE_ASSIGN(auto plan, folder.read());
  if (!plan)
    return Status(ErrorCode::kNonExistentPath, "there is no replica set in " + folder.path().string() +
                                                   "; make one with `troupe cluster start`, or name its folder with "
                                                   "--dir");
  return LocalCluster(std::move(folder), std::move(*plan));
}

StatusWith<LocalCluster> LocalCluster::openOrMake(const std::string& path, const Wishes& wishes) {
  ClusterFolder folder(path);
  TROUPE_ASSIGN(auto known, folder.read());
  ClusterPlan plan;
  if (known) {
    TROUPE_TRY(checkWishes(wishes, *known, folder.path().string()));
    plan = std::move(*known);
  } else {
    plan = {.set = kSet, .members = {}, .cacheSizeGB = 0};
    TROUPE_ASSIGN(plan.members, choosePorts(wishes));
    plan.cacheSizeGB = cacheOfEach(plan.members.size());
  }
  plan.oplogSizeMB = wishes.oplogSizeMB.value_or(plan.oplogSizeMB);
  return LocalCluster(std::move(folder), std::move(plan));
}

std::string LocalCluster::uri() const {
  std::string hosts;
  for (const ClusterMember& member : plan_.members) hosts += (hosts.empty() ? "" : ",") + member.name();
  return "mongodb://" + hosts + "/?replicaSet=" + plan_.set;
}

StatusWith<std::string> LocalCluster::program() { return findProgram("trouped", SearchPath::kToo); }

Status LocalCluster::launch(const std::string& program, const ClusterMember& member) const {
  TROUPE_TRY(checkPorts(member));
  const MemberFiles files = folder_.filesOf(member);
  std::vector<std::string> arguments{program,
                                     "--replSet",
                                     plan_.set,
                                     "--dbpath",
                                     files.data,
                                     "--port",
                                     std::to_string(member.port),
                                     "--nodeName",
                                     member.name(),
                                     "--admin-port",
                                     std::to_string(member.adminPort),
                                     "--logpath",
                                     files.log,
                                     "--logappend",
                                     "--wiredTigerCacheSizeGB",
                                     fmt::format("{}", plan_.cacheSizeGB)};
  if (plan_.oplogSizeMB > 0) arguments.insert(arguments.end(), {"--oplogSize", std::to_string(plan_.oplogSizeMB)});
  return startMember(arguments, files);
}

Status LocalCluster::untilAnswers(const ClusterMember& member, const std::function<bool()>& goOn) const {
  const MemberFiles files = folder_.filesOf(member);
  for (const auto deadline = Clock::now() + kToAnswer; Clock::now() < deadline;) {
    if (connect(member).isOK()) return Status::OK();
    if (!goOn()) return {ErrorCode::kInterrupted, "stopped"};
    if (!runningMember(files)) return ended(member, files);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {ErrorCode::kExceededTimeLimit,
          fmt::format("member {} does not answer after two minutes; its log is {}", member.id, files.log)};
}

Status LocalCluster::initiateIfNew() const {
  for (const MemberReport& report : this->report())
    if (!report.status.empty()) return Status::OK();
  TROUPE_ASSIGN(auto connection, connect(plan_.members.front()));
  const auto reply = connection.run("admin", bson::doc("replSetInitiate", firstConfig(plan_)));
  if (reply.status() == ErrorCode::kAlreadyInitialized) return Status::OK();
  if (!reply.isOK()) return reply.status().withContext("replSetInitiate");
  // Instead of an election timeout. Its refusal does no harm: then the timeout brings the first primary.
  (void)connection.run("admin", bson::doc("replSetStepUp", 1));
  return Status::OK();
}

Status LocalCluster::waitUntil(const std::function<bool(const Reports&)>& reached, const std::function<bool()>& goOn,
                               const Told& told, std::optional<int64_t> only) const {
  Reports before, now = report();
  for (const auto deadline = Clock::now() + kToBeReady; Clock::now() < deadline; now = report()) {
    if (reached(now)) return Status::OK();
    if (const std::string changed = changedStates(before, now); told && !changed.empty()) told(changed);
    before = now;
    if (!goOn()) return {ErrorCode::kInterrupted, "stopped"};
    for (const MemberReport& report : now)
      if (!report.pid && (!only || *only == report.member.id)) return ended(report.member, report.files);
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return {ErrorCode::kExceededTimeLimit, "the set is not ready after five minutes (" + states(now) +
                                             "); it goes on, and `troupe cluster status` shows how far it is"};
}

Status LocalCluster::start(const std::function<bool()>& goOn, const Told& told) {
  TROUPE_ASSIGN(const std::string daemon, program());
  TROUPE_ASSIGN(const auto lock, folder_.lock());
  std::vector<ClusterMember> missing;
  for (const ClusterMember& member : plan_.members)
    if (!runningMember(folder_.filesOf(member))) missing.push_back(member);
  for (const ClusterMember& member : missing) TROUPE_TRY(checkPorts(member));  // all of them before any is started
  TROUPE_TRY(folder_.write(plan_));
  for (const ClusterMember& member : missing) TROUPE_TRY(launch(daemon, member));
  for (const ClusterMember& member : plan_.members) TROUPE_TRY(untilAnswers(member, goOn));
  TROUPE_TRY(initiateIfNew());
  return waitUntil(isReady, goOn, told);
}

StatusWith<int> LocalCluster::stop() {
  TROUPE_ASSIGN(const auto lock, folder_.lock());
  const Reports now = report();
  const MemberReport* const primary = primaryOf(now);
  std::vector<const MemberReport*> order;
  for (const MemberReport& report : now)
    if (&report != primary) order.push_back(&report);
  if (primary) order.push_back(primary);
  int stopped = 0;
  for (const MemberReport* report : order) {
    const auto was = endMember(report->files, SIGTERM, kToEnd);
    if (!was.isOK())
      return was.status().withContext(
          fmt::format("member {} (`troupe cluster kill {}` ends it)", report->member.id, report->member.id));
    stopped += *was;
  }
  return stopped;
}

StatusWith<ClusterMember> LocalCluster::member(int64_t number) const {
  if (number >= 1 && number <= static_cast<int64_t>(plan_.members.size()))
    return plan_.members[static_cast<size_t>(number) - 1];
  return Status(ErrorCode::kBadValue,
                fmt::format("there is no member {}; the set has members 1 to {}", number, plan_.members.size()));
}

StatusWith<bool> LocalCluster::kill(int64_t number) {
  TROUPE_ASSIGN(const auto lock, folder_.lock());
  TROUPE_ASSIGN(const auto which, member(number));
  return endMember(folder_.filesOf(which), SIGKILL, kToEnd);
}

Status LocalCluster::restart(int64_t number, const std::function<bool()>& goOn, const Told& told) {
  TROUPE_ASSIGN(const auto lock, folder_.lock());
  TROUPE_ASSIGN(const auto which, member(number));
  TROUPE_ASSIGN(const std::string daemon, program());
  TROUPE_TRY(endMember(folder_.filesOf(which), SIGTERM, kToEnd).status());
  TROUPE_TRY(folder_.write(plan_));  // an operator may have taken its disk away
  TROUPE_TRY(launch(daemon, which));
  TROUPE_TRY(untilAnswers(which, goOn));
  const auto reached = [&](const Reports& now) { return isBack(now[static_cast<size_t>(number) - 1], now); };
  return waitUntil(reached, goOn, told, number);
}

MemberReport LocalCluster::reportOf(const ClusterMember& member) const {
  MemberReport report{.member = member, .files = folder_.filesOf(member), .pid = {}, .state = "down"};
  report.pid = runningMember(report.files);
  if (!report.pid) return report;
  report.state = "no answer";
  auto connection = connect(member, kToReport);
  if (!connection.isOK()) return report;
  auto status = connection->run("admin", bson::doc("replSetGetStatus", 1));
  if (status.isOK()) {
    report.status = std::move(*status);
    report.state = selfIn(report.status)["stateStr"].toStringOr("REMOVED");
  } else {
    report.state = stateFor(status.status());
  }
  return report;
}

Reports LocalCluster::report() const {
  Reports reports;
  for (const ClusterMember& member : plan_.members) reports.push_back(reportOf(member));
  const MemberReport* const primary = primaryOf(reports);
  if (!primary) return reports;
  for (MemberReport& report : reports)
    if (&report != primary) report.lag = lagBehind(selfIn(primary->status), report.status);
  return reports;
}

}  // namespace troupe::supervisors
