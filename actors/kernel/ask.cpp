#include "actors/kernel/ask.hpp"

namespace troupe {

namespace {

/// A copyable reference to a reference-counted state, for timer actions.
template <class State>
class Reference {
 public:
  explicit Reference(State* state) : state_(state) { state_->retain(); }
  Reference(const Reference& other) : Reference(other.state_) {}
  Reference& operator=(const Reference&) = delete;
  ~Reference() { state_->release(); }
  State* operator->() const { return state_; }

 private:
  State* state_;
};

class AskState final : public detail::FutureState<Answer>, public ReplySink {
 public:
  AskState(Environment& environment, std::shared_ptr<LiveRow> row) : environment_(environment), row_(std::move(row)) {
    if (row_) row_->pendingAsks.fetch_add(1, std::memory_order_relaxed);
  }

  void armTimer(TimePoint deadline, const Address& to) {
    timer_ = environment_.schedule(deadline, [self = Reference(this), to] {
      self->settle(Status(ErrorCode::kExceededTimeLimit, to.toString() + " did not answer in time"));
    });
  }
  void complete(StatusWith<Payload> answer) noexcept override {
    if (timer_) environment_.cancel(timer_);
    settle(std::move(answer));
    release();
  }

 private:
  void settle(Answer answer) noexcept {
    // Before completing: the continuation may read the row.
    const auto row = row_;
    if (row && !counted_.test_and_set()) row->pendingAsks.fetch_sub(1, std::memory_order_relaxed);
    FutureState::complete(std::move(answer));
  }

  Environment& environment_;
  const std::shared_ptr<LiveRow> row_;
  TimerId timer_ = 0;
  std::atomic_flag counted_;
};

class SleepState final : public detail::FutureState<Done> {
 public:
  static Future<Done> until(Environment& environment, TimePoint when) {
    auto* state = new SleepState(environment);
    // The future, which alone reads the timer, is not there yet: the timer may fire before it is noted.
    state->timer_ = environment.schedule(when, [self = Reference(state)] { self->complete(Done{}); });
    return Future<Done>(state);
  }

 private:
  explicit SleepState(Environment& environment) : environment_(environment) {}
  void dropped() noexcept override { environment_.cancel(timer_); }

  Environment& environment_;
  TimerId timer_ = 0;
};

}  // namespace

Future<Answer> sendAsk(PostOffice& office, Environment& environment, Envelope envelope, Duration timeout,
                       std::shared_ptr<LiveRow> row) {
  auto* state = new AskState(environment, std::move(row));
  envelope.kind = MessageKind::kAsk;
  if (timeout != kNoTimeout) {
    envelope.deadline = environment.now() + timeout;
    state->armTimer(envelope.deadline, envelope.to);
  }
  state->retain();  // for the sink
  envelope.reply = ReplyDuty(state);
  office.send(std::move(envelope));
  return Future<Answer>(state);
}

Future<Done> sleepUntil(Environment& environment, TimePoint when) { return SleepState::until(environment, when); }

}  // namespace troupe
