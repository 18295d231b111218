#include "actors/kernel/hosted_caf_actor.hpp"

#include <caf/actor_cast.hpp>
#include <caf/exit_reason.hpp>
#include <caf/make_actor.hpp>
#include <caf/monitorable_actor.hpp>
#include <caf/send.hpp>

#include "actors/kernel/caf_messages.hpp"
#include "actors/kernel/node.hpp"

namespace troupe {

namespace {

/// The hosted actor has ended. Its id tells it from the one before, whose end may be told late.
struct HostedEnded {
  caf::actor_id id;
  Status reason;
};

/// Receives the one answer to a request. The request holds it; when that is dropped unanswered, so is the duty, whose
/// destruction answers with an error.
class ReplyReceiver final : public caf::monitorable_actor {
 public:
  ReplyReceiver(caf::actor_config& config, ReplyDuty duty, std::shared_ptr<std::atomic<int64_t>> owed)
      : caf::monitorable_actor(config), duty_(std::move(duty)), owed_(std::move(owed)) {
    owed_->fetch_add(1, std::memory_order_relaxed);
  }
  ~ReplyReceiver() override { owed_->fetch_sub(1, std::memory_order_relaxed); }

  using caf::monitorable_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    if (!what->mid.is_response()) return;
    caf::message answer = what->move_content_to_message();
    if (answer.match_elements<caf::error>()) duty_.complete(fromCafError(answer.get_as<caf::error>(0)));
    else duty_.complete(fromCafMessage(std::move(answer)));
  }

 private:
  ReplyDuty duty_;
  std::shared_ptr<std::atomic<int64_t>> owed_;
};

/// OK for an actor that ended by itself or was asked to end; otherwise its failure.
Status reasonOf(const caf::error& reason) {
  if (reason == caf::exit_reason::normal || reason == caf::exit_reason::user_shutdown) return {};
  return fromCafError(reason);
}

}  // namespace

Behaviour HostedCafActor::behaviour() {
  Behaviour handlers{on<HostedEnded>([this](const HostedEnded& ended) {
    if (hosted_ && hosted_.id() == ended.id) stop(ended.reason);
  })};
  handlers.otherwise([this](Context& context) { forward(context); });
  return handlers;
}

void HostedCafActor::onStart() {
  hosted_ = spawn_(node().cafSystem());
  if (!hosted_) throw std::runtime_error("no actor was spawned");
  // Runs where the hosted actor ends, on a thread of the pool or within this very call if it has ended already.
  hosted_->attach_functor([&node = node(), self = self(), id = hosted_.id()](const caf::error& reason) {
    node.tell(self, local(HostedEnded{id, reasonOf(reason)}), Priority::kHigh);
  });
}

void HostedCafActor::onStopRequested() { caf::anon_send_exit(hosted_, caf::exit_reason::user_shutdown); }

void HostedCafActor::onStop(const Status&) {
  if (hosted_) caf::anon_send_exit(hosted_, caf::exit_reason::kill);
  hosted_ = nullptr;
}

bson::Document HostedCafActor::describe() const {
  return bson::doc("cafActor", hosted_ ? static_cast<int64_t>(hosted_.id()) : int64_t{0}, "forwarded", forwarded_,
                   "answersOwed", owed_->load(std::memory_order_relaxed));
}

void HostedCafActor::forward(Context& context) {
  ++forwarded_;
  Envelope envelope = context.release();
  caf::message message = toCafMessage(envelope.payload);
  const auto priority = envelope.priority == Priority::kHigh ? caf::message_id::urgent_message_category
                                                             : caf::message_id::normal_message_category;
  if (!envelope.reply) {
    const auto sender = caf::actor_cast<caf::strong_actor_ptr>(node().handleOf(envelope.from));
    hosted_->enqueue(sender, caf::message_id(0).with_category(priority), std::move(message), nullptr);
    return;
  }
  auto& system = node().cafSystem();
  caf::actor_config config;
  auto receiver = caf::make_actor<ReplyReceiver, caf::strong_actor_ptr>(system.next_actor_id(), system.node(), &system,
                                                                        config, std::move(envelope.reply), owed_);
  // A receiver gets one answer, so that all requests may have the same id.
  hosted_->enqueue(std::move(receiver), caf::message_id(1).with_category(priority), std::move(message), nullptr);
}

}  // namespace troupe
