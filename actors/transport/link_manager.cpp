#include "actors/transport/link_manager.hpp"

#include "actors/kernel/node.hpp"
#include "actors/transport/outgoing_link.hpp"

namespace troupe::link {

namespace {
using Action = schema::ControlChild::Action;
/// Before a link that has failed by a broken invariant is started again.
constexpr auto kPauseAfterCrash = std::chrono::seconds(1);
constexpr const char* kParkedPhase = "parked";
constexpr const char* kParkedMeaning = "cut by an operator, until it is resumed";
}  // namespace

Behaviour LinkManager::behaviour() {
  return {
      on<ConnectPeer>([this](const ConnectPeer& wanted, Context& context) {
        connect(wanted.peer, Links::Since::kAsked);
        context.reply(local(Done{}));
      }),
      on<DisconnectPeer>([this](const DisconnectPeer& wanted, Context& context) {
        disconnect(wanted.peer);
        context.reply(local(Done{}));
      }),
      on<SetPeers>([this](const SetPeers& wanted, Context& context) {
        setPeers(wanted);
        context.reply(local(Done{}));
      }),
      on<PingPeer>(this, &LinkManager::ping),
      on<schema::Ping>([](schema::Ping::Reader in, Context& context) {
        const int64_t number = in.getNumber();
        context.reply<schema::Pong>([number](schema::Pong::Builder out) { out.setNumber(number); });
      }),
      on<IncomingConnection>([this](const IncomingConnection&, Context& context) { takeIncoming(context.payload()); }),
      on<LinkAccepted>([this](const LinkAccepted& link) { accepted(link); }),
      on<schema::ControlChild>(
          [this](schema::ControlChild::Reader wanted, Context& context) { control(wanted, context); }),
      on<Down>([this](const Down& down) { ended(down); }),
      on<ChildReady>([](const ChildReady&) {})};
}

void LinkManager::onStart() {
  setPhase("linking", "keeps the links to the other nodes");
  node().postOffice().setRoute("*", links_);
  adopt();
  for (const auto& [peer, entry] : links_->peers()) spawnLink(peer);
  every(links_->settings().forgetAfter / 2, [this] { forgetUnused(); });
}

void LinkManager::onStopRequested() {
  stopping_ = true;
  if (children_.empty()) return stop();
  setPhase("closing", "waits for the links to be closed");
  for (const auto& path : children_) node().requestStop(node().address(path));
}

void LinkManager::adopt() {
  RowFilter filter;
  filter.under = self().path();
  for (const auto& row : node().registry().rows(filter)) {
    const Address child = node().address(row.path);
    if (row.path == self().path() || !node().postOffice().exists(child)) continue;
    watchChild(child);
    if (row.type == "IncomingLink" && !row.documentId.empty()) accepted_[row.documentId] = child;
  }
}

void LinkManager::watchChild(const Address& child) {
  if (children_.insert(child.path()).second) watch(child);
}

void LinkManager::connect(const std::string& peer, Links::Since since) {
  if (peer == node().name() || stopping_) return;
  links_->know(peer, since);
  spawnLink(peer);
}

void LinkManager::spawnLink(const std::string& peer) {
  const Address link = linkTo(peer);
  if (stopping_ || parked_.contains(peer) || children_.contains(link.path()) || node().postOffice().exists(link))
    return;
  children_.insert(link.path());
  spawnChild(link.path(), std::make_unique<OutgoingLink>(links_, links_->know(peer, Links::Since::kOnce)),
             SpawnOptions{.type = "Link"});
}

void LinkManager::disconnect(const std::string& peer) {
  links_->forget(peer);
  if (parked_.erase(peer) > 0) node().registry().unkeep(linkTo(peer).path());
  node().requestStop(linkTo(peer));
}

void LinkManager::setPeers(const SetPeers& wanted) {
  const std::set<std::string> members(wanted.peers.begin(), wanted.peers.end());
  for (const auto& [peer, entry] : links_->peers())
    if (entry.since == Links::Since::kMember && !members.contains(peer)) disconnect(peer);
  for (const auto& peer : members) connect(peer, Links::Since::kMember);
}

void LinkManager::forgetUnused() {
  const TimePoint old = environment().now() - links_->settings().forgetAfter;
  for (const auto& [peer, entry] : links_->peers())
    // An answer may take longer than that: a command runs there.
    if (entry.since == Links::Since::kOnce && entry.usedAt <= old && entry.outbox->lengths().asks == 0)
      disconnect(peer);
}

Task<void> LinkManager::ping(Received<PingPeer> wanted, Context context) {
  const std::string peer = wanted->peer;
  if (peer == node().name()) {
    context.fail(Status(ErrorCode::kBadValue, peer + " is this node itself"));
    co_return;
  }
  connect(peer, Links::Since::kOnce);
  links_->touch(peer);
  auto bytes = std::make_shared<const std::string>(wanted->bytes, 'x');
  if (bytes->empty()) bytes = nullptr;
  const TimePoint sentAt = environment().now();
  Payload question = build<schema::Ping>([](schema::Ping::Builder) {}, std::move(bytes));
  const auto answer = co_await askFor<schema::Pong>(Address(peer, kLinksPath), std::move(question), wanted->timeout);
  if (!answer.isOK()) {
    context.fail(answer.status());
    co_return;
  }
  context.reply(local(PeerPinged{environment().now() - sentAt}));
}

void LinkManager::takeIncoming(const Payload& payload) {
  Received<IncomingConnection> received(payload);
  IncomingConnection connection = std::move(received.take());
  if (stopping_) return connection.transport->close();
  makeRoomForHandshake();
  const Address link = self().child("accepted" + std::to_string(++lastAccepted_));
  if (node().postOffice().exists(link)) return takeIncoming(local(std::move(connection)));  // from before a restart
  shakingHands_.push_back(link.path());
  children_.insert(link.path());
  spawnChild(link.path(), std::make_unique<IncomingLink>(links_, std::move(connection)),
             SpawnOptions{.type = "IncomingLink"});
}

/// A member finishes its handshake within milliseconds: the oldest handshake under way is the least likely to be one's.
void LinkManager::makeRoomForHandshake() {
  if (shakingHands_.size() < links_->settings().handshakesAtOnce) return;
  links_->strangers()->reject(Rejection::kTooMany);
  ++refused_;
  node().requestStop(node().address(shakingHands_.front()));
  shakingHands_.erase(shakingHands_.begin());
}

void LinkManager::accepted(const LinkAccepted& link) {
  std::erase(shakingHands_, link.link.path());
  if (!node().postOffice().exists(link.link)) return;
  Address& current = accepted_[link.peer];
  if (current && !(current == link.link)) node().requestStop(current);  // its connection is dead, or will be
  current = link.link;
  tell(linkTo(link.peer), local(PeerLives{}));
}

void LinkManager::ended(const Down& down) {
  const std::string& path = down.who.path();
  children_.erase(path);
  std::erase(shakingHands_, path);
  std::erase_if(accepted_, [&](const auto& entry) { return entry.second == down.who; });
  if (stopping_) {
    if (children_.empty()) stop();
    return;
  }
  const std::string peer = path.substr(self().path().size() + 1);
  if (const auto parked = parked_.find(peer); parked != parked_.end())
    return node().registry().setPhase(*parked->second, kParkedPhase, kParkedMeaning);
  if (!links_->peers().contains(peer)) return;
  if (down.reason.isOK()) return spawnLink(peer);
  after(kPauseAfterCrash, [this, peer] {
    if (links_->peers().contains(peer)) spawnLink(peer);
  });
}

void LinkManager::control(schema::ControlChild::Reader wanted, Context& context) {
  const std::string child(wanted.getChild().cStr(), wanted.getChild().size());
  const Status done = act(child, wanted.getAction());
  if (!done.isOK()) return context.fail(done);
  const bool isParked = parked_.contains(child);
  context.reply<schema::ChildControlled>([&](schema::ChildControlled::Builder out) {
    out.setChild(child);
    out.setState(isParked ? "parked" : "running");
  });
}

Status LinkManager::act(const std::string& child, Action action) {
  if (action == Action::PARK) return park(child);
  if (action == Action::RESUME) return resume(child);
  if (!children_.contains(self().child(child).path())) return {ErrorCode::kNoSuchKey, "there is no link " + child};
  if (action == Action::STOP) disconnect(child);
  else node().requestStop(self().child(child));  // and the end of it starts it again
  return Status::OK();
}

Status LinkManager::park(const std::string& peer) {
  if (!links_->peers().contains(peer)) return {ErrorCode::kIllegalOperation, "only links of this node can be parked"};
  if (parked_.contains(peer)) return {ErrorCode::kIllegalOperation, "the link is parked already"};
  RowSpec spec;
  spec.path = linkTo(peer).path();
  spec.type = "Link";
  spec.parent = self().path();
  const auto row = parked_[peer] = node().registry().keep(spec);
  if (node().postOffice().exists(linkTo(peer))) node().requestStop(linkTo(peer));
  else node().registry().setPhase(*row, kParkedPhase, kParkedMeaning);
  return Status::OK();
}

Status LinkManager::resume(const std::string& peer) {
  if (parked_.erase(peer) == 0) return {ErrorCode::kIllegalOperation, "the link is not parked"};
  spawnLink(peer);
  node().registry().unkeep(linkTo(peer).path());
  return Status::OK();
}

bson::Document LinkManager::describe() const {
  bson::Builder out;
  const auto& settings = links_->settings();
  out.append("node", node().name());
  out.append("authentication", settings.key.empty() ? "none" : "keyFile");
  out.append("withoutKey", settings.anonymous == Anonymous::kNobody     ? "nobody"
                           : settings.anonymous == Anonymous::kLoopback ? "this machine"
                                                                        : "anyone");
  out.openArray("peers");
  for (const auto& [peer, entry] : links_->peers()) {
    out.pushDocument();
    out.append("peer", peer).append("member", entry.since == Links::Since::kMember);
    out.append("parked", parked_.contains(peer)).close();
  }
  out.close();
  out.append("accepted", static_cast<int64_t>(accepted_.size()));
  out.append("handshakes", static_cast<int64_t>(shakingHands_.size())).append("refused", refused_);
  out.openDocument("strangers");
  links_->strangers()->describe(out);
  out.close();
  return out.finish();
}

}  // namespace troupe::link
