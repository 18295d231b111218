// troupe-demo: a server on real data, some questions to it, and then it is yours.
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "cluster_demo.hpp"
#include "demo_data.hpp"
#include "demo_questions.hpp"
#include "messaging/version.hpp"
#include "server_process.hpp"
#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/find_program.hpp"
#include "supervisors/cli/free_port.hpp"
#include "temporary_folder.hpp"

namespace troupe::demo {

using namespace supervisors;  // NOLINT: the example is made of the command line's parts
namespace {

namespace fs = std::filesystem;

struct DemoOptions {
  bool once = false;
  std::string dbPath;
  uint16_t port = 0;  ///< 0: the first that is free
  uint16_t adminPort = 28017;
  int64_t members = 0;  ///< 0: a single server
};

class Demo {
 public:
  explicit Demo(const DemoOptions& options) : options_(options), paint_(isTerminal(STDOUT_FILENO)) {}

  int run() {
    Status status = work();
    if (status == ErrorCode::kInterrupted) std::cout << "\nStopping." << std::endl, status = {};
    if (!status.isOK()) complain(status);
    if (!server_.running() && status.isOK() && started_)
      status = {ErrorCode::kHostUnreachable, "the server ended by itself"};
    const int code = server_.stop();
    if (started_ && status.isOK() && code != 0) return complain("the server ended with code " + std::to_string(code));
    if (started_ && status.isOK()) std::cout << "The server has stopped cleanly." << std::endl;
    return status.isOK() ? kExitDone : kExitFailed;
  }

 private:
  Status work() {
    TROUPE_TRY(startServer());
    client::Target target;
    target.port = serverOptions_.port;
    TROUPE_ASSIGN(auto connection, client::Connection::open(target));
    TROUPE_TRY(prepareDemoData(connection, paint_, [this] { return !stop_.came(); }));
    title(paint_, "Asking");
    for (const auto& question : demoQuestions()) {
      if (stop_.came()) return {ErrorCode::kInterrupted, "stopped"};
      if (countDocuments(connection, question.collection) > 0) TROUPE_TRY(answer(connection, question, paint_));
    }
    showAddresses();
    if (options_.once) return {};
    return stop_.wait([this] { return server_.running(); })
               ? Status(ErrorCode::kInterrupted, "stopped")
               : Status(ErrorCode::kHostUnreachable, "the server ended by itself");
  }

  Status startServer() {
    TROUPE_ASSIGN(serverOptions_.program, findProgram("trouped"));
    serverOptions_.dbPath = !options_.dbPath.empty() ? options_.dbPath
                            : options_.once          ? temporary_.emplace().path()
                                                     : "data";
    std::error_code error;
    fs::create_directories(serverOptions_.dbPath, error);
    if (error || serverOptions_.dbPath.empty())
      return {ErrorCode::kFileNotOpen, "cannot make the folder " + serverOptions_.dbPath + ": " + error.message()};
    serverOptions_.logPath = (fs::path(serverOptions_.dbPath) / "trouped.log").string();
    serverOptions_.port = options_.port == 0 ? freePort(27017, 50) : freePort(options_.port, 1);
    if (serverOptions_.port == 0)
      return {ErrorCode::kHostUnreachable, fmt::format("port {} is in use; choose another with --port", options_.port)};
    serverOptions_.adminPort = freePort(options_.adminPort);
    title(paint_, "Starting trouped");
    const auto begun = std::chrono::steady_clock::now();
    TROUPE_TRY(server_.start(serverOptions_, [this] { return !stop_.came(); }));
    started_ = true;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    std::cout << fmt::format("  ready in {} on port {}, data in {}", formatDuration(seconds), serverOptions_.port,
                             serverOptions_.dbPath)
              << std::endl;
    return {};
  }

  void showAddresses() {
    const auto row = [&](std::string_view what, const std::string& value) {
      std::cout << fmt::format("  {:<18}", what) << paint_.bold(value) << "\n";
    };
    const std::string uri = fmt::format("mongodb://127.0.0.1:{}/{}", serverOptions_.port, kDemoDatabase);
    title(paint_, options_.once ? "While it ran" : "It is yours");
    row("connection string", uri);
    row("actors, live", fmt::format("http://127.0.0.1:{}/", serverOptions_.adminPort));
    row("in a terminal", fmt::format("mongosh {}", uri));
    row("", fmt::format("troupe tree --uri 127.0.0.1:{}", serverOptions_.port));
    if (!options_.once)
      std::cout << "\n  Ctrl-C stops the server. The data stays in " << serverOptions_.dbPath << ".\n";
    std::cout << std::endl;
  }

  const DemoOptions options_;
  const Paint paint_;
  StopSignals stop_;
  std::optional<TemporaryFolder> temporary_;
  ServerProcess::Options serverOptions_;
  ServerProcess server_;
  bool started_ = false;
};

}  // namespace

}  // namespace troupe::demo

int main(int argc, char** argv) {
  using namespace troupe;
  demo::DemoOptions options;
  supervisors::ArgumentParser program(
      "Starts a server on real data (this machine's Debian packages, ISO codes) and asks it questions.", "troupe-demo");
  program.version("troupe-demo " + std::string(kTroupeVersion));
  program.add("--once", &options.once,
              "stop after the answers; the data directory is temporary unless --dbpath names one");
  program.add("--dbpath", &options.dbPath, "data directory (./data; a temporary one with --once)",
              {.valueName = "DIR"});
  program.add("--port", &options.port, "port of the server (27017, or the next free one)");
  program.add("--admin-port", &options.adminPort, "port of the admin page (28017, or the next free one)");
  program.add(
      "--members", &options.members,
      "start a replica set of so many servers instead, and kill its primary while writing; --dbpath is then the "
      "folder of the set (./troupe-cluster)",
      {.least = 3, .most = supervisors::LocalCluster::kMostMembers});
  program.footer("A second run on the same directory does not load again.");
  const auto outcome = program.parse(argc, argv);
  if (outcome.kind == supervisors::ArgumentParser::Outcome::kTell)
    return std::cout << outcome.text, supervisors::kExitDone;
  if (outcome.kind == supervisors::ArgumentParser::Outcome::kWrong)
    return supervisors::complain(outcome.text, supervisors::kExitUsage);
  if (options.members == 0) return demo::Demo(options).run();
  demo::ClusterDemoOptions ofSet{.once = options.once, .folder = options.dbPath, .members = options.members};
  if (program.given("--port")) ofSet.port = options.port;
  return demo::runClusterDemo(ofSet);
}
