#pragma once
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "actors/kernel/actor.hpp"
#include "actors/kernel/node.hpp"
#include "messaging/schemas/supervision.capnp.h"
#include "supervisors/supervision/supervision_policy.hpp"
#include "supervisors/supervision/tree.hpp"

namespace troupe::supervisors {

/// An operator's action on an actor in the tree.
enum class ControlAction { kRestart, kPark, kResume, kStop, kTrace, kUntrace };

/// A child to be added to a running supervisor (local payload). Answered with `schema::ChildControlled`, or
/// IllegalOperation if the name is taken.
struct AddChild {
  ChildSpec spec;
};

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
  /// State of a child beyond the policy.
  struct Shell {
    Address address;
    std::shared_ptr<LiveRow> row;  ///< kept between two lives
    TimerId grace = 0, retry = 0;
    bool awaitsName = false;  ///< starts when the bearer of its name has ended, which an earlier life has left behind
  };

  void perform(SupervisionPolicy::Actions actions);
  void carryOut(const SupervisionPolicy::StartChild& start);
  void carryOut(const SupervisionPolicy::RequestStop& stop);
  void carryOut(const SupervisionPolicy::KillAfterGrace& kill);
  void carryOut(const SupervisionPolicy::Kill& kill);
  void carryOut(const SupervisionPolicy::RetryAfter& retry);
  void carryOut(const SupervisionPolicy::AllReady&) { ready(); }
  void carryOut(const SupervisionPolicy::End& end) { stop(end.reason); }
  void enter(size_t child);
  void heard(const Down& down);
  void childEnded(const Down& down);
  void addChild(const AddChild& wanted, Context& context);
  void control(schema::ControlChild::Reader wanted, Context& context);
  void answer(Context& context, size_t child) const;
  /// Shows in the tree what the child cannot show itself: that it is pausing, parked or stopped.
  void show(size_t child);
  std::optional<size_t> find(const Address& child) const;

  Tree tree_;
  SupervisionPolicy policy_;
  std::vector<Shell> shells_;
  std::deque<SupervisionPolicy::Action> pending_;
  bool performing_ = false;
};

/// Starts a tree; its root's path is "/<tree.name>".
Address startTree(Node& node, Tree tree);
/// Stops a tree in order and waits until all of it has ended; false if its root still lives after `patience`.
Task<bool> stopTree(Node& node, Address root, Duration patience);
/// Carries out an operator's action on the actor of that path, through its supervisor. `node` outlives the task. Fails
/// with NoSuchKey for an unknown path, IllegalOperation if the actor has no supervisor or its state does not allow it.
Task<Status> controlActor(Node& node, std::string path, ControlAction action, std::string reason);
/// The action of that name as operators write it: "restart", "park", "resume", "trace", "untrace".
std::optional<ControlAction> controlActionOf(std::string_view name);
/// `controlActor` by the action's name. Errors: also BadValue.
Task<Status> controlByName(Node& node, std::string path, std::string action, std::string reason);

}  // namespace troupe::supervisors
