#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <iostream>

#include "actors/commands/version.hpp"
#include "supervisors/cli/command_line.hpp"

using namespace troupe;
using namespace troupe::supervisors;

int main(int argc, char** argv) {
  CLI::App app{
      "The command line of Troupe, a document database: moves data in and out of a server and shows the actors at work "
      "in it.",
      "troupe"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "troupe " + std::string(commands::kTroupeVersion));
  app.set_help_all_flag("--help-all", "the help of every command");
  app.footer("`troupe COMMAND --help` describes a command. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no server.");
  Action action;
  for (const auto add : {addDemo, addImport, addExport, addPing, addStatus, addTree, addTop, addActor, addSim})
    add(app, action);
  const auto all = app.get_subcommands([](CLI::App*) { return true; });
  const auto isNamed = [&](const CLI::App* command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && std::none_of(all.begin(), all.end(), isNamed))
    return complain("there is no command '" + std::string(argv[1]) + "'; `troupe --help` lists them", kExitUsage);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    if (argc == 1) return std::cerr << app.help(), kExitUsage;
    std::cerr << "troupe: " << e.what() << "; see `troupe "
              << (app.get_subcommands().empty() ? "" : app.get_subcommands().front()->get_name() + " ") << "--help`\n";
    return kExitUsage;
  }
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return action();
  } catch (const std::exception& e) {
    return complain(e.what());
  }
}
