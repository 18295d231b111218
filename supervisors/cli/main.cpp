#include <csignal>
#include <exception>
#include <iostream>

#include "messaging/version.hpp"
#include "supervisors/cli/command_line.hpp"

using namespace troupe;
using namespace troupe::supervisors;

int main(int argc, char** argv) {
  ArgumentParser program(
      "The command line of Troupe, a document database: moves data in and out of a server and shows the actors at work "
      "in it.",
      "troupe");
  program.version("troupe " + std::string(kTroupeVersion));
  program.footer(
      "`troupe COMMAND --help` describes a command. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no server.");
  for (const auto add : {addImport, addExport, addPing, addStatus, addRs, addSessions, addTree, addTop, addActor,
                         addHistory, addCluster, addSim})
    add(program);
  if (argc == 1) return std::cerr << program.help(), kExitUsage;
  const auto outcome = program.parse(argc, argv);
  if (outcome.kind == ArgumentParser::Outcome::kTell) return std::cout << outcome.text, kExitDone;
  if (outcome.kind == ArgumentParser::Outcome::kWrong) return complain(outcome.text, kExitUsage);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return program.chosen()->run();
  } catch (const std::exception& e) {
    return complain(e.what());
  }
}
