#pragma once
#include <functional>
#include <memory>
#include <string>

#include "actors/kernel/node.hpp"
#include "actors/kernel/task.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::replication {

/// Runs work that blocks for long on a thread of its own, as the actor `path`, or another one beside it while that name
/// is taken. The work owns what it needs: it goes on when the waiting task has gone. On a manual node it is a turn like
/// others. Errors: those of `work`; InternalError when it threw.
Task<Status> runDetached(Node& node, std::string path, std::function<Status()> work);
/// Begins it at once, to be awaited later, or never.
Future<Status> beginDetached(Node& node, const std::string& path, std::function<Status()> work);

}  // namespace troupe::replication
