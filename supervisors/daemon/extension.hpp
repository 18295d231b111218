#pragma once
#include <span>
#include <vector>

#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"  // what commands work with
#include "supervisors/tree/service.hpp"

namespace troupe::supervisors {

/// Additions to the daemon by programs built on Troupe; docs/extending.md builds one.
struct Extension {
  std::vector<Service> services;                   ///< on every node, under /node/services
  std::span<const server::Command> commands = {};  ///< for drivers; static
};

}  // namespace troupe::supervisors
