#pragma once
#include <caf/actor_clock.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include "actors/kernel/pool.hpp"

namespace troupe {

/// CAF's configuration for one node: hands the pool to the coordinator.
class KernelConfig final : public caf::actor_system_config {
 public:
  explicit KernelConfig(Pool& pool);
  Pool& pool;
};

/// The kernel keeps its timers in the environment; CAF's own clock is never used.
class NoClock final : public caf::actor_clock {
 public:
  void set_ordinary_timeout(time_point, caf::abstract_actor*, caf::atom_value, uint64_t) override {}
  void set_multi_timeout(time_point, caf::abstract_actor*, caf::atom_value, uint64_t) override {}
  void set_request_timeout(time_point, caf::abstract_actor*, caf::message_id) override {}
  void cancel_ordinary_timeout(caf::abstract_actor*, caf::atom_value) override {}
  void cancel_request_timeout(caf::abstract_actor*, caf::message_id) override {}
  void cancel_timeouts(caf::abstract_actor*) override {}
  void schedule_message(time_point, caf::strong_actor_ptr, caf::mailbox_element_ptr) override;
  void schedule_message(time_point, caf::group, caf::strong_actor_ptr, caf::message) override;
  void cancel_all() override {}
};

/// CAF's scheduler, on the node's pool.
class Coordinator final : public caf::scheduler::abstract_coordinator {
 public:
  explicit Coordinator(caf::actor_system& system);
  static caf::actor_system::module* make(caf::actor_system& system, caf::detail::type_list<>);
  void enqueue(caf::resumable* actor) override { pool_.submit({actor, {}, {}}); }
  bool detaches_utility_actors() const override { return false; }
  caf::actor_clock& clock() noexcept override { return clock_; }
  // CAF's printer is not wanted, so the base class's start is not called.
  void start() override {}
  void stop() override;

 private:
  Pool& pool_;
  NoClock clock_;
};

}  // namespace troupe
