#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/node.hpp"
#include "supervisors/supervision/supervision_policy.hpp"
#include "supervisors/supervision/tree.hpp"

namespace troupe::supervisors {

/// What an operator may ask of an actor in the tree.
enum class ControlAction { kRestart, kPark, kResume, kStop, kTrace, kUntrace };

/// Keeps the children of one tree node alive: the thin shell around SupervisionPolicy. It names its children
/// "<own path>/<child>", spawns and watches them, and answers `schema::ControlChild`. It is ready when all are.
class Supervisor final : public Actor {
 public:
  explicit Supervisor(Tree tree);
  Behaviour behaviour() override;
  void onStart() override;
  void onStop(const Status& reason) override;
  void onStopRequested() override;
  bson::Document describe() const override;

 private:
  void perform(SupervisionPolicy::Actions actions);
  void startChild(size_t child);
  void childEnded(const Down& down);
  void control(Context& context, std::string_view child, int action, const std::string& reason);
  void show(size_t child);
  std::optional<size_t> find(std::string_view child) const;

  Tree tree_;
  SupervisionPolicy policy_;
  std::vector<TimerId> graceTimers_;
  std::vector<int64_t> lives_;  ///< counts starts, to tell a late message from a current one
};

/// Starts a tree; its root's path is "/<tree.name>".
Address startTree(Node& node, Tree tree);
/// Stops a tree in order and waits until all of it has ended, or `patience` is over (then false).
Task<bool> stopTree(Node& node, Address root, Duration patience);
/// Carries out an operator's action on the actor of that path, through its supervisor. NoSuchKey if there is none.
Task<Status> controlActor(Node& node, std::string path, ControlAction action, std::string reason);

}  // namespace troupe::supervisors
