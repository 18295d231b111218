#include "actors/transport/links.hpp"

namespace troupe::link {

namespace {
/// Peers of accepted links with figures of their own; further ones share those of strangers.
constexpr size_t kAcceptedNames = 1000;
}  // namespace

std::string linkError(const Node& node, const std::string& peer) {
  const auto row = node.registry().row(std::string(kLinksPath) + "/" + peer);
  return row ? row->lastError : std::string();
}

Links::Links(Node& node, LinkSettings settings) : node_(node), settings_(std::move(settings)) {}

Identity Links::identity() const { return {node_.name(), settings_.key, settings_.largestFrame}; }

void Links::send(Envelope envelope) noexcept {
  std::shared_ptr<Outbox> outbox;
  {
    const std::shared_lock lock(mutex_);
    const auto found = peers_.find(envelope.to.node());
    if (found != peers_.end()) outbox = found->second.outbox;
  }
  if (outbox) return outbox->send(std::move(envelope));
  const Status unknown(ErrorCode::kHostUnreachable, envelope.to.node() + " is no node of this cluster");
  if (envelope.kind == MessageKind::kWatch) return node_.postOffice().watchFailed(envelope.from, envelope.to, unknown);
  if (envelope.kind == MessageKind::kUnwatch) return;
  node_.postOffice().countDead(DeadLetter::kNoRoute);
  envelope.reply.complete(unknown);
}

std::shared_ptr<Outbox> Links::know(const std::string& peer, Since since) {
  std::shared_ptr<Outbox> made;
  {
    const std::unique_lock lock(mutex_);
    auto& entry = peers_[peer];
    if (entry.outbox) {
      if (since == Since::kMember || entry.since == Since::kOnce) entry.since = since;
      return entry.outbox;
    }
    made = std::make_shared<Outbox>(node_.postOffice(), node_.environment(), peer, settings_.limits,
                                    std::make_shared<LinkCounters>(), settings_.clock);
    entry = {made, since, node_.environment().now()};
  }
  node_.postOffice().setRoute(peer, made);
  return made;
}

void Links::forget(const std::string& peer) {
  {
    const std::unique_lock lock(mutex_);
    peers_.erase(peer);
  }
  node_.postOffice().setRoute(peer, nullptr);
}

void Links::touch(const std::string& peer) {
  const std::unique_lock lock(mutex_);
  const auto found = peers_.find(peer);
  if (found != peers_.end()) found->second.usedAt = node_.environment().now();
}

std::map<std::string, Links::Peer> Links::peers() const {
  const std::shared_lock lock(mutex_);
  return peers_;
}

std::shared_ptr<Outbox> Links::accepted(const std::string& peer) {
  const std::unique_lock lock(mutex_);
  auto counters = strangers_;
  const auto found = accepted_.find(peer);
  if (found != accepted_.end()) counters = found->second.counters;
  else if (accepted_.size() < kAcceptedNames) counters = std::make_shared<LinkCounters>();
  auto outbox = std::make_shared<Outbox>(node_.postOffice(), node_.environment(), peer, settings_.limits, counters,
                                         settings_.clock);
  if (counters != strangers_) accepted_[peer] = {counters, outbox};
  return outbox;
}

std::shared_ptr<Outbox> Links::acceptedFromStranger() {
  return std::make_shared<Outbox>(node_.postOffice(), node_.environment(), "", settings_.limits, strangers_);
}

std::vector<LinkFigures> Links::figures() const {
  const std::shared_lock lock(mutex_);
  std::vector<LinkFigures> all;
  for (const auto& [name, peer] : peers_) all.push_back({name, true, peer.outbox->counters(), peer.outbox->lengths()});
  for (const auto& [name, entry] : accepted_) {
    const auto outbox = entry.outbox.lock();
    all.push_back({name, false, entry.counters, outbox ? outbox->lengths() : Outbox::Lengths{}});
  }
  return all;
}

}  // namespace troupe::link
