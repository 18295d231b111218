#pragma once
#include <span>

#include "actors/server/command.hpp"

namespace troupe::commands {

/// Every command of this server, and an extension's: `more` is static. A name that the server has already stays the
/// server's. A node keeps its table in its ServerContext.
server::CommandTable makeCommandTable(std::span<const server::Command> more = {});

}  // namespace troupe::commands
