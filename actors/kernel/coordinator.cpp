#include "actors/kernel/coordinator.hpp"

#include <caf/group.hpp>
#include <caf/mailbox_element.hpp>

namespace troupe {

KernelConfig::KernelConfig(Pool& p) : pool(p) {
  load<Coordinator>();
  set("logger.inline-output", true);
}

void NoClock::schedule_message(time_point, caf::strong_actor_ptr, caf::mailbox_element_ptr) {}
void NoClock::schedule_message(time_point, caf::group, caf::strong_actor_ptr, caf::message) {}

Coordinator::Coordinator(caf::actor_system& system)
    : caf::scheduler::abstract_coordinator(system), pool_(static_cast<const KernelConfig&>(system.config()).pool) {
  pool_.setSystem(&system);
}

caf::actor_system::module* Coordinator::make(caf::actor_system& system, caf::detail::type_list<>) {
  return new Coordinator(system);
}

void Coordinator::stop() {
  pool_.drain();
  pool_.runLeftovers();
}

}  // namespace troupe
