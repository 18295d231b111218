#pragma once
#include <caf/actor_system.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "actors/environment/virtual_environment.hpp"
#include "actors/kernel/actor_cell.hpp"
#include "actors/kernel/coordinator.hpp"
#include "actors/kernel/node.hpp"

namespace troupe {

/// The parts of a node. Internal to the kernel.
struct Node::Impl {
  explicit Impl(NodeOptions given);

  void addCell(ActorCell* cell);
  void removeCell(ActorCell* cell);
  /// Ends all cells without asking. Those spawned meanwhile need another call.
  void killAll();

  NodeOptions options;
  std::shared_ptr<Environment> environment;
  VirtualEnvironment* virtualTime = nullptr;  ///< if the environment is one
  Registry registry;
  TransitionLog transitions;
  PostOffice office;
  AsioPool* asio = nullptr;
  ManualPool* manual = nullptr;
  std::unique_ptr<Pool> pool;
  std::optional<KernelConfig> config;
  std::optional<caf::actor_system> system;

  std::mutex cellsMutex;
  std::condition_variable cellGone;
  ActorCell* firstCell = nullptr;
  size_t cellCount = 0;
  bool over = false;
};

/// The handle of a mailbox that is a cell.
caf::actor handleOfCell(Mailbox& mailbox);

/// Makes the CAF actor around an actor, under its name, and starts it.
void launchCell(Node& node, Node::Impl& impl, Address self, std::unique_ptr<Actor> actor, const SpawnOptions& options);

}  // namespace troupe
