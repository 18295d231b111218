#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "messaging/client/connection.hpp"
#include "messaging/errors/status.hpp"

namespace CLI {
class App;
}

namespace troupe::supervisors {

/// Exit codes of `troupe`.
enum ExitCode : int {
  kExitDone = 0,
  kExitFailed = 1,       ///< the command could not do its work, or not all of it
  kExitUsage = 2,        ///< the command line is wrong
  kExitUnreachable = 3,  ///< no server, or it refuses the log-in
};

/// What the chosen subcommand does; set while the command line is parsed.
using Action = std::function<int()>;

/// How to reach the server.
struct ServerOption {
  std::string uri = "mongodb://127.0.0.1:27017";
};
void addServerOption(CLI::App& command, ServerOption& option);

/// Connects, or says on standard error why not and what to do; the result is then empty.
std::unique_ptr<client::Connection> connectOrExplain(const ServerOption& option);

/// "troupe: ..." on standard error; gives `kExitUnreachable` for a lost connection, else `kExitFailed`.
int complain(const Status& status);
int complain(std::string_view message, int code = kExitFailed);

// The subcommands (tree, top and actor share a source, ping and status another).
void addDemo(CLI::App& app, Action& action);
void addImport(CLI::App& app, Action& action);
void addExport(CLI::App& app, Action& action);
void addTree(CLI::App& app, Action& action);
void addTop(CLI::App& app, Action& action);
void addActor(CLI::App& app, Action& action);
void addPing(CLI::App& app, Action& action);
void addStatus(CLI::App& app, Action& action);
void addSim(CLI::App& app, Action& action);

}  // namespace troupe::supervisors
