#include "test/simulation/network.hpp"

#include "actors/environment/virtual_environment.hpp"
#include "messaging/envelope/envelope_codec.hpp"

namespace troupe::sim {

namespace {
constexpr Duration kLossIsNoticedAfter = std::chrono::milliseconds(20);
}

TimePoint simulationStart() {
  static const TimePoint start = VirtualEnvironment().now();
  return start;
}

Duration between(Random& random, Duration least, Duration most) {
  return least + Duration(static_cast<Duration::rep>(share(random) * static_cast<double>((most - least).count())));
}

/// What one life of a node sends and waits for. Answers find their ask by its number.
class Network::Port final : public Route, public std::enable_shared_from_this<Port> {
 public:
  /// Each life numbers its asks anew, so that an answer to an older one means nothing.
  Port(Network& network, Node& node, uint64_t life) : network_(network), node_(&node), lastAsk_(life << 32) {}

  void send(Envelope envelope) noexcept override {
    if (!node_) return;
    if (envelope.reply) envelope.correlation = ++lastAsk_;
    auto bytes = encodeEnvelope(envelope, node_->environment().now());
    if (!bytes.isOK()) return envelope.reply.complete(bytes.status());
    if (envelope.reply) asks_[envelope.correlation] = {envelope.to.node(), std::move(envelope.reply)};
    network_.send(*this, envelope, std::move(*bytes));
  }

  /// Brings a message to this node; an ask is answered through the network.
  void take(Envelope envelope) {
    if (envelope.kind == MessageKind::kReply || envelope.kind == MessageKind::kFailure)
      return answer(std::move(envelope));
    if (envelope.kind == MessageKind::kAsk) envelope.reply = ReplyDuty(new Answerer(shared_from_this(), envelope));
    node_->postOffice().send(std::move(envelope));
  }

  void lost(const std::string& peer) {
    const Status reason(ErrorCode::kHostUnreachable, "the connection to " + peer + " was lost");
    for (auto at = asks_.begin(); at != asks_.end();) {
      if (at->second.peer != peer) {
        ++at;
        continue;
      }
      ReplyDuty duty = std::move(at->second.duty);
      at = asks_.erase(at);
      duty.complete(reason);
    }
    node_->postOffice().nodeLost(peer, reason);
  }

  void close() {
    auto asks = std::move(asks_);
    asks_.clear();
    node_->postOffice().setRoute("*", nullptr);
    node_ = nullptr;
    for (auto& [number, ask] : asks) ask.duty.complete(Status(ErrorCode::kHostUnreachable, "the node was killed"));
  }

  Node* node() const { return node_; }

 private:
  /// Sends the answer of an ask that came from another node.
  class Answerer final : public ReplySink {
   public:
    Answerer(std::shared_ptr<Port> port, const Envelope& ask)
        : port_(std::move(port)), to_(ask.from), from_(ask.to), correlation_(ask.correlation) {}
    void complete(StatusWith<Payload> answer) noexcept override {
      Envelope envelope;
      envelope.to = to_;
      envelope.from = from_;
      envelope.correlation = correlation_;
      envelope.kind = answer.isOK() ? MessageKind::kReply : MessageKind::kFailure;
      if (answer.isOK()) envelope.payload = std::move(*answer);
      else envelope.failure = answer.status();
      port_->send(std::move(envelope));
      delete this;
    }

   private:
    std::shared_ptr<Port> port_;
    Address to_, from_;
    uint64_t correlation_;
  };
  struct Ask {
    std::string peer;
    ReplyDuty duty;
  };

  void answer(Envelope envelope) {
    const auto found = asks_.find(envelope.correlation);
    if (found == asks_.end()) return;  // over, or answered twice
    ReplyDuty duty = std::move(found->second.duty);
    asks_.erase(found);
    if (envelope.kind == MessageKind::kReply) duty.complete(std::move(envelope.payload));
    else duty.complete(envelope.failure);
  }

  Network& network_;
  Node* node_;
  uint64_t lastAsk_;
  std::map<uint64_t, Ask> asks_;
};

void Network::plug(Node& node) {
  auto port = std::make_shared<Port>(*this, node, ++lives_);
  ports_[node.name()] = port;
  node.postOffice().setRoute("*", port);
}

void Network::unplug(const std::string& node) {
  const auto found = ports_.find(node);
  if (found == ports_.end()) return;
  const auto port = found->second;
  const TimePoint now = port->node()->environment().now();
  ports_.erase(found);
  port->close();
  for (const auto& [other, unused] : ports_)
    if (!between(node, other).cut) losses_[{now + kLossIsNoticedAfter, ++sequence_}] = {node, other};
}

Conditions& Network::between(const std::string& from, const std::string& to) {
  return conditions_.try_emplace({from, to}, usual_).first->second;
}

void Network::heal() { conditions_.clear(); }

void Network::note(TraceEvent::Kind kind, const std::string& node, const std::string& peer, const Packet& packet,
                   const char* what, TimePoint now) {
  const bool arrives = kind == TraceEvent::Kind::kDeliver;
  trace_.add({.at = now - simulationStart(),
              .kind = kind,
              .node = node,
              .role = "",
              .actor = "network",
              .what = what,
              .detail = packet.name + (arrives ? " from " : " to ") + peer,
              .peer = peer,
              .message = packet.number});
}

namespace {
std::string nameOf(const Envelope& envelope) {
  switch (envelope.kind) {
    case MessageKind::kFailure: return "failure " + errorName(envelope.failure.code());
    case MessageKind::kWatch: return "watch";
    case MessageKind::kUnwatch: return "unwatch";
    case MessageKind::kDown: return "down";
    default: return envelope.payload.typeName();
  }
}
}  // namespace

void Network::send(const Port& port, const Envelope& envelope, std::string bytes) {
  const TimePoint now = port.node()->environment().now();
  const std::string& from = port.node()->name();
  const std::string& to = envelope.to.node();
  Packet packet{from, to, ++sequence_, std::move(bytes), nameOf(envelope)};
  ++sent_;
  const Conditions& conditions = between(from, to);
  const bool lost = conditions.cut || share(random_) < conditions.loss;
  note(lost ? TraceEvent::Kind::kDrop : TraceEvent::Kind::kSend, from, to, packet, lost ? "loses" : "sends", now);
  if (lost) {
    ++dropped_;
    return;
  }
  launch(packet, conditions, now);
  if (share(random_) < conditions.duplication) launch(packet, conditions, now);
}

void Network::launch(const Packet& packet, const Conditions& conditions, TimePoint now) {
  TimePoint due = now + sim::between(random_, conditions.leastDelay, conditions.mostDelay);
  if (conditions.cloggedUntil > now) due += conditions.cloggedUntil - now;
  TimePoint& last = lastArrival_[{packet.from, packet.to}];
  if (!conditions.reorders && due < last) due = last;
  last = std::max(last, due);
  underWay_.emplace(std::pair(due, ++sequence_), packet);
}

std::optional<TimePoint> Network::nextDue() const {
  std::optional<TimePoint> next;
  if (!underWay_.empty()) next = underWay_.begin()->first.first;
  if (!losses_.empty()) next = std::min(next.value_or(TimePoint::max()), losses_.begin()->first.first);
  return next;
}

void Network::deliverDue(TimePoint now) {
  while (!underWay_.empty() && underWay_.begin()->first.first <= now) {
    const Packet packet = std::move(underWay_.begin()->second);
    underWay_.erase(underWay_.begin());
    deliver(packet, now);
  }
  while (!losses_.empty() && losses_.begin()->first.first <= now) {
    const Loss loss = losses_.begin()->second;
    losses_.erase(losses_.begin());
    if (const auto port = ports_.find(loss.at); port != ports_.end()) port->second->lost(loss.of);
  }
}

/// Nobody listens where a node has died: its machine says so, and the sender learns of it, unless the network is in the
/// way.
void Network::refused(const Packet& packet, TimePoint now) {
  if (!between(packet.from, packet.to).cut && !between(packet.to, packet.from).cut)
    losses_[{now + kLossIsNoticedAfter, ++sequence_}] = {packet.to, packet.from};
}

void Network::deliver(const Packet& packet, TimePoint now) {
  const auto port = ports_.find(packet.to);
  auto envelope = decodeEnvelope(packet.bytes, now);
  const bool arrives = port != ports_.end() && envelope.isOK() && !between(packet.from, packet.to).cut;
  if (!arrives) {
    ++dropped_;
    if (port == ports_.end()) refused(packet, now);
    return note(TraceEvent::Kind::kDrop, packet.from, packet.to, packet, "loses", now);
  }
  note(TraceEvent::Kind::kDeliver, packet.to, packet.from, packet, "gets", now);
  port->second->take(std::move(*envelope));
}

}  // namespace troupe::sim
