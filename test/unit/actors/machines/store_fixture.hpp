#pragma once
#include <optional>
#include <utility>

#include "actors/machines/group_commit.hpp"
#include "test/unit/actors/commands/command_fixture.hpp"

namespace troupe::machines {

inline const storage::Namespace kLeases("config", "leases");

/// Runs a task on the node's pool to its end.
template <class T>
T done(commands::CommandNode& server, Task<T> task) {
  std::optional<T> result;
  auto keep = [](std::optional<T>* to, Task<T> from) -> Task<void> { to->emplace(co_await std::move(from)); };
  server.node.start(keep(&result, std::move(task)));
  for (int i = 0; !result && i < 100; ++i) server.node.advance(std::chrono::milliseconds(10));
  return std::move(*result);
}

}  // namespace troupe::machines
