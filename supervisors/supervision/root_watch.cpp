#include "supervisors/supervision/root_watch.hpp"

#include <set>

#include "supervisors/supervision/supervisor.hpp"

namespace troupe::supervisors {

namespace {

using ReadyPromise = std::shared_ptr<Promise<Status>>;
using NotAwaited = std::function<void(const std::string& path, const std::string& why)>;
using Paths = std::set<std::string, std::less<>>;

bool escalates(const ChildRules& rules) {
  return rules.exhausted == OnExhausted::kEscalate && rules.restart != Restart::kTemporary;
}

/// What the first failure of a child of the tree means for its start.
struct StartPaths {
  /// Ends the start: those that the root does not survive anyway if they go on failing, and those that say so. Actors
  /// that run below a child are its own affair.
  Paths fatal;
  Paths notAwaited;  ///< is told alone: they are set aside in the end, and have their restarts first
};

/// `fatal`: the tree at `path` and all trees above it escalate, so that its end is the end of the root.
void addStartPaths(const Tree& tree, const std::string& path, bool fatal, StartPaths& paths) {
  for (const ChildSpec& child : tree.children) {
    const std::string its = path + "/" + child.rules.name;
    const bool isFatal = fatal && escalates(child.rules);
    if (isFatal || child.failsFast) paths.fatal.insert(its);
    else if (child.rules.exhausted == OnExhausted::kPark) paths.notAwaited.insert(its);
    if (child.tree) addStartPaths(*child.tree, its, isFatal, paths);
  }
}

StartPaths startPathsOf(const Tree& tree) {
  StartPaths paths;
  addStartPaths(tree, "/" + tree.name, true, paths);
  return paths;
}

class RootWatch final : public Actor {
 public:
  RootWatch(Tree tree, ReadyPromise ready, std::function<void(const Status&)> ended, NotAwaited notAwaited)
      : tree_(std::move(tree)),
        ready_(std::move(ready)),
        ended_(std::move(ended)),
        notAwaited_(std::move(notAwaited)) {}

  Behaviour behaviour() override {
    return {on<ChildReady>([this](const ChildReady&) { settle(Status::OK()); }), on<Down>([this](const Down& down) {
              settle(down.reason.isOK() ? Status(ErrorCode::kShutdownInProgress, "the tree was stopped") : down.reason);
              ended_(down.reason);
            })};
  }

  void onStart() override {
    setPhase("watching", "the root of the tree");
    failures_ = node().registry().subscribe(
        [ready = ready_, paths = startPathsOf(tree_), notAwaited = notAwaited_](const RowChange& change) {
          if (change.kind != RowChange::kFailed) return;
          if (paths.fatal.contains(change.path))
            ready->set(Status(ErrorCode::kInternalError, change.path + " could not start: " + change.detail));
          else if (notAwaited && paths.notAwaited.contains(change.path)) notAwaited(change.path, change.detail);
        });
    SpawnOptions options;
    options.strategy = strategyName(tree_.strategy);
    const std::string path = "/" + tree_.name;
    spawnChild(path, std::make_unique<Supervisor>(std::move(tree_)), options);
  }

 private:
  void settle(Status status) {
    failures_.reset();
    ready_->set(std::move(status));
  }

  Tree tree_;
  ReadyPromise ready_;
  std::function<void(const Status&)> ended_;
  NotAwaited notAwaited_;
  std::shared_ptr<void> failures_;
};

}  // namespace

StartedTree startWatchedTree(Node& node, Tree tree, std::function<void(const Status&)> ended, NotAwaited notAwaited) {
  auto ready = std::make_shared<Promise<Status>>();
  StartedTree started{node.address("/" + tree.name), ready->future()};
  node.spawn<RootWatch>("/root-watch", std::move(tree), ready, std::move(ended), std::move(notAwaited));
  return started;
}

}  // namespace troupe::supervisors
