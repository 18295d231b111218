#pragma once
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include "actors/kernel/kernel_clock.hpp"
#include "actors/kernel/pool.hpp"

namespace troupe {

/// CAF's configuration for one node: hands the pool and the environment to the coordinator.
class KernelConfig final : public caf::actor_system_config {
 public:
  KernelConfig(Pool& pool, Environment& environment);
  Pool& pool;
  Environment& environment;
};

/// CAF's scheduler, on the node's pool.
class Coordinator final : public caf::scheduler::abstract_coordinator {
 public:
  explicit Coordinator(caf::actor_system& system);
  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>);
  void enqueue(caf::resumable* actor) override { pool_.submit({actor, {}, {}}); }
  bool detaches_utility_actors() const override { return false; }
  caf::actor_clock& clock() noexcept override { return clock_; }
  /// Starts what CAF prints with. The base class would start an actor with a thread of its own, for standard output.
  void start() override;
  void stop() override;

 private:
  Pool& pool_;
  KernelClock clock_;
};

}  // namespace troupe
