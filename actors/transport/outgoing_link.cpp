#include "actors/transport/outgoing_link.hpp"

#include "actors/kernel/actor_cell.hpp"
#include "actors/kernel/node.hpp"
#include "messaging/link/flat_message.hpp"
#include "messaging/log/log.hpp"
#include "messaging/schemas/link.capnp.h"

namespace troupe::link {

namespace {
int64_t micros(TimePoint t) {
  return std::chrono::duration_cast<std::chrono::microseconds>(t.time_since_epoch()).count();
}
}  // namespace

OutgoingLink::OutgoingLink(std::shared_ptr<Links> links, std::shared_ptr<Outbox> outbox)
    : LinkEnd(std::move(outbox)), links_(std::move(links)), life_(links_->settings().times) {}

Behaviour OutgoingLink::behaviour() {
  return {on<PeerLives>([this](const PeerLives&) { perform(life_.peerLives(environment().now())); })};
}

void OutgoingLink::onStart() {
  setDocument(outbox().peer(), 0);
  perform(life_.start(environment().now()));
}

void OutgoingLink::onStop(const Status&) {
  if (abandon_) abandon_();
  closeStream(closingFrame("the other node closes the link"));
  loseAll("the link was closed");
}

void OutgoingLink::perform(LinkLife::Actions actions) {
  if (actions.lost) {
    if (actions.counted) counters().reject(*actions.counted);
    if (abandon_ && progress_) actions.why += " (" + progress_() + ")";
    if (abandon_) std::exchange(abandon_, nullptr)();
    progress_ = nullptr;
    ++tries_;
    closeStream();
    counters().lost.fetch_add(1, std::memory_order_relaxed);
    setError(actions.why);
    loseAll(actions.why);
    if (auto* log = links_->settings().log; log && life_.failures() == 1)
      log->warning(log::Component::kNetwork, 7002001, "link", "A link to another node is not open",
                   bson::doc("peer", outbox().peer(), "reason", actions.why));
  }
  if (actions.connect) {
    outbox().hold();
    start(connect(++tries_));
  }
  if (actions.opened) {
    setError("");
    counters().opened.fetch_add(1, std::memory_order_relaxed);
    if (auto* log = links_->settings().log)
      log->info(log::Component::kNetwork, 7002002, "link", "A link to another node is open",
                bson::doc("peer", outbox().peer(), "authenticated", authenticated_, "encrypted", isEncrypted()));
  }
  if (actions.beat) beat();
  show();
}

void OutgoingLink::show() {
  const auto text = phaseText(life_.phase());
  setPhase(text.name, text.meaning);
  if (timer_) cancelTimer(timer_);
  timer_ = after(std::max(Duration::zero(), life_.due() - environment().now()), [this] {
    timer_ = 0;
    if (isTakingBytes()) heard();
    perform(life_.tick(environment().now(), chance()));
  });
}

void OutgoingLink::loseAll(const std::string& why) {
  const Status lost(ErrorCode::kHostUnreachable, "the link to " + outbox().peer() + " is not open: " + why);
  outbox().refuse(lost);
  node().postOffice().nodeLost(outbox().peer(), lost);
}

Task<void> OutgoingLink::connect(uint64_t tryNumber) {
  Connecting connecting = links_->settings().connect(outbox().peer());
  abandon_ = connecting.abandon;
  progress_ = connecting.progress;
  auto outcome = co_await connecting.outcome;
  if (tryNumber == tries_) {
    connected(std::move(outcome));
  } else if (outcome.isOK()) {
    (*outcome)->close();
  }
}

void OutgoingLink::connected(StatusWith<std::shared_ptr<transport::Transport>> outcome) {
  abandon_ = nullptr;
  progress_ = nullptr;
  const TimePoint now = environment().now();
  if (!outcome.isOK()) return perform(life_.lost(now, outcome.status().reason(), chance()));
  handshake_.emplace(links_->identity(), outbox().peer(), links_->settings().random);
  outbox().write(handshake_->start());
  perform(life_.connected(now));
  openStream(std::move(*outcome), false, {});  // last: the answer may be read at once
}

void OutgoingLink::heard() { life_.heard(environment().now()); }

void OutgoingLink::streamLost(std::string why, std::optional<Rejected> rejected) {
  if (rejected) counters().reject(rejected->reason);
  perform(life_.lost(environment().now(), std::move(why), chance()));
}

void OutgoingLink::reject(Rejected rejected) {
  closeStream(closingFrame(rejected.toString()));
  std::string why = rejected.toString();
  streamLost(std::move(why), std::move(rejected));
}

void OutgoingLink::take(const Frame& frame) {
  if (life_.phase() == Phase::kAuthenticating) return takeHandshake(frame);
  switch (frame.type) {
    case FrameType::kMessage: return takeAnswer(frame);
    case FrameType::kBeatBack: return takeBeat(frame);
    case FrameType::kClosing: {
      Rejected refused{Rejection::kRefused, closingReason(frame)};
      std::string why = refused.toString();
      return streamLost(std::move(why), std::move(refused));
    }
    default: return reject({Rejection::kUnexpected, "a frame that is not due"});
  }
}

void OutgoingLink::takeHandshake(const Frame& frame) {
  HandshakeStep step = handshake_->take(frame);
  if (step.rejected) {
    closeStream(step.send);
    std::string why = step.rejected->toString();
    return streamLost(std::move(why), std::move(step.rejected));
  }
  if (!step.send.empty()) outbox().write(step.send);
  if (!step.established) return;
  handshake_.reset();
  authenticated_ = step.established->authenticated;
  setLargestFrame(links_->settings().largestFrame);
  const auto& keys = step.established->keys;
  expectProofs(keys.incoming);
  outbox().open({step.established->maxFrame, !isEncrypted(), keys.outgoing});
  perform(life_.authenticated(environment().now()));
}

void OutgoingLink::takeAnswer(const Frame& frame) {
  auto envelope = readFromPeer(frame, *links_, authenticated_);
  if (!envelope.isOK()) return reject({Rejection::kMalformed, envelope.status().reason()});
  switch (envelope->kind) {
    case MessageKind::kReply:
    case MessageKind::kFailure: outbox().complete(std::move(*envelope)); return;  // dropped when its ask is over
    case MessageKind::kDown:
      if (envelope->from.node() != outbox().peer() || envelope->to.node() != node().name())
        return reject({Rejection::kMalformed, "news of an actor of a third node"});
      return node().postOffice().send(std::move(*envelope));
    default: return reject({Rejection::kUnexpected, "a message that is no answer, on a link this node has opened"});
  }
}

void OutgoingLink::beat() {
  outbox().forgetExpired();
  cell().row()->pendingAsks.store(static_cast<int32_t>(outbox().lengths().asks), std::memory_order_relaxed);
  const std::string head = flatMessage<schema::LinkBeat>(
      [&](schema::LinkBeat::Builder out) { out.setSentAtMicros(micros(environment().now())); });
  outbox().write(frameBytes({FrameType::kBeat, head, {}, {}}));
}

void OutgoingLink::takeBeat(const Frame& frame) {
  int64_t sentAt = 0;
  if (!readFlat<schema::LinkBeat>(frame.head, [&](schema::LinkBeat::Reader in) { sentAt = in.getSentAtMicros(); }))
    return reject({Rejection::kMalformed, "a heartbeat that cannot be read"});
  const int64_t passed = micros(environment().now()) - sentAt;
  if (passed >= 0) counters().roundTripMicros.store(std::max<int64_t>(1, passed), std::memory_order_relaxed);
}

bson::Document OutgoingLink::describe() const {
  bson::Builder out;
  const auto lengths = outbox().lengths();
  out.append("peer", outbox().peer()).append("openedBy", "this node");
  out.append("authenticated", life_.phase() == Phase::kOpen && authenticated_).append("encrypted", isEncrypted());
  out.append("failuresInARow", life_.failures()).append("queuedMessages", static_cast<int64_t>(lengths.messages));
  out.append("queuedBytes", static_cast<int64_t>(lengths.bytes));
  out.append("pendingAsks", static_cast<int64_t>(lengths.asks));
  counters().describe(out);
  return out.finish();
}

}  // namespace troupe::link
