#include "cluster_demo.hpp"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <thread>

#include <fmt/format.h>

#include "demo_data.hpp"
#include "demo_questions.hpp"
#include "majority_writers.hpp"
#include "server_process.hpp"
#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/terminal.hpp"
#include "temporary_folder.hpp"

namespace troupe::demo {

using namespace supervisors;  // NOLINT: the example is made of the command line's parts
using bson::doc;

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kFolder = "troupe-cluster";
constexpr int kClients = 4;
constexpr auto kWriting = std::chrono::milliseconds(1500);  // before the kill, and after writes go on again
constexpr auto kToElect = std::chrono::minutes(1);

double secondsSince(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

class ClusterDemo {
 public:
  explicit ClusterDemo(const ClusterDemoOptions& options) : options_(options), paint_(isTerminal(STDOUT_FILENO)) {}

  int run() {
    Status status = work();
    const bool interrupted = status == ErrorCode::kInterrupted;
    if (interrupted) std::cout << "\nStopping." << std::endl;
    else if (!status.isOK()) complain(status);
    if (cluster_) {
      const auto stopped = cluster_->stop();
      if (!stopped.isOK()) return complain(stopped.status());
      if (*stopped > 0) say(fmt::format("The set has stopped cleanly: {} members.", *stopped));
    }
    return status.isOK() || interrupted ? kExitDone : kExitFailed;
  }

 private:
  void say(const std::string& line) { std::cout << "  " << line << std::endl; }
  std::function<bool()> goOn() {
    return [this] { return !stop_.came(); };
  }

  Status work() {
    TROUPE_TRY(startSet());
    TROUPE_TRY(load());
    TROUPE_TRY(askSecondary());
    TROUPE_TRY(killPrimaryWhileWriting());
    showAddresses();
    if (options_.once) return {};
    stop_.wait([] { return true; });
    return {ErrorCode::kInterrupted, "stopped"};
  }

  Status startSet() {
    const std::string folder = !options_.folder.empty() ? options_.folder
                               : options_.once          ? temporary_.emplace().path()
                                                        : kFolder;
    const auto begun = Clock::now();
    LocalCluster::Wishes wishes;
    wishes.members = options_.members, wishes.port = options_.port;
    TROUPE_ASSIGN(auto cluster, LocalCluster::openOrMake(folder, wishes));
    cluster_.emplace(std::move(cluster));
    title(paint_, fmt::format("Starting a replica set of {} members", options_.members));
    TROUPE_TRY(cluster_->start(goOn()));
    for (const ClusterMember& member : cluster_->plan().members) ports_.push_back(static_cast<uint16_t>(member.port));
    say(fmt::format("ready in {}, in {}", formatDuration(secondsSince(begun)), cluster_->folder().path().string()));
    for (const MemberReport& report : cluster_->report())
      say(fmt::format("member {}  {}  {}", report.member.id, report.member.name(), report.state));
    return {};
  }

  Status load() {
    TROUPE_ASSIGN(auto connection, connectToPrimary(ports_));
    TROUPE_TRY(prepareDemoData(connection, paint_, goOn()));
    const auto begun = Clock::now();
    TROUPE_TRY(awaitAllMembers(connection));
    say(fmt::format("all members have it {} later", formatDuration(secondsSince(begun))));
    return {};
  }

  /// A write that every member has acknowledged: they have all that was written before it.
  Status awaitAllMembers(client::Connection& connection) {
    TROUPE_ASSIGN(
        const auto reply,
        connection.run(
            kDemoDatabase,
            doc("update", "marks", "updates",
                bson::array(doc("q", doc("_id", "seen by all"), "u", doc("$inc", doc("n", 1)), "upsert", true)),
                "writeConcern", doc("w", static_cast<int32_t>(ports_.size()), "wtimeout", 120'000))));
    const auto failed = reply["writeConcernError"];
    if (!failed) return {};
    return {ErrorCode::kExceededTimeLimit,
            "not every member has the data: " + std::string(failed.asDocument()["errmsg"].toStringOr())};
  }

  StatusWith<client::Connection> connectTo(const ClusterMember& member) {
    client::Target target;
    target.port = static_cast<uint16_t>(member.port);
    target.readPreference = "secondaryPreferred";
    return client::Connection::open(target);
  }

  Status askSecondary() {
    for (const MemberReport& report : cluster_->report()) {
      if (!report.is("SECONDARY")) continue;
      title(paint_, fmt::format("Asking a secondary, member {}", report.member.id));
      TROUPE_ASSIGN(auto connection, connectTo(report.member));
      const auto packages = countDocuments(connection, "packages");
      say(formatCount(packages) + " packages are here, too");
      return packages > 0 ? answer(connection, demoQuestions()[1], paint_) : Status();
    }
    return {ErrorCode::kHostUnreachable, "there is no secondary"};
  }

  Status killPrimaryWhileWriting() {
    const auto before = cluster_->report();
    const MemberReport* const primary = primaryOf(before);
    if (!primary) return {ErrorCode::kHostUnreachable, "there is no primary"};
    const int32_t victim = primary->member.id;
    title(paint_, fmt::format("Killing the primary, member {}, while {} clients write", victim, kClients));
    TROUPE_ASSIGN(auto connection, connectToPrimary(ports_));
    (void)connection.run(kDemoDatabase, doc("drop", kWritten));  // of an earlier run
    MajorityWriters writers(ports_, kClients);
    std::this_thread::sleep_for(kWriting);
    const int64_t writtenBefore = writers.acknowledged();
    TROUPE_TRY(cluster_->kill(victim).status());
    say(fmt::format("{} writes were acknowledged by a majority; SIGKILL", formatCount(writtenBefore)));
    TROUPE_TRY(awaitWrites(writers));
    std::this_thread::sleep_for(kWriting);
    writers.stop();
    return showOutcome(writers, victim);
  }

  /// Until a primary takes writes again. Those that were on their way when it was killed are given a moment to be
  /// counted.
  Status awaitWrites(const MajorityWriters& writers) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const int64_t soFar = writers.acknowledged();
    for (const auto deadline = Clock::now() + kToElect; Clock::now() < deadline;) {
      if (writers.acknowledged() > soFar) return {};
      if (stop_.came()) return {ErrorCode::kInterrupted, "stopped"};
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return {ErrorCode::kExceededTimeLimit, "no member has taken writes within a minute"};
  }

  Status showOutcome(const MajorityWriters& writers, int32_t victim) {
    const auto now = cluster_->report();
    if (const MemberReport* primary = primaryOf(now))
      say(fmt::format("member {} leads now, in term {}", primary->member.id, primary->status["term"].toInt64()));
    say(fmt::format("writers waited {} at most for an answer", formatDuration(writers.longestWaitSeconds())));
    TROUPE_ASSIGN(auto connection, connectToPrimary(ports_));
    TROUPE_ASSIGN(const int64_t lost, writers.missingOn(connection, "majority"));
    say(fmt::format("{} writes were acknowledged in all, {} of them are lost; {} had no answer",
                    formatCount(writers.acknowledged()), lost, writers.unclear()));
    TROUPE_TRY(bringBack(writers, connection, victim));
    return lost == 0 ? Status() : Status(ErrorCode::kOperationFailed, "acknowledged writes were lost");
  }

  Status bringBack(const MajorityWriters& writers, client::Connection& primary, int32_t victim) {
    title(paint_, fmt::format("Bringing member {} back", victim));
    const auto begun = Clock::now();
    TROUPE_TRY(cluster_->restart(victim, goOn()));
    TROUPE_TRY(awaitAllMembers(primary));
    TROUPE_ASSIGN(auto connection, connectTo(cluster_->plan().members[static_cast<size_t>(victim) - 1]));
    TROUPE_ASSIGN(const int64_t missing, writers.missingOn(connection, "local"));
    say(fmt::format("it has caught up after {}; of the acknowledged writes it lacks {}",
                    formatDuration(secondsSince(begun)), missing));
    return missing == 0 ? Status() : Status(ErrorCode::kOperationFailed, "the member that came back lacks writes");
  }

  void showAddresses() {
    const auto row = [&](std::string_view what, const std::string& value) {
      std::cout << fmt::format("  {:<18}", what) << paint_.bold(value) << "\n";
    };
    const std::string folder = options_.folder.empty() ? "" : " --dir " + options_.folder;
    title(paint_, options_.once ? "While it ran" : "It is yours");
    row("connection string", cluster_->uri());
    for (const ClusterMember& member : cluster_->plan().members)
      row(fmt::format("member {}, live", member.id), fmt::format("http://127.0.0.1:{}/", member.adminPort));
    row("in a terminal", "troupe cluster status" + folder);
    row("", "troupe cluster kill 1" + folder);
    if (!options_.once)
      std::cout << "\n  Ctrl-C stops the set. The data stay in " << cluster_->folder().path().string() << ".\n";
    std::cout << std::endl;
  }

  const ClusterDemoOptions options_;
  const Paint paint_;
  StopSignals stop_;
  std::optional<TemporaryFolder> temporary_;
  std::optional<LocalCluster> cluster_;
  std::vector<uint16_t> ports_;
};

}  // namespace

int runClusterDemo(const ClusterDemoOptions& options) { return ClusterDemo(options).run(); }

}  // namespace troupe::demo
