// troupe cluster: a replica set on this machine, for trying out.
#include <unistd.h>

#include <iostream>

#include <fmt/format.h>

#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/local_cluster.hpp"
#include "supervisors/cli/replica_rows.hpp"
#include "supervisors/cli/table.hpp"

namespace troupe::supervisors {
namespace {

struct ClusterOptions {
  std::string action;
  int64_t member = 0;  ///< 0: not given
  std::string folder = "troupe-cluster";
  int64_t members = 3;
  uint16_t port = client::kDefaultPort;
  int64_t oplogSizeMB = 0;
  bool json = false;
  const ArgumentParser* given = nullptr;
};

bson::Document toDocument(const LocalCluster& cluster, const std::vector<MemberReport>& reports) {
  bson::Builder b;
  b.append("set", cluster.plan().set).append("uri", cluster.uri()).append("folder", cluster.folder().path().string());
  b.append("ready", isReady(reports)).openArray("members");
  for (const MemberReport& report : reports) {
    b.pushDocument().append("member", report.member.id).append("name", report.member.name());
    b.append("state", report.state);
    if (report.lag) b.append("lagSeconds", *report.lag);
    if (report.pid) b.append("pid", static_cast<int64_t>(*report.pid));
    b.append("port", report.member.port).append("adminPort", report.member.adminPort);
    b.append("dataFolder", report.files.data).append("log", report.files.log).close();
  }
  b.close();
  return b.finish();
}

void print(const LocalCluster& cluster, const std::vector<MemberReport>& reports) {
  const bool terminal = isTerminal(STDOUT_FILENO);
  const Paint paint(terminal);
  const auto line = [&](std::string_view name, const std::string& value) {
    std::cout << paint.dim(fmt::format("{:<14}", name)) << value << "\n";
  };
  line("set", cluster.plan().set);
  line("folder", cluster.folder().path().string());
  line("connection", cluster.uri());
  Table table({{"member", true, 6},
               {"state"},
               {"lag", true, 5},
               {"pid", true},
               {"port", true, 5},
               {"admin", true, 5},
               {"data folder", false, 12}});
  for (const MemberReport& report : reports)
    table.add({std::to_string(report.member.id), report.state, report.lag ? formatLag(*report.lag) : "",
               report.pid ? std::to_string(*report.pid) : "", std::to_string(report.member.port),
               std::to_string(report.member.adminPort), report.files.data});
  std::cout << "\n" << table.render(terminal ? terminalSize().columns : 400, paint, "") << std::flush;
}

int show(const ClusterOptions& options, const LocalCluster& cluster) {
  const auto reports = cluster.report();
  if (options.json) return printJson(toDocument(cluster, reports));
  print(cluster, reports);
  return kExitDone;
}

/// What was done, for people; with --json the state of the set stands for it.
int conclude(const ClusterOptions& options, const LocalCluster& cluster, const std::string& sentence) {
  if (options.json) return show(options, cluster);
  std::cout << sentence << std::endl;
  return kExitDone;
}

/// For people: that the command lives, and what it waits for.
LocalCluster::Told tellStates(const ClusterOptions& options) {
  if (options.json || !isTerminal(STDERR_FILENO)) return nullptr;
  return [](const std::string& states) { std::cerr << "waiting; " << states << std::endl; };
}

/// A member that is RECOVERING may be so until an operator helps it.
void adviseOn(int64_t number, const LocalCluster& cluster) {
  const auto reports = cluster.report();
  const MemberReport& member = reports[static_cast<size_t>(number) - 1];
  if (!member.is("RECOVERING")) return;
  std::cerr << fmt::format(
      "Member {} runs, and is RECOVERING: in maintenance, or too stale to catch up; see \"A stale member\" of "
      "docs/operators/disaster-recovery.md\n",
      number);
}

int start(const ClusterOptions& options) {
  LocalCluster::Wishes wishes;
  if (options.given->given("--members")) wishes.members = options.members;
  if (options.given->given("--port")) wishes.port = options.port;
  if (options.given->given("--oplogSize")) wishes.oplogSizeMB = options.oplogSizeMB;
  auto cluster = LocalCluster::openOrMake(options.folder, wishes);
  if (!cluster.isOK()) return complain(cluster.status());
  if (const Status started = cluster->start([] { return true; }, tellStates(options)); !started.isOK())
    return complain(started);
  return show(options, *cluster);
}

int stop(const ClusterOptions& options, LocalCluster& cluster) {
  const auto stopped = cluster.stop();
  if (!stopped.isOK()) return complain(stopped.status());
  return conclude(options, cluster,
                  *stopped == 0
                      ? "The set was not running."
                      : fmt::format("{} {} stopped; the data stay in {}.", *stopped,
                                    *stopped == 1 ? "member has" : "members have", cluster.folder().path().string()));
}

int killMember(const ClusterOptions& options, LocalCluster& cluster) {
  const auto killed = cluster.kill(options.member);
  if (!killed.isOK()) return complain(killed.status());
  return conclude(options, cluster,
                  fmt::format("Member {} {}.", options.member, *killed ? "was killed" : "was not running"));
}

int restartMember(const ClusterOptions& options, LocalCluster& cluster) {
  if (const Status done = cluster.restart(
          options.member, [] { return true; }, tellStates(options));
      !done.isOK())
    return complain(done);
  adviseOn(options.member, cluster);
  return show(options, cluster);
}

int runCluster(const ClusterOptions& options) {
  const bool takesMember = options.action == "kill" || options.action == "restart";
  if (takesMember != (options.member > 0))
    return complain(takesMember ? "name the member: troupe cluster " + options.action + " N"
                                : "troupe cluster " + options.action + " takes no member",
                    kExitUsage);
  if (options.action == "start") return start(options);
  for (const char* name : {"--members", "--port", "--oplogSize"})
    if (options.given->given(name))
      return complain(std::string(name) + " belongs to `troupe cluster start`", kExitUsage);
  auto cluster = LocalCluster::open(options.folder);
  if (!cluster.isOK()) return complain(cluster.status());
  if (options.action == "stop") return stop(options, *cluster);
  if (options.action == "kill") return killMember(options, *cluster);
  if (options.action == "restart") return restartMember(options, *cluster);
  return show(options, *cluster);
}

}  // namespace

void addCluster(ArgumentParser& program) {
  auto options = std::make_shared<ClusterOptions>();
  auto& command =
      program.command("cluster", "run a replica set on this machine: start, stop, status, kill N, restart N",
                      [options] { return runCluster(*options); });
  options->given = &command;
  command.add("ACTION", &options->action, "what to do",
              {.required = true, .oneOf = {"start", "stop", "status", "kill", "restart"}});
  command.add("N", &options->member, "the member to kill (SIGKILL) or restart (in order), counted from 1",
              {.least = 1});
  command.add("--dir", &options->folder, "folder of the set: its plan, and data, log and process id of each member",
              {.showDefault = true, .valueName = "FOLDER", .variable = "TROUPE_CLUSTER"});
  command.add("--members", &options->members, "start: how many members a new set has",
              {.showDefault = true, .least = 1, .most = LocalCluster::kMostMembers});
  command.add(
      "--port", &options->port,
      "start: port of a new set's first member, the others follow; without it the first free ones from 27017 on",
      {.least = 1});
  command.add("--oplogSize", &options->oplogSizeMB,
              "start: size of each member's log in MiB (the daemon's default is 990)", {.valueName = "MB", .least = 1});
  addJsonOption(command, options->json);
  command.footer("`start` on the folder of a set that was stopped brings the same set up again, at the same ports.");
}

}  // namespace troupe::supervisors
