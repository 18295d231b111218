#include "actors/kernel/post_office.hpp"

#include <algorithm>

#include "actors/kernel/actor.hpp"
#include "messaging/envelope/primary_of.hpp"

namespace troupe {

const char* deadLetterName(DeadLetter reason) {
  switch (reason) {
    case DeadLetter::kNoSuchActor: return "no such actor";
    case DeadLetter::kNoRoute: return "no route to the node";
    case DeadLetter::kActorEnded: return "the actor has ended";
    case DeadLetter::kUnknownType: return "unknown type";
    case DeadLetter::kExpired: return "expired";
    case DeadLetter::kMalformed: return "malformed";
    case DeadLetter::kNotConnected: return "the link is not open";
    case DeadLetter::kQueueFull: return "the queue of the link is full";
    case DeadLetter::kUnsendable: return "cannot leave the node";
    case DeadLetter::kCount: break;
  }
  return "";
}

namespace {

const FaultSite kMessageLost("kernel.remote.message-lost", 0.05, "a message for another node is lost on its way out");
const FaultSite kLinkBreaks("kernel.remote.link-breaks", 0.005,
                            "the connection to another node breaks: who watches actors there is told");

}  // namespace

PostOffice::PostOffice(std::string node, Environment& environment)
    : node_(std::move(node)), environment_(environment) {}
PostOffice::~PostOffice() = default;

uint64_t PostOffice::deadLetters() const {
  uint64_t sum = 0;
  for (const auto& count : dead_) sum += count.load(std::memory_order_relaxed);
  return sum;
}

void PostOffice::send(Envelope envelope) noexcept {
  if (envelope.to.node() != node_)
    return setOfPrimary(envelope.to.node()) ? sendToPrimary(std::move(envelope)) : sendRemote(std::move(envelope));
  if (envelope.kind == MessageKind::kWatch) return watch(envelope.from, envelope.to);
  if (envelope.kind == MessageKind::kUnwatch) return unwatch(envelope.from, envelope.to);
  if (envelope.kind == MessageKind::kDown) {
    // From another node: one for each watch that still stands. A lost node has ended its watches already.
    if (envelope.from.node() != node_ && !forgetWatch(envelope.to, envelope.from)) return;
    envelope.payload = local(Down{envelope.from, envelope.failure});
  }
  deliver(std::move(envelope));
}

void PostOffice::deliver(Envelope envelope) noexcept {
  envelope.enqueuedAtMs = ageStamp(environment_.coarseNow());
  auto& s = shard(envelope.to);
  DeadLetter reason = DeadLetter::kNoSuchActor;
  {
    std::shared_lock lock(s.mutex);
    const auto found = s.boxes.find(envelope.to);
    if (found != s.boxes.end()) {
      if (found->second->deliver(envelope)) return;
      reason = DeadLetter::kActorEnded;
    }
  }
  countDead(reason);
  envelope.reply.complete(Status(ErrorCode::kNoSuchKey, "there is no actor " + envelope.to.toString()));
}

void PostOffice::sendRemote(Envelope envelope) noexcept {
  std::shared_ptr<Route> route;
  {
    std::shared_lock lock(routeMutex_);
    auto found = routes_.find(envelope.to.node());
    if (found == routes_.end()) found = routes_.find("*");
    if (found != routes_.end()) route = found->second;
  }
  if (environment_.fires(kLinkBreaks))
    nodeLost(envelope.to.node(), Status(ErrorCode::kHostUnreachable, "the connection was lost"));
  const bool lost = environment_.fires(kMessageLost);
  if (route && envelope.to && !lost) return route->send(std::move(envelope));
  countDead(lost ? DeadLetter::kNotConnected : DeadLetter::kNoRoute);
  const Status unreachable(ErrorCode::kHostUnreachable,
                           (lost ? "lost on the way to " : "there is no route to ") + envelope.to.toString());
  if (envelope.kind == MessageKind::kWatch) watchFailed(envelope.from, envelope.to, unreachable);
  envelope.reply.complete(unreachable);
}

void PostOffice::setPrimaryFinder(PrimaryFinder finder) {
  std::unique_lock lock(routeMutex_);
  primaries_ = std::move(finder);
}

StatusWith<std::string> PostOffice::resolve(const std::string& node) const {
  const auto set = setOfPrimary(node);
  if (!set) return node;
  PrimaryFinder find;
  {
    std::shared_lock lock(routeMutex_);
    find = primaries_;
  }
  auto found = find ? find(*set) : std::nullopt;
  if (found && !setOfPrimary(*found)) return std::move(*found);
  return Status(ErrorCode::kNotWritablePrimary, "no primary of the replica set " + std::string(*set) + " is known");
}

void PostOffice::sendToPrimary(Envelope envelope) noexcept {
  const auto node = resolve(envelope.to.node());
  if (node.isOK()) {
    envelope.to = Address(*node, envelope.to.path());
    return send(std::move(envelope));
  }
  countDead(DeadLetter::kNoRoute);
  envelope.reply.complete(node.status());
}

bool PostOffice::add(const Address& address, Mailbox* mailbox) {
  auto& s = shard(address);
  std::unique_lock lock(s.mutex);
  return s.boxes.emplace(address, mailbox).second;
}

void PostOffice::remove(const Address& address, const Mailbox* mailbox, const Status& reason) {
  std::vector<Address> watchers, remotes;
  {
    std::lock_guard lock(watchMutex_);
    if (!isBearer(address, mailbox)) return;
    remotes = takeRemoteWatches(address);
  }
  // Before the name is free: the next bearer may watch the same actors, and would lose its watches to these.
  for (const auto& watched : remotes) sendUnwatch(address, watched);
  {
    // One step for `watch`: what is watched after the name is free concerns the next bearer, and stays.
    std::lock_guard lock(watchMutex_);
    if (!removeBox(address, mailbox)) return;
    watchers = takeWatchers(address);
  }
  for (const auto& watcher : watchers) tellDown(watcher, address, reason);
}

bool PostOffice::isBearer(const Address& address, const Mailbox* mailbox) const {
  auto& s = shard(address);
  std::shared_lock lock(s.mutex);
  const auto found = s.boxes.find(address);
  return found != s.boxes.end() && found->second == mailbox;
}

bool PostOffice::removeBox(const Address& address, const Mailbox* mailbox) {
  auto& s = shard(address);
  std::unique_lock lock(s.mutex);
  const auto found = s.boxes.find(address);
  if (found == s.boxes.end() || found->second != mailbox) return false;
  s.boxes.erase(found);
  return true;
}

bool PostOffice::exists(const Address& address) const {
  auto& s = shard(address);
  std::shared_lock lock(s.mutex);
  return s.boxes.contains(address);
}

bool PostOffice::visit(const Address& address, const std::function<void(Mailbox&)>& visit) const {
  auto& s = shard(address);
  std::shared_lock lock(s.mutex);
  const auto found = s.boxes.find(address);
  if (found == s.boxes.end()) return false;
  visit(*found->second);
  return true;
}

void PostOffice::requestEnd(const Address& address, bool inOrder, Status reason) const noexcept {
  auto& s = shard(address);
  std::shared_lock lock(s.mutex);
  const auto found = s.boxes.find(address);
  if (found != s.boxes.end()) found->second->requestEnd(inOrder, std::move(reason));
}

void PostOffice::tellDown(const Address& watcher, const Address& who, const Status& reason) noexcept {
  Envelope down;
  down.to = watcher;
  down.from = who;
  down.kind = MessageKind::kDown;
  down.priority = Priority::kHigh;
  down.failure = reason;
  if (watcher.node() != node_) return sendRemote(std::move(down));
  down.payload = local(Down{who, reason});
  deliver(std::move(down));
}

void PostOffice::watch(const Address& watcher, const Address& watched) {
  if (setOfPrimary(watched.node()))
    return tellDown(watcher, watched,
                    Status(ErrorCode::kIllegalOperation, "a watch needs the name of a node, not primaryOf(set)"));
  {
    std::lock_guard lock(watchMutex_);
    // Under the lock: an actor that ends meanwhile removes its mailbox and looks for watchers under it, too.
    const bool known = watched.node() != node_ || exists(watched);
    if (known && !noteWatch(watcher, watched)) return;  // it stands already
    if (known && watched.node() == node_) return;
  }
  if (watched.node() == node_)
    return tellDown(watcher, watched, Status(ErrorCode::kNoSuchKey, "there is no actor " + watched.toString()));
  Envelope envelope;
  envelope.to = watched;
  envelope.from = watcher;
  envelope.kind = MessageKind::kWatch;
  sendRemote(std::move(envelope));
}

void PostOffice::unwatch(const Address& watcher, const Address& watched) {
  if (forgetWatch(watcher, watched) && watched.node() != node_) sendUnwatch(watcher, watched);
}

void PostOffice::sendUnwatch(const Address& watcher, const Address& watched) noexcept {
  Envelope envelope;
  envelope.to = watched;
  envelope.from = watcher;
  envelope.kind = MessageKind::kUnwatch;
  sendRemote(std::move(envelope));
}

void PostOffice::watchFailed(const Address& watcher, const Address& watched, const Status& reason) {
  if (forgetWatch(watcher, watched)) tellDown(watcher, watched, reason);
}

bool PostOffice::forgetWatch(const Address& watcher, const Address& watched) {
  std::lock_guard lock(watchMutex_);
  if (!eraseWatcher(watcher, watched)) return false;
  eraseWatched(watcher, watched);
  return true;
}

bool PostOffice::noteWatch(const Address& watcher, const Address& watched) {
  auto& watchers = watchers_[watched.node()][watched.path()];
  if (std::find(watchers.begin(), watchers.end(), watcher) != watchers.end()) return false;
  watchers.push_back(watcher);
  if (watcher.node() == node_) watched_[watcher].insert(watched);
  return true;
}

std::vector<Address> PostOffice::takeWatchers(const Address& watched) {
  const auto node = watchers_.find(watched.node());
  if (node == watchers_.end()) return {};
  const auto found = node->second.find(watched.path());
  if (found == node->second.end()) return {};
  std::vector<Address> watchers = std::move(found->second);
  node->second.erase(found);
  for (const auto& watcher : watchers) eraseWatched(watcher, watched);
  return watchers;
}

std::vector<Address> PostOffice::takeRemoteWatches(const Address& watcher) {
  const auto found = watched_.find(watcher);
  if (found == watched_.end()) return {};
  std::vector<Address> remotes;
  for (const Address& watched : found->second) {
    eraseWatcher(watcher, watched);
    if (watched.node() != node_) remotes.push_back(watched);
  }
  watched_.erase(found);
  return remotes;
}

bool PostOffice::eraseWatcher(const Address& watcher, const Address& watched) {
  const auto node = watchers_.find(watched.node());
  if (node == watchers_.end()) return false;
  const auto found = node->second.find(watched.path());
  if (found == node->second.end()) return false;
  auto& watchers = found->second;
  if (std::erase(watchers, watcher) == 0) return false;
  if (watchers.empty()) node->second.erase(found);
  return true;
}

void PostOffice::eraseWatched(const Address& watcher, const Address& watched) {
  const auto found = watched_.find(watcher);
  if (found == watched_.end()) return;
  found->second.erase(watched);
  if (found->second.empty()) watched_.erase(found);
}

void PostOffice::setRoute(const std::string& node, std::shared_ptr<Route> route) {
  std::unique_lock lock(routeMutex_);
  if (route) routes_[node] = std::move(route);
  else routes_.erase(node);
}

void PostOffice::nodeLost(const std::string& node, const Status& reason) {
  std::map<std::string, std::vector<Address>> lost;
  {
    std::lock_guard lock(watchMutex_);
    if (const auto found = watchers_.find(node); found != watchers_.end()) {
      lost = std::move(found->second);
      watchers_.erase(found);
    }
    for (const auto& [path, watchers] : lost)
      for (const auto& watcher : watchers) eraseWatched(watcher, Address(node, path));
  }
  for (const auto& [path, watchers] : lost)
    for (const auto& watcher : watchers) tellDown(watcher, Address(node, path), reason);
}

}  // namespace troupe
