#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/find_program.hpp"

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

void addSim(ArgumentParser& program) {
  auto arguments = std::make_shared<std::vector<std::string>>();
  auto& command = program.command("sim", "runs clusters in one process on virtual time, with faults, from a seed",
                                  [arguments] { return becomeSimulator(*arguments); });
  command.takesRest(*arguments);
}

}  // namespace troupe::supervisors
