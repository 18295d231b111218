#include "actors/replication/topology_actor.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "state_machines/replication/heartbeats.hpp"
#include "state_machines/replication/voting.hpp"

namespace troupe::replication {

namespace {

/// After a connection broke: until then a link has tried to open it again.
constexpr Duration kSecondLook = std::chrono::milliseconds(100);
constexpr Duration kCallerIsKept = std::chrono::seconds(60);
/// Callers outside the config that are remembered: a node that can open links may call under any number of names.
constexpr size_t kMostStrangers = 32;

machines::Loaded<Topology::Document> readOrThrow(const TopologyStore& store, const Membership& membership) {
  auto found = store.read(membership.self(), membership.setName());
  if (!found.isOK()) throw std::runtime_error(found.status().toString());
  return std::move(*found);
}

/// Which command an event is, if it is one that is concluded later.
std::optional<OpenCommand> commandOf(const Topology::Event& event) {
  if (std::holds_alternative<Initiate>(event)) return OpenCommand::kInitiate;
  if (std::holds_alternative<Reconfig>(event)) return OpenCommand::kReconfig;
  if (std::holds_alternative<StepDown>(event)) return OpenCommand::kStepDown;
  if (std::holds_alternative<StepUp>(event)) return OpenCommand::kStepUp;
  return std::nullopt;
}

/// The hosts of the config that a command brings.
std::vector<NodeName> hostsIn(const Topology::Event& event) {
  const ReplicaSetConfig* config = nullptr;
  if (const auto* initiate = std::get_if<Initiate>(&event)) config = &initiate->config;
  if (const auto* reconfig = std::get_if<Reconfig>(&event)) config = &reconfig->config;
  std::vector<NodeName> hosts;
  if (!config) return hosts;
  for (const MemberConfig& member : config->members) hosts.push_back(member.host);
  return hosts;
}

/// The state that clients see: its changes wake waiting hellos.
bool looksTheSame(const ReplicaView& a, const ReplicaView& b) {
  return a.state() == b.state() && a.isWritable() == b.isWritable() && a.primary() == b.primary() &&
         a.topology.memory.term == b.topology.memory.term && a.config() == b.config();
}

bool membersLookTheSame(const ReplicaView& a, const ReplicaView& b) {
  return std::ranges::equal(
      a.topology.memory.members, b.topology.memory.members, [](const MemberView& one, const MemberView& other) {
        return one.host == other.host && one.isAlive() == other.isAlive() && one.state == other.state;
      });
}

std::string refusalOf(const ReplicaView& view, const NodeName& host) {
  const auto& members = view.topology.memory.members;
  const auto found = std::ranges::find(members, host, &MemberView::host);
  return found == members.end() ? std::string() : found->refusal;
}

bool hears(const Snapshot<Topology>& now, const NodeName& host) {
  const auto& members = now.memory.members;
  return std::any_of(members.begin(), members.end(), [&](const auto& m) { return m.host == host && m.isAlive(); });
}

void addHosts(std::set<NodeName>& to, const ReplicaSetConfig& config) {
  for (const MemberConfig& member : config.members) to.insert(member.host);
}

int64_t micros(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

/// The term of a step-up; of other actions nothing.
std::optional<int64_t> termOf(const machines::ActionOf<Topology>& action) {
  if (const auto* catchUp = std::get_if<CatchUp>(&action)) return catchUp->term;
  if (const auto* drain = std::get_if<Drain>(&action)) return drain->term;
  return std::nullopt;
}

}  // namespace

TopologyActor::TopologyActor(TopologyParts parts)
    : TopologyActor(parts, std::make_shared<TopologyStore>(*parts.storage)) {}

TopologyActor::TopologyActor(TopologyParts parts, std::shared_ptr<TopologyStore> store)
    : MachineHost(store, readOrThrow(*store, *parts.membership), false, hostOptions(parts)), parts_(std::move(parts)) {}

machines::HostOptions<Topology> TopologyActor::hostOptions(const TopologyParts& parts) {
  machines::HostOptions<Topology> options;
  options.perform = [](Actor& host, Action action, machines::Doing<Event>) {
    return static_cast<TopologyActor&>(host).perform(std::move(action));
  };
  options.observe = parts.observe;
  return options;
}

/// Messages from other members are noted, with their time, before the machine gets them.
Behaviour TopologyActor::behaviour() {
  Behaviour handlers = MachineHost::behaviour();
  for (const PayloadType type :
       {machines::payloadTypeOf<HeartbeatRequest>(), machines::payloadTypeOf<HeartbeatReply>()}) {
    auto handle = [this, next = *handlers.find(type)](Context& context) {
      heardFrom(context.envelope());
      noteOwnData();
      if (!answersMeanwhile(context)) next(context);
    };
    handlers.add({type, std::move(handle)});
  }
  auto vote = [this, next = *handlers.find(machines::payloadTypeOf<VoteRequest>())](Context& context) {
    const auto request = machines::fromPayload<VoteRequest>(context.payload());
    if (request.isOK() && concernsThisSet(*request)) noteApplied(request->term);
    next(context);
  };
  handlers.add({machines::payloadTypeOf<VoteRequest>(), std::move(vote)});
  // What was written just before counts: others are to have it, too.
  auto stepDown = [this, next = *handlers.find(machines::payloadTypeOf<StepDown>())](Context& context) {
    noteApplied(0);
    notePositions();
    next(context);
  };
  handlers.add({machines::payloadTypeOf<StepDown>(), std::move(stepDown)});
  // One that is asked to stand is judged by what it tells of itself: reports of what it has applied come at a slower
  // pace.
  for (const PayloadType type : {machines::payloadTypeOf<StepUpRequest>(), machines::payloadTypeOf<StepUp>()}) {
    auto stand = [this, next = *handlers.find(type)](Context& context) {
      noteApplied(0);
      next(context);
    };
    handlers.add({type, std::move(stand)});
  }
  handlers.add(on<Down>([this](const Down& down) { lost(down); }));
  return handlers;
}

/// Under fsyncLock a document is not written until the operator says so, and what was decided since has to wait. To the
/// others this member is alive all the same. The first heartbeat of each waits to be taken in: it is no longer silent
/// when the document has been written. The second answer that comes of it does not say when it was sent: its way would
/// seem to have taken as long as the writing.
bool TopologyActor::answersMeanwhile(const Context& context) {
  if (!awaitsDocument() || context.expectsReply()) return false;
  if (context.payload().type() != machines::payloadTypeOf<HeartbeatRequest>()) return false;
  const auto request = machines::fromPayload<HeartbeatRequest>(context.payload());
  if (!request.isOK()) return false;
  const auto reply = answerUnheard(snapshot(), *request);
  if (!reply) return false;
  tell(Address(reply->to, kTopologyPath), machines::toMessage(*reply));
  if (!unheard_.insert(reply->to).second) return true;
  HeartbeatRequest kept = *request;
  kept.sentAt = 0;
  take(Event(std::move(kept)));
  return true;
}

void TopologyActor::onStart() {
  updatePeers();
  MachineHost::onStart();
  noteApplied(0);
}

/// What anybody else says must not raise the term in which positions count.
bool TopologyActor::concernsThisSet(const VoteRequest& request) const {
  const machines::Snapshot<Topology> now = snapshot();
  return !request.dryRun && isOfThisSet(now.document, request) && isPlausibleTerm(now, request.term);
}

void TopologyActor::noteApplied(int64_t votingTerm) {
  if (!parts_.appliedWhenVoting) return;
  const OpTime applied = parts_.appliedWhenVoting(votingTerm);
  const auto& known = snapshot().memory;
  if (applied != OpTime{}) take(Event(AppliedAdvanced{applied, known.durable, known.source}));
}

/// What members have reported is fresher than what their heartbeats told.
void TopologyActor::notePositions() {
  if (!parts_.positions) return;
  for (const auto& [host, position] : parts_.positions()) take(Event(MemberAdvanced{host, position.applied}));
}

void TopologyActor::noteOwnData() {
  if (snapshot().document.config || !parts_.holdsData) return;
  const bool held = parts_.holdsData();
  if (held != snapshot().memory.ownData) take(Event(OwnData{held}));
}

/// Between two lives this node is nothing to clients: least of all a primary.
void TopologyActor::onStop(const Status& reason) {
  MachineHost::onStop(reason);
  if (parts_.refuseWrites) parts_.refuseWrites();
  shown_.topology.memory = {};
  shown_.contacts.clear();
  parts_.membership->publish(shown_);
  if (parts_.changed && !reason.isOK() && reason.code() != ErrorCode::kInterruptedAtShutdown)
    parts_.changed(shown_, reason.toString());
}

/// The members of the config, those of a config to come, and recent callers: an answer needs a way,
/// also to a node that this one's config no longer names and that does not know it.
void TopologyActor::updatePeers() {
  std::set<NodeName> peers;
  const auto& now = snapshot();
  if (now.document.config) addHosts(peers, *now.document.config);
  if (now.memory.change) addHosts(peers, now.memory.change->next);
  forgetCallers(peers);
  for (const auto& [host, when] : calledAt_) peers.insert(host);
  peers.erase(node().name());
  std::erase_if(contacts_, [&](const auto& contact) { return !peers.contains(contact.first); });
  if (peers == peers_) return;
  peers_ = std::move(peers);
  if (parts_.setPeers) parts_.setPeers({peers_.begin(), peers_.end()});
}

/// Those that have called last are kept: they await answers.
void TopologyActor::forgetCallers(const std::set<NodeName>& members) {
  std::vector<std::pair<TimePoint, NodeName>> strangers;
  const TimePoint oldest = environment().now() - kCallerIsKept;
  std::erase_if(calledAt_, [&](const auto& call) { return call.second < oldest; });
  for (const auto& [host, when] : calledAt_)
    if (!members.contains(host)) strangers.emplace_back(when, host);
  if (strangers.size() <= kMostStrangers) return;
  std::ranges::sort(strangers, std::greater<>());
  for (size_t i = kMostStrangers; i < strangers.size(); ++i) calledAt_.erase(strangers[i].second);
}

bson::Document TopologyActor::describe() const {
  bson::Builder out;
  out.append("document", MachineHost::describe());
  out.append("memory", machines::toBson(snapshot().memory));
  return out.finish();
}

void TopologyActor::unanswered(const Event& event, Context asker) {
  if (const auto command = commandOf(event))
    open_.insert_or_assign(*command, Open{std::move(asker), hostsIn(event), {}});
  else if (std::holds_alternative<VoteRequest>(event) || std::holds_alternative<HeartbeatRequest>(event))
    messageAsker_ = std::move(asker);
}

/// Members tell each other; an operator's command asks, and gets what the member would have been told.
void TopologyActor::answerMessage(const machines::Outcome<Topology>& outcome) {
  if (!messageAsker_) return;
  Context asker = std::move(*messageAsker_);
  messageAsker_.reset();
  for (const auto& effect : outcome.effects) {
    const auto* sent = std::get_if<machines::Send<Topology>>(&effect);
    if (!sent) continue;
    if (const auto* vote = std::get_if<VoteReply>(&sent->message)) return asker.reply(local(*vote));
    if (const auto* heartbeat = std::get_if<HeartbeatReply>(&sent->message)) return asker.reply(local(*heartbeat));
  }
}

/// A new primary neither applies what it catches up with nor is ready for writes before the operations of its last role
/// have ended. By then it may have lost its term.
Task<StatusWith<std::optional<TopologyActor::Event>>> TopologyActor::perform(Action action) {
  if (const auto term = termOf(action)) {
    if (parts_.untilOldRoleEnded) co_await parts_.untilOldRoleEnded();
    const auto& now = snapshot().memory;
    if (now.term != *term || !leads(now.phase)) co_return std::optional<Event>();
  }
  if (const auto* refuse = std::get_if<RefuseWrites>(&action)) co_return co_await refuseWrites(*refuse);
  co_return std::visit([this](const auto& one) { return done(one); }, action);
}

/// What members have reported since the attempt was decided on has not come by another way.
Task<StatusWith<std::optional<TopologyActor::Event>>> TopologyActor::refuseWrites(RefuseWrites action) {
  WritesEnded ended{snapshot().memory.term, snapshot().memory.applied, action.attempt};
  if (parts_.refuseWrites) parts_.refuseWrites();
  if (parts_.lastWrite) ended.applied = co_await parts_.lastWrite();
  notePositions();
  co_return std::optional<Event>(ended);
}

std::optional<Topology::Event> TopologyActor::done(const AnnounceRole& role) {
  const bool isElected = role.state == MemberState::kPrimary && shown_.state() != MemberState::kPrimary;
  publish(role.why);
  if (!isElected) return {};
  const auto now = environment().wallNow().time_since_epoch();
  return Event(Elected{role.term, {std::chrono::duration_cast<Millis>(now).count()}});
}

std::optional<Topology::Event> TopologyActor::done(const AcceptWrites& accept) {
  if (parts_.acceptWrites) parts_.acceptWrites(accept.term);
  return {};
}

/// The fence closes first: an operation that is killed may be retried at once.
std::optional<Topology::Event> TopologyActor::done(const InterruptOperations&) {
  if (parts_.refuseWrites) parts_.refuseWrites();
  if (!parts_.interruptOperations) return {};
  const auto operations = parts_.interruptOperations();
  shown_.figures.countOperations(operations.killed, operations.left);
  return {};
}

std::optional<Topology::Event> TopologyActor::done(const CatchUp& catchUp) {
  if (!parts_.catchUp) return Event(CatchUpDone{catchUp.term});
  parts_.catchUp(catchUp);
  return {};
}

std::optional<Topology::Event> TopologyActor::done(const Drain& drain) {
  if (!parts_.drain) return Event(DrainDone{drain.term});
  parts_.drain(drain);
  return {};
}

/// The data layer counts by that config since `adopted`: nothing comes any more that only a majority of an earlier one
/// has. What the machine was told last of what is applied may be older by the pace of these reports.
std::optional<Topology::Event> TopologyActor::done(const InstallConfig& action) {
  publish();
  if (!leads(snapshot().memory.phase)) return {};
  return Event(
      ConfigInUse{action.config.configVersion(), parts_.newestCommitted ? parts_.newestCommitted() : OpTime{}});
}

std::optional<Topology::Event> TopologyActor::done(const Conclude& outcome) {
  const auto found = open_.find(outcome.command);
  if (found == open_.end()) return {};
  Open open = std::move(found->second);
  open_.erase(found);
  if (outcome.outcome.isOK()) open.asker.reply(local(Done{}));
  else open.asker.fail(withLinkErrors(outcome.outcome, open));
  return {};
}

/// While their links are there: those to hosts that are in no config close with the end of the command.
void TopologyActor::noteLinkErrors() {
  if (!parts_.linkErrors) return;
  for (auto& [command, open] : open_) {
    for (const NodeName& host : open.hosts) {
      std::string why = parts_.linkErrors(host);
      if (why.empty()) open.linkErrors.erase(host);
      else open.linkErrors.insert_or_assign(host, std::move(why));
    }
  }
}

/// Members that do not answer may be there, and refuse the link or be refused by it.
Status TopologyActor::withLinkErrors(const Status& outcome, const Open& open) {
  const bool isSilence = outcome == ErrorCode::kNodeNotFound || outcome == ErrorCode::kHostUnreachable;
  if (!isSilence || open.linkErrors.empty()) return outcome;
  std::string text = outcome.reason();
  for (const auto& [host, why] : open.linkErrors) text += "; no link to " + host + ": " + why;
  return {outcome.code(), std::move(text)};
}

void TopologyActor::heardFrom(const Envelope& envelope) {
  const NodeName& from = envelope.from.node();
  if (from.empty() || from == node().name()) return;  // a command
  calledAt_[from] = environment().now();
  updatePeers();
  if (!peers_.contains(from)) return;  // one of very many strangers
  heard_.insert(from);
  watchMember(from);
  Contact& contact = contacts_[from];
  contact.receivedFrom = environment().wallNow();
  // Others may have told of it before.
  if (contact.upSince == WallTime{} || !hears(snapshot(), from)) contact.upSince = contact.receivedFrom;
  noteRoundTrip(envelope, contact);
}

/// Of the very request that is answered: one that was lost, or overtaken, measures nothing. A time that this node's
/// clock has not reached is none that it has sent; it may be too large to reckon with.
void TopologyActor::noteRoundTrip(const Envelope& envelope, Contact& contact) const {
  if (envelope.payload.type() != machines::payloadTypeOf<HeartbeatReply>()) return;
  const auto reply = machines::fromPayload<HeartbeatReply>(envelope.payload);
  if (!reply.isOK()) return;
  const TimePoint now = environment().now();
  if (reply->sentAt <= 0 || reply->sentAt > micros(now)) return;
  contact.roundTrip = now - TimePoint(std::chrono::microseconds(reply->sentAt));
}

void TopologyActor::sending(Topology::Message& message) {
  if (auto* request = std::get_if<HeartbeatRequest>(&message)) request->sentAt = micros(environment().now());
}

void TopologyActor::watchMember(const NodeName& host) {
  const auto [watched, isNew] = watches_.try_emplace(host, Watch::kStands);
  watched->second = Watch::kStands;
  if (isNew) watch(Address(host, kTopologyPath));
}

/// The member's topology has ended, or the connection to its node. It is out of reach if that is still so after a
/// second look; then it is watched again as soon as it is heard of.
void TopologyActor::lost(const Down& down) {
  const NodeName host = down.who.node();
  const auto watched = watches_.find(host);
  if (watched == watches_.end()) return;
  const bool again = watched->second == Watch::kBroken;
  if (again || !peers_.contains(host)) {
    watches_.erase(watched);
    if (again) take(Event(Unreachable{host}));
    return;
  }
  watched->second = Watch::kBroken;
  after(kSecondLook, [this, host] {
    if (watches_.contains(host)) watch(Address(host, kTopologyPath));
  });
}

void TopologyActor::transitioned(const machines::Outcome<Topology>& outcome) {
  for (const auto& effect : outcome.effects) {
    const auto* sent = std::get_if<machines::Send<Topology>>(&effect);
    if (!sent || !std::holds_alternative<HeartbeatRequest>(sent->message)) continue;
    contacts_[sent->to].sentTo = environment().wallNow();
  }
  unheard_.clear();
  shown_.figures.count(before_, outcome);
  const auto now = environment().wallNow().time_since_epoch();
  shown_.figures.noteVote(before_, snapshot(), {std::chrono::duration_cast<Millis>(now).count()});
  before_ = snapshot();
  publish();
  answerMessage(outcome);
}

void TopologyActor::reportRefusals(const ReplicaView& next) const {
  if (!parts_.refusalChanged) return;
  for (const MemberView& member : next.topology.memory.members)
    if (member.refusal != refusalOf(shown_, member.host)) parts_.refusalChanged(member.host, member.refusal);
}

/// A primary counts all as there for the time being (rebuildViews): a member is up once a message of its own has come.
void TopologyActor::reportReach(const ReplicaView& next) {
  if (!parts_.reachChanged) return;
  const auto hasLeft = [&](const NodeName& host) {
    return std::ranges::none_of(next.topology.memory.members, [&](const MemberView& m) { return m.host == host; });
  };
  std::erase_if(heard_, hasLeft);
  std::erase_if(up_, hasLeft);
  for (const MemberView& member : next.topology.memory.members) {
    if (!member.isAlive()) {
      heard_.erase(member.host);
      if (up_.erase(member.host)) parts_.reachChanged(member.host, false);
    } else if (heard_.contains(member.host) && up_.insert(member.host).second) {
      parts_.reachChanged(member.host, true);
    }
  }
}

void TopologyActor::publish(const std::string& why) {
  ReplicaView next = shown_;
  next.topology = snapshot();
  next.contacts = contacts_;
  const bool changed = !looksTheSame(shown_, next), membersChanged = !membersLookTheSame(shown_, next);
  // What learns of the new role must not find this one's right to write still given (state_transition.hpp).
  if (shown_.isWritable() && !next.isWritable() && parts_.refuseWrites) parts_.refuseWrites();
  reportRefusals(next);
  reportReach(next);
  if (parts_.configChanged && next.config() && next.config() != shown_.config())
    parts_.configChanged(shown_.config(), *next.config());
  shown_ = next;
  parts_.membership->publish(std::move(next));
  if (changed && parts_.changed) parts_.changed(shown_, why);
  else if (membersChanged && parts_.membersChanged) parts_.membersChanged(shown_);
}

}  // namespace troupe::replication
