#pragma once
#include <functional>
#include <memory>
#include <string>

#include "actors/kernel/future.hpp"
#include "actors/kernel/node.hpp"
#include "supervisors/supervision/tree.hpp"

namespace troupe::supervisors {

/// A tree that was started and is watched from outside of it.
struct StartedTree {
  Address root;
  /// OK once all of it is ready. Until then the first failure of one of its children that would take the root with it,
  /// or that fails fast (ChildSpec), so that a start that cannot succeed (a port in use) is reported at once instead of
  /// being tried again and again. A child that is set aside when it fails too often is not awaited any more once it
  /// has failed; of actors below the children, such as the instances of a service, nothing is heard.
  Future<Status> ready;
};

/// Starts a tree under the eye of an actor of its own ("/root-watch"). `ended` is called, on any thread, when the root
/// ends later; `notAwaited`, on any thread as well, when a child fails that the start does not await any more.
StartedTree startWatchedTree(Node& node, Tree tree, std::function<void(const Status& reason)> ended,
                             std::function<void(const std::string& path, const std::string& why)> notAwaited = {});

}  // namespace troupe::supervisors
