#include "actors/transport/incoming_link.hpp"

#include <algorithm>

#include "actors/kernel/actor_cell.hpp"
#include "actors/kernel/node.hpp"
#include "messaging/link/flat_message.hpp"
#include "messaging/log/log.hpp"
#include "messaging/schemas/link.capnp.h"

namespace troupe::link {

namespace {

/// Sends the answer of a local actor back over the link the question came by.
class AnswerByLink final : public ReplySink {
 public:
  AnswerByLink(std::shared_ptr<Outbox> outbox, uint64_t correlation, std::shared_ptr<const AskOrigin> origin)
      : outbox_(std::move(outbox)), correlation_(correlation), origin_(std::move(origin)) {}
  const AskOrigin* origin() const noexcept override { return origin_.get(); }
  void complete(StatusWith<Payload> answer) noexcept override {
    outbox_->answer(correlation_, std::move(answer));
    delete this;
  }

 private:
  std::shared_ptr<Outbox> outbox_;
  const uint64_t correlation_;
  const std::shared_ptr<const AskOrigin> origin_;
};

bool mayJoin(Anonymous anonymous, bool fromLoopback) {
  return anonymous == Anonymous::kAnyone || (anonymous == Anonymous::kLoopback && fromLoopback);
}

}  // namespace

IncomingLink::IncomingLink(std::shared_ptr<Links> links, IncomingConnection connection)
    : LinkEnd(links->acceptedFromStranger()), links_(std::move(links)), connection_(std::move(connection)) {
  handshake_.emplace(links_->identity(), mayJoin(links_->settings().anonymous, connection_.fromLoopback),
                     links_->settings().random);
}

Behaviour IncomingLink::behaviour() {
  return {on<Down>([this](const Down& down) { tellDown(down); })};
}

void IncomingLink::onStart() {
  setPhase("authenticating", phaseText(Phase::kAuthenticating).meaning);
  startedAt_ = heardAt_ = environment().now();
  every(links_->settings().times.heartbeat / 2, [this] { look(); });
  const std::string first = std::exchange(connection_.bytes, {});
  openStream(std::move(connection_.transport), true, first);
}

void IncomingLink::onStop(const Status&) {
  closeStream(closingFrame("the other node closes the link"));
  outbox().refuse({ErrorCode::kHostUnreachable, "the link was closed"});
}

void IncomingLink::look() {
  const auto& times = links_->settings().times;
  const TimePoint now = environment().now();
  if (isTakingBytes()) heardAt_ = now;
  cell().row()->pendingAsks.store(static_cast<int32_t>(outbox().lengths().asks), std::memory_order_relaxed);
  if (handshake_ && now >= startedAt_ + times.handshake)
    reject({Rejection::kSlow, "the other node did not finish the handshake in time"});
  else if (now >= heardAt_ + times.idle)
    reject({Rejection::kSilent, "nothing was heard of the other node for too long"});
}

void IncomingLink::streamLost(std::string why, std::optional<Rejected> rejected) {
  // A closing node need not be mourned; anything else is counted.
  if (rejected && rejected->reason != Rejection::kRefused) counters().reject(rejected->reason);
  counters().lost.fetch_add(1, std::memory_order_relaxed);
  setError(why);
  if (auto* log = links_->settings().log)
    log->info(log::Component::kNetwork, 7002003, "link", "A link of another node has ended",
              bson::doc("remote", connection_.remote, "peer", peer_, "reason", why));
  closeStream();
  stop();
}

void IncomingLink::reject(Rejected rejected) {
  closeStream(closingFrame(rejected.toString()));
  std::string why = rejected.toString();
  streamLost(std::move(why), std::move(rejected));
}

void IncomingLink::take(const Frame& frame) {
  if (handshake_) return takeHandshake(frame);
  switch (frame.type) {
    case FrameType::kMessage: return takeMessage(frame);
    case FrameType::kBeat: return outbox().write(frameBytes({FrameType::kBeatBack, frame.head, {}, {}}));
    case FrameType::kClosing: return streamLost(closingReason(frame), std::nullopt);
    default: return reject({Rejection::kUnexpected, "a frame that is not due"});
  }
}

void IncomingLink::takeHandshake(const Frame& frame) {
  HandshakeStep step = handshake_->take(frame);
  if (step.rejected) {
    closeStream(step.send);
    std::string why = step.rejected->toString();
    return streamLost(std::move(why), std::move(step.rejected));
  }
  if (step.established) return established(*step.established, step.send);
  outbox().write(step.send);
}

void IncomingLink::established(const Established& agreed, const std::string& last) {
  handshake_.reset();
  peer_ = agreed.peer;
  authenticated_ = agreed.authenticated;
  origin_ = std::make_shared<const AskOrigin>(AskOrigin{self(), authenticated_});
  setLargestFrame(links_->settings().largestFrame);
  changeOutbox(links_->accepted(peer_));
  outbox().write(last);
  outbox().open({agreed.maxFrame, !isEncrypted(), agreed.keys.outgoing});
  expectProofs(agreed.keys.incoming);
  counters().opened.fetch_add(1, std::memory_order_relaxed);
  setDocument(peer_, 0);
  setPhase("open", phaseText(Phase::kOpen).meaning);
  tell(node().address(kLinksPath), local(LinkAccepted{peer_, self()}));
  if (auto* log = links_->settings().log)
    log->info(log::Component::kNetwork, 7002004, "link", "Another node has opened a link",
              bson::doc("remote", connection_.remote, "peer", peer_, "authenticated", authenticated_, "encrypted",
                        isEncrypted()));
}

void IncomingLink::takeMessage(const Frame& frame) {
  auto envelope = readFromPeer(frame, *links_, authenticated_);
  if (!envelope.isOK()) return reject({Rejection::kMalformed, envelope.status().reason()});
  if (envelope->to.node() != node().name())
    return reject({Rejection::kMalformed, "a message for another node, " + envelope->to.node()});
  switch (envelope->kind) {
    case MessageKind::kTell:
    case MessageKind::kAsk: return deliver(std::move(*envelope));
    case MessageKind::kWatch: return addWatch(envelope->from, envelope->to);
    case MessageKind::kUnwatch: return removeWatch(envelope->from, envelope->to);
    default: return reject({Rejection::kUnexpected, "an answer to nothing, on a link the other node has opened"});
  }
}

void IncomingLink::deliver(Envelope envelope) {
  if (envelope.kind == MessageKind::kAsk) {
    const bool served = outbox().serve();
    envelope.reply = ReplyDuty(new AnswerByLink(sharedOutbox(), envelope.correlation, origin_));
    if (!served)
      return envelope.reply.complete(
          Status(ErrorCode::kExceededMemoryLimit, node().name() + " serves as many asks of this link as it may"));
  }
  node().postOffice().send(std::move(envelope));
}

void IncomingLink::addWatch(const Address& watcher, const Address& watched) {
  auto& watchers = watchers_[watched.path()];
  if (std::ranges::find(watchers, watcher) != watchers.end()) return;
  watchers.push_back(watcher);
  if (watchers.size() == 1) watch(watched);
}

void IncomingLink::removeWatch(const Address& watcher, const Address& watched) {
  const auto found = watchers_.find(watched.path());
  if (found == watchers_.end()) return;
  std::erase(found->second, watcher);
  if (!found->second.empty()) return;
  watchers_.erase(found);
  unwatch(watched);
}

void IncomingLink::tellDown(const Down& down) {
  const auto found = watchers_.find(down.who.path());
  if (found == watchers_.end()) return;
  const auto watchers = std::move(found->second);
  watchers_.erase(found);
  for (const Address& watcher : watchers) outbox().down(watcher, down.who, down.reason);
}

bson::Document IncomingLink::describe() const {
  bson::Builder out;
  const auto lengths = outbox().lengths();
  int64_t watches = 0;
  for (const auto& [path, watchers] : watchers_) watches += static_cast<int64_t>(watchers.size());
  out.append("peer", peer_).append("openedBy", "the other node").append("remote", connection_.remote);
  out.append("authenticated", authenticated_).append("encrypted", isEncrypted()).append("watches", watches);
  out.append("queuedMessages", static_cast<int64_t>(lengths.messages));
  out.append("queuedBytes", static_cast<int64_t>(lengths.bytes));
  out.append("asksBeingServed", static_cast<int64_t>(lengths.asks));
  counters().describe(out);
  return out.finish();
}

}  // namespace troupe::link
