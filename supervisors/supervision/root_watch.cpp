#include "supervisors/supervision/root_watch.hpp"

#include "supervisors/supervision/supervisor.hpp"

namespace troupe::supervisors {

namespace {

using ReadyPromise = std::shared_ptr<Promise<Status>>;

class RootWatch final : public Actor {
 public:
  RootWatch(Tree tree, ReadyPromise ready, std::function<void(const Status&)> ended)
      : tree_(std::move(tree)), ready_(std::move(ready)), ended_(std::move(ended)) {}

  Behaviour behaviour() override {
    return {on<ChildReady>([this](const ChildReady&) { settle(Status::OK()); }), on<Down>([this](const Down& down) {
              settle(down.reason.isOK() ? Status(ErrorCode::kShutdownInProgress, "the tree was stopped") : down.reason);
              ended_(down.reason);
            })};
  }

  void onStart() override {
    setPhase("watching", "the root of the tree");
    failures_ = node().registry().subscribe([ready = ready_](const RowChange& change) {
      if (change.kind == RowChange::kFailed)
        ready->set(Status(ErrorCode::kInternalError, change.path + " could not start: " + change.detail));
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
  std::shared_ptr<void> failures_;
};

}  // namespace

StartedTree startWatchedTree(Node& node, Tree tree, std::function<void(const Status&)> ended) {
  auto ready = std::make_shared<Promise<Status>>();
  StartedTree started{node.address("/" + tree.name), ready->future()};
  node.spawn<RootWatch>("/root-watch", std::move(tree), ready, std::move(ended));
  return started;
}

}  // namespace troupe::supervisors
