#include "actors/kernel/coordinator.hpp"

#include <spdlog/spdlog.h>
#include <caf/actor_ostream.hpp>
#include <caf/make_actor.hpp>
#include <caf/monitorable_actor.hpp>

namespace troupe {

namespace {

/// Writes to the log what CAF's actors print, such as messages that they have no handler for.
class Printer final : public caf::monitorable_actor {
 public:
  explicit Printer(caf::actor_config& config) : caf::monitorable_actor(config) {}
  using caf::monitorable_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    const caf::message content = what->move_content_to_message();
    if (!content.match_elements<caf::add_atom, caf::actor_id, std::string>()) return;
    const auto actor = content.get_as<caf::actor_id>(1);
    std::lock_guard lock(mutex_);
    std::string& line = unfinished_[actor];
    line += content.get_as<std::string>(2);
    if (!line.ends_with('\n')) return;
    line.erase(line.find_last_not_of('\n') + 1);
    if (!line.empty()) spdlog::info("CAF actor {}: {}", actor, line);
    unfinished_.erase(actor);
  }

 private:
  std::mutex mutex_;
  std::map<caf::actor_id, std::string> unfinished_;  ///< CAF prints in pieces
};

}  // namespace

KernelConfig::KernelConfig(Pool& p, Environment& e) : pool(p), environment(e) {
  load<Coordinator>();
  set("logger.inline-output", true);
}

Coordinator::Coordinator(caf::actor_system& system)
    : caf::scheduler::abstract_coordinator(system),
      pool_(static_cast<const KernelConfig&>(system.config()).pool),
      clock_(static_cast<const KernelConfig&>(system.config()).environment) {
  pool_.setSystem(&system);
}

caf::actor_system::module* Coordinator::make(caf::actor_system& system, caf::detail::type_list<>) {
  return new Coordinator(system);
}

void Coordinator::start() {
  caf::actor_config config;
  auto& node = system();
  utility_actors_[printer_id] = caf::make_actor<Printer, caf::actor>(node.next_actor_id(), node.node(), &node, config);
}

void Coordinator::stop() {
  clock_.stop();
  pool_.drain();
  pool_.runLeftovers();
}

}  // namespace troupe
