#include <caf/actor_system.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/spawn_options.hpp>

#include <chrono>
#include <typeinfo>

#include "actors/kernel/actor_cell.hpp"
#include "actors/kernel/node_impl.hpp"

namespace troupe {

namespace {

/// A message of the kernel in a CAF mailbox: one allocation, no CAF message object.
class Element : public caf::mailbox_element {
 public:
  explicit Element(bool urgent)
      : caf::mailbox_element(nullptr,
                             caf::make_message_id(urgent ? caf::message_priority::high : caf::message_priority::normal),
                             {}) {}
  caf::type_erased_tuple& content() override { return nothing_; }
  const caf::type_erased_tuple& content() const override { return nothing_; }
  caf::message move_content_to_message() override { return {}; }
  caf::message copy_content_to_message() const override { return {}; }

 private:
  static caf::empty_type_erased_tuple nothing_;
};
caf::empty_type_erased_tuple Element::nothing_;

struct EnvelopeElement final : Element {
  explicit EnvelopeElement(Envelope&& e) : Element(e.priority == Priority::kHigh), envelope(std::move(e)) {}
  Envelope envelope;
};
struct WakeElement final : Element {
  explicit WakeElement(std::coroutine_handle<> c) : Element(false), coroutine(c) {}
  std::coroutine_handle<> coroutine;
};
struct TimerElement final : Element {
  explicit TimerElement(TimerId t) : Element(false), timer(t) {}
  TimerId timer;
};
struct EndElement final : Element {
  EndElement(bool o, Status r) : Element(true), inOrder(o), reason(std::move(r)) {}
  bool inOrder;
  Status reason;
};

/// An actor of the kernel is a CAF actor whose messages are the elements above.
/// It derives from `scheduled_actor` rather than `event_based_actor`: the difference is groups, which nobody needs.
class CafCell final : public caf::scheduled_actor, public caf::dynamically_typed_actor_base, public ActorCell {
 public:
  using signatures = caf::none_t;
  using behavior_type = caf::behavior;

  CafCell(caf::actor_config& config, Node& node, Node::Impl& impl, Address self, std::unique_ptr<Actor> actor,
          const SpawnOptions& options)
      : caf::scheduled_actor(config), ActorCell(node, std::move(self), std::move(actor), options), impl_(impl) {
    // Nobody holds handles: the actor keeps itself until it has ended.
    retain();
    impl_.addCell(this);
    impl_.office.add(ActorCell::self(), this);
  }

  // Mailbox, executor, timers: from any thread.
  bool deliver(Envelope& envelope) noexcept override {
    if (mailbox().closed()) return false;
    auto& live = *ActorCell::row();
    if (live.enqueued.fetch_add(1, std::memory_order_relaxed) == live.dequeued.load(std::memory_order_relaxed))
      live.oldestAtMs.store(envelope.enqueuedAtMs, std::memory_order_relaxed);
    push(new EnvelopeElement(std::move(envelope)));
    return true;
  }
  void resume(std::coroutine_handle<> coroutine) noexcept override { push(new WakeElement(coroutine)); }
  void fireTimer(TimerId timer) noexcept override { push(new TimerElement(timer)); }
  void requestEnd(bool inOrder, Status reason) noexcept override { push(new EndElement(inOrder, std::move(reason))); }
  void retain() noexcept override { caf::intrusive_ptr_add_ref(ctrl()); }
  void release() noexcept override { caf::intrusive_ptr_release(ctrl()); }

  // What CAF calls.
  resume_result resume(caf::execution_unit* unit, size_t messages) override {
    // One turn in eight is timed: two clock readings would be a tenth of a short turn.
    if ((++turns_ & 7) != 0) return caf::scheduled_actor::resume(unit, messages);
    const auto live = row();
    const auto before = std::chrono::steady_clock::now();
    const auto result = caf::scheduled_actor::resume(unit, messages);
    live->busyNanos.fetch_add((std::chrono::steady_clock::now() - before).count() * 8, std::memory_order_relaxed);
    return result;
  }
  void initialize() override {
    setf(is_initialized_flag);
    onStarted();
    // An actor without behaviour would end; this one is never asked.
    static const caf::behavior idle{[](caf::unit_t) {}};
    if (!isEnding()) do_become(idle, true);
  }
  caf::invoke_message_result consume(caf::mailbox_element& element) override {
    const auto& type = typeid(element);
    if (type == typeid(EnvelopeElement)) onEnvelope(std::move(static_cast<EnvelopeElement&>(element).envelope));
    else if (type == typeid(WakeElement)) static_cast<WakeElement&>(element).coroutine.resume();
    else if (type == typeid(TimerElement)) onTimer(static_cast<TimerElement&>(element).timer);
    else if (type == typeid(EndElement)) {
      auto& end = static_cast<EndElement&>(element);
      onEnd(end.inOrder, end.reason);
    } else return caf::scheduled_actor::consume(element);
    if (isEnding()) quit();
    return caf::invoke_message_result::consumed;
  }
  bool cleanup(caf::error&& reason, caf::execution_unit* unit) override {
    if (over_) return caf::scheduled_actor::cleanup(std::move(reason), unit);
    over_ = true;
    ended();
    // Closes the mailbox: what is left in it is answered by its destruction.
    const bool result = caf::scheduled_actor::cleanup(std::move(reason), unit);
    impl_.removeCell(this);
    release();
    return result;
  }

 private:
  void push(caf::mailbox_element* element) { enqueue(caf::mailbox_element_ptr(element), nullptr); }
  Node::Impl& impl_;
  uint32_t turns_ = 0;
  bool over_ = false;
};

}  // namespace

void launchCell(Node& node, Node::Impl& impl, Address self, std::unique_ptr<Actor> actor, const SpawnOptions& options) {
  caf::actor_config config;
  // Hidden: the node counts its actors itself.
  constexpr auto kDetached = caf::hidden + caf::detached;
  auto& system = *impl.system;
  if (options.detached && !impl.options.manual)
    system.spawn_class<CafCell, kDetached>(config, node, impl, std::move(self), std::move(actor), options);
  else
    system.spawn_class<CafCell, caf::hidden>(config, node, impl, std::move(self), std::move(actor), options);
}

}  // namespace troupe
