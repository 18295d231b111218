#pragma once
#include <span>

#include "actors/server/command.hpp"

namespace troupe::commands {

/// Adds an extension's commands to the table of the process (builtinCommands). From `main`, before anything has looked
/// at the table; later it throws std::logic_error. What the span refers to is there until the process ends. A name that
/// the server has already stays the server's.
void addCommands(std::span<const Command> commands);

}  // namespace troupe::commands
