#pragma once
#include <string>

#include "actors/server/command.hpp"

namespace troupe::supervisors {

/// docs/commands.md as Markdown, from the table that the server runs: each command with its line of help, what it needs
/// permission for, and its arguments.
std::string commandsPage(const server::CommandTable& table);

}  // namespace troupe::supervisors
