#include "supervisors/daemon/daemon.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <iostream>
#include <utility>

#include "actors/commands/builtin.hpp"
#include "actors/server/version.hpp"
#include "supervisors/daemon/commands_page.hpp"
#include "supervisors/daemon/options.hpp"
#include "supervisors/daemon/server.hpp"

namespace troupe::supervisors {

namespace {

void listCommands(const server::CommandTable& table) {
  for (const auto* command : table.all()) {
    std::printf("%-26s %s\n", std::string(command->name).c_str(), std::string(command->summary).c_str());
  }
}

/// Data, journal and log hold what clients store and ask for: whatever the process makes is its own user's alone. Only
/// the local socket is given the permissions that its option names.
constexpr mode_t kNothingForOthers = 077;

/// Serves until it is told to stop, or mends the data directory.
int serve(Options options, Extension extension) {
  umask(kNothingForOthers);
  blockSignals();
  const bool repair = options.repair;
  Server server(std::move(options), std::move(extension));
  Status status = repair ? server.repair() : server.start();
  const FailedWhile when = status.isOK() ? FailedWhile::kRunning : FailedWhile::kStarting;
  if (!status.isOK()) server.logFailure(status);
  if (status.isOK() && !repair) status = server.waitForStop();
  server.stop();
  if (!status.isOK()) std::cerr << "trouped: " << status.reason() << "\n";
  return status.isOK() ? 0 : exitCodeFor(status, when);
}

}  // namespace

int runDaemon(int argc, char** argv, Extension extension) {
  auto options = parseOptions(argc, argv);
  if (!options.isOK()) {
    std::cerr << "trouped: " << options.status().reason() << "\n";
    return 2;
  }
  if (!options->help.empty()) return std::cout << options->help, 0;
  if (options->showVersion)
    return std::cout << "trouped " << server::kTroupeVersion << " (speaks as server " << server::kServerVersion
                     << ")\n",
           0;
  if (options->listCommands) return listCommands(commands::makeCommandTable(extension.commands)), 0;
  if (options->commandsPage) return std::cout << commandsPage(commands::makeCommandTable(extension.commands)), 0;
  if (options->optionsPage) return std::cout << optionsPage(), 0;
  return serve(std::move(*options), std::move(extension));
}

}  // namespace troupe::supervisors
