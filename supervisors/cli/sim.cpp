#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/server_process.hpp"

namespace troupe::supervisors {

namespace {

/// The simulator is a program of its own, so that this one does without the parts for tests.
int becomeSimulator(const std::vector<std::string>& arguments) {
  const auto program = findProgram("troupe-sim");
  if (!program.isOK()) return complain(program.status());
  std::vector<char*> argv{const_cast<char*>(program->c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(argv[0], argv.data());
  return complain("cannot run " + *program + ": " + std::strerror(errno));
}

}  // namespace

void addSim(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("sim", "runs clusters in one process on virtual time, with faults, from a seed");
  command->set_help_flag();  // its help is that of the simulator
  command->set_help_all_flag();
  command->prefix_command();
  command->callback([command, &action] {
    action = [arguments = command->remaining()] { return becomeSimulator(arguments); };
  });
}

}  // namespace troupe::supervisors
