#pragma once
#include <caf/detail/simple_actor_clock.hpp>

#include <memory>
#include <mutex>

#include "actors/environment/environment.hpp"

namespace troupe {

/// The clock of CAF's own actors (request timeouts, delayed messages, `after`), on the environment's time and timers,
/// so that virtual time moves it too. One timer of the environment is armed for the earliest of them. Thread-safe.
class KernelClock final : public caf::detail::simple_actor_clock {
 public:
  explicit KernelClock(Environment& environment);
  ~KernelClock() override;
  /// Cancels all timers; none fires any more.
  void stop();

  time_point now() const noexcept override { return environment_.now(); }
  void set_ordinary_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type, uint64_t id) override;
  void set_multi_timeout(time_point t, caf::abstract_actor* self, caf::atom_value type, uint64_t id) override;
  void set_request_timeout(time_point t, caf::abstract_actor* self, caf::message_id id) override;
  void cancel_ordinary_timeout(caf::abstract_actor* self, caf::atom_value type) override;
  void cancel_request_timeout(caf::abstract_actor* self, caf::message_id id) override;
  void cancel_timeouts(caf::abstract_actor* self) override;
  void schedule_message(time_point t, caf::strong_actor_ptr receiver, caf::mailbox_element_ptr content) override;
  void schedule_message(time_point t, caf::group target, caf::strong_actor_ptr sender, caf::message content) override;
  void cancel_all() override;

 private:
  /// State shared with armed timers: one may fire while the clock goes away.
  struct Link {
    std::mutex mutex;
    KernelClock* clock;
  };
  template <class F>
  void change(F&& body);
  void arm();
  void fire();

  Environment& environment_;
  std::shared_ptr<Link> link_;
  std::recursive_mutex mutex_;  ///< what a timeout is delivered to may end there, and cancel its other timeouts
  TimerId timer_ = 0;
  time_point armedFor_ = time_point::max();
};

}  // namespace troupe
