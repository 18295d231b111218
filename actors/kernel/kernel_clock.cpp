#include "actors/kernel/kernel_clock.hpp"

#include <caf/group.hpp>
#include <caf/mailbox_element.hpp>

namespace troupe {

using Base = caf::detail::simple_actor_clock;

KernelClock::KernelClock(Environment& environment) : environment_(environment), link_(std::make_shared<Link>()) {
  link_->clock = this;
}

KernelClock::~KernelClock() { stop(); }

void KernelClock::stop() {
  {
    std::lock_guard lock(link_->mutex);
    link_->clock = nullptr;
  }
  std::lock_guard lock(mutex_);
  if (timer_) environment_.cancel(timer_);
  timer_ = 0;
  armedFor_ = time_point::max();
  Base::cancel_all();
}

template <class F>
void KernelClock::change(F&& body) {
  std::lock_guard lock(mutex_);
  body();
  arm();
}

void KernelClock::arm() {
  const time_point earliest = schedule().empty() ? time_point::max() : schedule().begin()->first;
  if (earliest == armedFor_) return;
  if (timer_) environment_.cancel(timer_);
  timer_ = 0;
  armedFor_ = earliest;
  if (earliest == time_point::max()) return;
  timer_ = environment_.schedule(earliest, [link = link_] {
    std::lock_guard lock(link->mutex);
    if (link->clock) link->clock->fire();
  });
}

void KernelClock::fire() {
  change([this] {
    timer_ = 0;
    armedFor_ = time_point::max();
    trigger_expired_timeouts();
  });
}

void KernelClock::set_ordinary_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type, uint64_t id) {
  change([&] { Base::set_ordinary_timeout(t, self, type, id); });
}
void KernelClock::set_multi_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type, uint64_t id) {
  change([&] { Base::set_multi_timeout(t, self, type, id); });
}
void KernelClock::set_request_timeout(time_point t, caf::abstract_actor* self, caf::message_id id) {
  change([&] { Base::set_request_timeout(t, self, id); });
}
void KernelClock::cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) {
  change([&] { Base::cancel_ordinary_timeout(self, type); });
}
void KernelClock::cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) {
  change([&] { Base::cancel_request_timeout(self, id); });
}
void KernelClock::cancel_timeouts(caf::abstract_actor* self) {
  change([&] { Base::cancel_timeouts(self); });
}
void KernelClock::schedule_message(time_point t, caf::strong_actor_ptr receiver, caf::mailbox_element_ptr content) {
  change([&] { Base::schedule_message(t, std::move(receiver), std::move(content)); });
}
void KernelClock::schedule_message(time_point t, caf::group target, caf::strong_actor_ptr sender,
                                   caf::message content) {
  change([&] { Base::schedule_message(t, std::move(target), std::move(sender), std::move(content)); });
}
void KernelClock::cancel_all() {
  change([&] { Base::cancel_all(); });
}

}  // namespace troupe
