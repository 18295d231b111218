#include <caf/actor_cast.hpp>
#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/intrusive/lifo_inbox.hpp>
#include <caf/intrusive/singly_linked.hpp>
#include <caf/make_actor.hpp>
#include <caf/monitorable_actor.hpp>
#include <caf/resumable.hpp>

#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>

#include "actors/kernel/actor_cell.hpp"
#include "actors/kernel/caf_messages.hpp"
#include "actors/kernel/node_impl.hpp"
#include "actors/kernel/order.hpp"

namespace troupe {

namespace {

class CafCell;

/// An entry of an actor's mailbox. Destroyed unhandled, it sends its asker an error.
class Element : public caf::intrusive::singly_linked<Element> {
 public:
  explicit Element(bool isUrgent) : urgent(isUrgent) {}
  virtual ~Element() = default;
  /// On the actor's turn.
  virtual void run(CafCell& cell) noexcept = 0;
  const bool urgent;
};

struct InboxPolicy {
  using mapped_type = Element;
  using unique_pointer = std::unique_ptr<Element>;
};
using Inbox = caf::intrusive::lifo_inbox<InboxPolicy>;

/// First in, first out, linked through the elements.
class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  ~Queue() { clear(); }
  bool empty() const { return !first_; }
  void add(Element* element) {
    element->next = nullptr;
    (last_ ? last_->next : first_) = element;
    last_ = element;
  }
  std::unique_ptr<Element> take() {
    auto* element = static_cast<Element*>(first_);
    first_ = element->next;
    if (!first_) last_ = nullptr;
    return std::unique_ptr<Element>(element);
  }
  void clear() {
    while (!empty()) take();
  }

 private:
  Element::node_pointer first_ = nullptr, last_ = nullptr;
};

/// Calls a thread that has nothing to do; a call that comes first is kept. A std::binary_semaphore would yield the
/// processor a dozen times before it sleeps, which costs a busy machine more than the sleep.
class WakeUp {
 public:
  void call() {
    {
      const std::lock_guard lock(mutex_);
      called_ = true;
    }
    condition_.notify_one();
  }
  void await() {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [this] { return called_; });
    called_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool called_ = false;
};

/// Answers the request of a CAF actor, as the asked actor.
class CafReply final : public ReplySink {
 public:
  CafReply(caf::strong_actor_ptr asker, caf::message_id response, caf::strong_actor_ptr self)
      : asker_(std::move(asker)), response_(response), self_(std::move(self)) {}
  void complete(StatusWith<Payload> answer) noexcept override {
    auto message = answer.isOK() ? toCafMessage(*answer) : caf::make_message(toCafError(answer.status()));
    asker_->enqueue(caf::make_mailbox_element(std::move(self_), response_, {}, std::move(message)), nullptr);
    delete this;
  }

 private:
  caf::strong_actor_ptr asker_;
  caf::message_id response_;
  caf::strong_actor_ptr self_;
};

/// An actor of the kernel is a CAF actor on CAF's scheduler, with a mailbox of its own. It is no `scheduled_actor`: the
/// mailbox, streams, behaviour stacks and response tables of that class would take a kilobyte an actor, unused.
class CafCell final : public caf::monitorable_actor, public caf::resumable, public ActorCell {
 public:
  CafCell(caf::actor_config& config, Node& node, Node::Impl& impl, Address self, std::unique_ptr<Actor> actor,
          const SpawnOptions& options)
      : caf::monitorable_actor(config), ActorCell(node, std::move(self), std::move(actor), options), impl_(impl) {
    // Nobody holds handles: the actor keeps itself until it has ended.
    retain();
    impl_.addCell(this);
    impl_.office.add(ActorCell::self(), this);
  }
  ~CafCell() override { orderAfter(this); }

  /// Its first turn. `alone`: on a thread of its own.
  void launch(bool alone) {
    if (!alone) return schedule();
    wake_ = std::make_unique<WakeUp>();
    impl_.system->inc_detached_threads();
    retain();
    std::thread([this] { runAlone(); }).detach();
  }

  // Mailbox, executor, timers: from any thread.
  bool deliver(Envelope& envelope) noexcept override {
    if (inbox_.closed()) return false;
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
  void release() noexcept override {
    orderBefore(this);
    caf::intrusive_ptr_release(ctrl());
  }

  // CAF's interface of a resumable.
  resume_result resume(caf::execution_unit*, size_t messages) override {
    // One turn in eight is timed: two clock readings would be a tenth of a short turn.
    if ((++turns_ & 7) != 0) return takeTurn(messages);
    const auto live = row();
    const auto before = std::chrono::steady_clock::now();
    const auto result = takeTurn(messages);
    live->busyNanos.fetch_add((std::chrono::steady_clock::now() - before).count() * 8, std::memory_order_relaxed);
    return result;
  }
  void intrusive_ptr_add_ref_impl() override { retain(); }
  void intrusive_ptr_release_impl() override { release(); }
  const char* name() const override { return "troupe"; }
  using caf::monitorable_actor::enqueue;
  /// Makes an envelope of a CAF actor's message; any thread. A cell neither monitors nor asks through CAF itself, so
  /// down messages and responses are dropped.
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    caf::message content = what->move_content_to_message();
    if (content.match_elements<caf::exit_msg>()) return onExit(content.get_as<caf::exit_msg>(0).reason);
    if (what->mid.is_response() || content.match_elements<caf::down_msg>()) return;
    Envelope envelope;
    envelope.to = self();
    if (const auto* sender = dynamic_cast<const CafCell*>(what->sender ? what->sender->get() : nullptr))
      envelope.from = sender->self();
    envelope.payload = fromCafMessage(std::move(content));
    envelope.priority = what->mid.is_urgent_message() ? Priority::kHigh : Priority::kNormal;
    envelope.enqueuedAtMs = ageStamp(environment().coarseNow());
    if (what->sender && what->mid.is_request()) {
      envelope.kind = MessageKind::kAsk;
      envelope.reply = ReplyDuty(new CafReply(what->sender, what->mid.response_id(), caf::strong_actor_ptr(ctrl())));
    }
    if (!deliver(envelope))
      envelope.reply.complete(Status(ErrorCode::kNoSuchKey, "there is no actor " + self().toString()));
  }

 private:
  struct EnvelopeElement final : Element {
    explicit EnvelopeElement(Envelope&& e) : Element(e.priority == Priority::kHigh), envelope(std::move(e)) {}
    void run(CafCell& cell) noexcept override { cell.onEnvelope(std::move(envelope)); }
    Envelope envelope;
  };
  struct WakeElement final : Element {
    explicit WakeElement(std::coroutine_handle<> c) : Element(false), coroutine(c) {}
    void run(CafCell&) noexcept override { coroutine.resume(); }
    std::coroutine_handle<> coroutine;
  };
  struct TimerElement final : Element {
    explicit TimerElement(TimerId t) : Element(false), timer(t) {}
    void run(CafCell& cell) noexcept override { cell.onTimer(timer); }
    TimerId timer;
  };
  struct EndElement final : Element {
    EndElement(bool o, Status r) : Element(true), inOrder(o), reason(std::move(r)) {}
    void run(CafCell& cell) noexcept override { cell.onEnd(inOrder, reason); }
    bool inOrder;
    Status reason;
  };

  /// As CAF's actors do by default: a normal end of one it is linked to is no reason to end.
  void onExit(const caf::error& reason) noexcept {
    if (reason == caf::exit_reason::normal) return;
    if (reason == caf::exit_reason::user_shutdown) return requestEnd(true, {});
    requestEnd(false, fromCafError(reason));
  }

  void push(Element* element) noexcept {
    if (inbox_.push_front(element) != caf::intrusive::inbox_result::unblocked_reader) return;
    if (wake_) wake_->call();
    else schedule();
  }
  void schedule() noexcept {
    retain();  // given back when the turn is over
    impl_.pool->submit({this, {}, {}});
  }

  resume_result takeTurn(size_t messages) noexcept {
    if (!std::exchange(started_, true)) {
      onStarted();
      if (isEnding()) return end();
    }
    for (size_t handled = 0; handled < messages; ++handled) {
      auto element = next();
      if (!element) break;
      element->run(*this);
      if (isEnding()) return end();
    }
    return urgent_.empty() && normal_.empty() && inbox_.try_block() ? awaiting_message : resume_later;
  }

  /// Urgent entries first. Null if the mailbox is empty.
  std::unique_ptr<Element> next() noexcept {
    if (!inbox_.empty()) fetch();
    if (!urgent_.empty()) return urgent_.take();
    return normal_.empty() ? nullptr : normal_.take();
  }
  /// Reverses the inbox, which holds the newest message first.
  void fetch() noexcept {
    Element::node_pointer oldest = nullptr;
    for (Element::node_pointer each = inbox_.take_head(); each;) {
      const auto older = each->next;
      each->next = oldest;
      oldest = each;
      each = older;
    }
    while (oldest) {
      auto* element = static_cast<Element*>(oldest);
      oldest = oldest->next;
      (element->urgent ? urgent_ : normal_).add(element);
    }
  }

  resume_result end() noexcept {
    const Status reason = ended();
    inbox_.close();
    if (reason.isOK()) cleanup(caf::exit_reason::normal, nullptr);
    else cleanup(toCafError(reason), nullptr);
    urgent_.clear();
    normal_.clear();
    impl_.removeCell(this);
    release();
    return done;
  }

  void runAlone() noexcept {
    auto& system = *impl_.system;
    for (;;) {
      const auto result = resume(nullptr, std::numeric_limits<size_t>::max());
      if (result == done) break;
      if (result == awaiting_message) wake_->await();
    }
    release();
    system.dec_detached_threads();
  }

  Node::Impl& impl_;
  Inbox inbox_;
  Queue urgent_, normal_;         ///< messages taken out of the inbox; used by the running turn only
  std::unique_ptr<WakeUp> wake_;  ///< of an actor with its own thread
  uint32_t turns_ = 0;
  bool started_ = false;
};

}  // namespace

caf::actor handleOfCell(Mailbox& mailbox) {
  return caf::actor_cast<caf::actor>(caf::strong_actor_ptr(static_cast<CafCell&>(mailbox).ctrl()));
}

void launchCell(Node& node, Node::Impl& impl, Address self, std::unique_ptr<Actor> actor, const SpawnOptions& options) {
  caf::actor_config config;
  auto& system = *impl.system;
  const auto made = caf::make_actor<CafCell, caf::strong_actor_ptr>(
      system.next_actor_id(), system.node(), &system, config, node, impl, std::move(self), std::move(actor), options);
  auto* const cell = static_cast<CafCell*>(made->get());
  if (options.watched) node.postOffice().watch(options.parent, cell->ActorCell::self());
  cell->launch(options.detached && !impl.options.manual);
}

}  // namespace troupe
