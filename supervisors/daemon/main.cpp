#include <cstdio>
#include <iostream>

#include "actors/commands/command.hpp"
#include "actors/commands/version.hpp"
#include "supervisors/daemon/commands_page.hpp"
#include "supervisors/daemon/options.hpp"
#include "supervisors/daemon/server.hpp"

using namespace troupe;

namespace {

void listCommands() {
  for (const auto* command : commands::builtinCommands().all()) {
    std::printf("%-26s %s\n", std::string(command->name).c_str(), std::string(command->summary).c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  auto options = supervisors::parseOptions(argc, argv);
  if (!options.isOK()) {
    std::cerr << "trouped: " << options.status().reason() << "\n";
    return 2;
  }
  if (!options->help.empty()) return std::cout << options->help, 0;
  if (options->showVersion)
    return std::cout << "trouped " << commands::kTroupeVersion << " (speaks as server " << commands::kServerVersion
                     << ")\n",
           0;
  if (options->listCommands) return listCommands(), 0;
  if (options->commandsPage) return std::cout << supervisors::commandsPage(commands::builtinCommands()), 0;
  if (options->optionsPage) return std::cout << supervisors::optionsPage(), 0;
  supervisors::blockSignals();
  supervisors::Server server(std::move(*options));
  Status status = server.start();
  if (!status.isOK()) {
    std::cerr << "trouped: " << status.reason() << "\n";
    server.stop();
    return supervisors::exitCodeFor(status);
  }
  status = server.waitForStop();
  server.stop();
  if (!status.isOK()) std::cerr << "trouped: " << status.reason() << "\n";
  return status.isOK() ? 0 : supervisors::exitCodeFor(status);
}
