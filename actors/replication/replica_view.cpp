#include "actors/replication/replica_view.hpp"

#include <algorithm>

#include "messaging/clock/shown_op_time.hpp"
#include "messaging/description/bson_archive.hpp"

namespace troupe::replication {

namespace {

int64_t millis(WallTime at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}
int64_t seconds(Duration d) { return std::chrono::duration_cast<std::chrono::seconds>(d).count(); }

/// Shells of JavaScript count on with these: theirs is no number once it is 64 bits wide.
void appendSmall(bson::Builder& reply, std::string_view name, int64_t value) {
  if (value == static_cast<int32_t>(value)) reply.append(name, static_cast<int32_t>(value));
  else reply.append(name, value);
}

/// Appends the hosts of visible members for hello: electable ones, passive ones, arbiters.
void appendHosts(bson::Builder& reply, const ReplicaSetConfig& config) {
  std::vector<std::string> hosts, passives, arbiters;
  for (const MemberConfig& member : config.members) {
    if (member.hidden) continue;
    (member.arbiterOnly ? arbiters : member.priority > 0 ? hosts : passives).push_back(member.host);
  }
  reply.append("hosts", hosts);
  if (!passives.empty()) reply.append("passives", passives);
  if (!arbiters.empty()) reply.append("arbiters", arbiters);
}

void appendSelf(bson::Builder& reply, const MemberConfig& self) {
  if (self.arbiterOnly) reply.append("arbiterOnly", true);
  if (self.priority == 0 && !self.arbiterOnly) reply.append("passive", true);
  if (self.hidden) reply.append("hidden", true);
  if (self.secondaryDelaySecs > 0) reply.append("secondaryDelaySecs", self.secondaryDelaySecs);
  if (!self.tags.empty()) {
    reply.openDocument("tags");
    for (const auto& [key, value] : self.tags) reply.append(key, value);
    reply.close();
  }
}

void appendLastWrite(bson::Builder& reply, const ReplicationProgress::Times& times, const EntryDates& dates) {
  const OpTime committed = std::min(times.commitPoint, times.applied);
  reply.openDocument("lastWrite");
  reply.append("opTime", shownOpTime(times.applied)).append("lastWriteDate", dates.of(times.applied));
  reply.append("majorityOpTime", shownOpTime(committed)).append("majorityWriteDate", dates.of(committed));
  reply.close();
}

MemberState stateFor(const MemberView& member) { return member.isAlive() ? member.state : MemberState::kDown; }

void appendState(bson::Builder& reply, MemberState state) {
  const std::string_view name = machines::EnumNames<MemberState>::name(state);
  reply.append("state", static_cast<int32_t>(state));
  reply.append("stateStr", state == MemberState::kDown ? std::string_view("(not reachable/healthy)") : name);
}

/// No dates for a member that is not there and of which nothing is known: they would be of 1970. Shells count on them
/// where a member is well.
void appendOpTimes(bson::Builder& reply, const MemberConfig& member, const Position& at, const EntryDates& dates,
                   bool isUp) {
  if (member.arbiterOnly) return;
  reply.append("optime", shownOpTime(at.applied)).append("optimeDurable", shownOpTime(at.durable));
  if (!isUp && at.applied == OpTime{}) return;
  reply.append("optimeDate", dates.of(at.applied)).append("optimeDurableDate", dates.of(at.durable));
  if (at.applied != OpTime{}) reply.append("lastAppliedWallTime", dates.of(at.applied));
  if (at.durable != OpTime{}) reply.append("lastDurableWallTime", dates.of(at.durable));
}

void appendSource(bson::Builder& reply, const ReplicaSetConfig& config, const NodeName& source) {
  const MemberConfig* const member = config.member(source);
  reply.append("syncSourceHost", source).append("syncSourceId", member ? member->id : int32_t{-1});
}

void appendConfigVersion(bson::Builder& reply, const ConfigVersion& config) {
  appendSmall(reply, "configVersion", config.version);
  appendSmall(reply, "configTerm", config.term);
}

/// Nothing for a primary that has not said so yet: one is elected before it knows the time.
void appendElection(bson::Builder& reply, bson::Date at) {
  if (at == bson::Date{}) return;
  reply.append("electionTime", electionTimeOf(at)).append("electionDate", at);
}

/// What its state would not say of a member that falls behind.
std::string_view infoFor(const ReplicaView& view, const NodeName& source) {
  const MemberState state = view.state();
  if (view.topology.memory.tooStale && state == MemberState::kRecovering) return "too stale to catch up: see resync";
  const bool fetches = state == MemberState::kSecondary || state == MemberState::kRecovering;
  return fetches && source.empty() ? "could not find member to sync from" : "";
}

void appendMyself(bson::Builder& reply, const MemberConfig& member, const ReplicaView& view, const NodeName& source,
                  int64_t uptimeSecs, const EntryDates& dates) {
  reply.append("health", 1.0);
  appendState(reply, view.state());
  reply.append("uptime", uptimeSecs);
  appendOpTimes(reply, member, {view.topology.memory.applied, view.topology.memory.durable}, dates, true);
  appendSource(reply, *view.config(), source);
  reply.append("infoMessage", infoFor(view, source));
  if (view.state() == MemberState::kPrimary) appendElection(reply, view.topology.memory.electedAt);
  const ConfigVersion config = view.config()->configVersion();
  appendConfigVersion(reply, config);
  reply.append("self", true);
  reply.append("lastHeartbeatMessage", "");
}

void appendOther(bson::Builder& reply, const MemberConfig& config, const MemberView& member, const ReplicaView& view,
                 WallTime now, const EntryDates& dates, const LinkErrors& linkErrors) {
  const auto contact = view.contacts.find(member.host);
  const Contact times = contact == view.contacts.end() ? Contact{} : contact->second;
  reply.append("health", member.isUp() ? 1.0 : 0.0);
  appendState(reply, stateFor(member));
  const bool known = times.upSince != WallTime{};
  reply.append("uptime", member.isUp() && known ? seconds(now - times.upSince) : int64_t{0});
  appendOpTimes(reply, config, {member.applied, member.durable}, dates, member.isUp());
  reply.append("lastHeartbeat", bson::Date{millis(times.sentTo)});
  reply.append("lastHeartbeatRecv", bson::Date{millis(times.receivedFrom)});
  reply.append("pingMs", std::chrono::duration_cast<std::chrono::milliseconds>(times.roundTrip).count());
  reply.append("lastHeartbeatMessage", messageFor(member, linkErrors));
  appendSource(reply, *view.config(), member.source);
  reply.append("infoMessage", "");
  if (stateFor(member) == MemberState::kPrimary) appendElection(reply, member.electedAt);
  appendConfigVersion(reply, member.config);
}

void appendMembers(bson::Builder& reply, const ReplicaView& view, const NodeName& source, WallTime now,
                   int64_t uptimeSecs, const EntryDates& dates, const LinkErrors& linkErrors) {
  const auto& topology = view.topology;
  reply.openArray("members");
  for (const MemberConfig& member : view.config()->members) {
    reply.pushDocument().append("_id", member.id).append("name", member.host);
    const auto& others = topology.memory.members;
    const auto other = std::find_if(others.begin(), others.end(), [&](const auto& m) { return m.host == member.host; });
    if (member.host == topology.document.self) appendMyself(reply, member, view, source, uptimeSecs, dates);
    else if (other != others.end()) appendOther(reply, member, *other, view, now, dates, linkErrors);
    reply.close();
  }
  reply.close();
}

void appendOptimes(bson::Builder& reply, const ReplicationProgress::Times& times, const EntryDates& dates) {
  reply.openDocument("optimes");
  reply.append("lastCommittedOpTime", shownOpTime(times.commitPoint));
  reply.append("lastCommittedWallTime", dates.of(times.commitPoint));
  reply.append("readConcernMajorityOpTime", shownOpTime(std::min(times.commitPoint, times.applied)));
  reply.append("appliedOpTime", shownOpTime(times.applied)).append("durableOpTime", shownOpTime(times.durable));
  reply.append("lastAppliedWallTime", dates.of(times.applied)).append("lastDurableWallTime", dates.of(times.durable));
  reply.close();
}

/// What is known of a member that is not up, without the reason.
std::string_view absenceOf(const MemberView& member) {
  if (!member.isAlive()) return "no sign of life within the election timeout";
  return member.state == MemberState::kDown ? "no connection" : "not heard of yet";
}

}  // namespace

/// A refusal comes first: the member may have begun to refuse before its last sign of life expires.
std::string messageFor(const MemberView& member, const LinkErrors& linkErrors) {
  if (!member.refusal.empty()) return member.refusal;
  if (member.isUp()) return "";
  std::string message(absenceOf(member));
  if (!linkErrors) return message;
  if (const std::string why = linkErrors(member.host); !why.empty()) message += ": " + why;
  return message;
}

Duration applyDelayOf(const ReplicaView& view) {
  const auto& config = view.config();
  if (!config) return Duration::zero();
  const MemberConfig* const self = config->member(view.topology.document.self);
  return self ? std::chrono::seconds(self->secondaryDelaySecs) : Duration::max();
}

PrimaryFinder primaryFinder(const Membership& membership) {
  return [&membership](std::string_view set) -> std::optional<std::string> {
    if (set != membership.setName()) return std::nullopt;
    NodeName primary = membership.view()->primary();
    if (primary.empty()) return std::nullopt;
    return primary;
  };
}

bson::ObjectId electionIdOf(int64_t term) {
  bson::ObjectId id;
  id.bytes = {0x7f, 0xff, 0xff, 0xff};
  for (size_t i = 0; i < 8; ++i) id.bytes[4 + i] = static_cast<uint8_t>(static_cast<uint64_t>(term) >> (8 * (7 - i)));
  return id;
}

void appendHello(bson::Builder& reply, const Membership& membership, const ReplicaView& view,
                 const ReplicationProgress::Times& times, const EntryDates& dates, bool modern) {
  const char* writable = modern ? "isWritablePrimary" : "ismaster";
  const auto& config = view.config();
  if (!config || view.state() == MemberState::kRemoved) {
    reply.append(writable, false).append("secondary", false).append("isreplicaset", true);
    reply.append("info",
                 config ? "this node was removed from its replica set" : "Does not have a valid replica set config");
    return;
  }
  appendHosts(reply, *config);
  reply.append("setName", config->id);
  appendSmall(reply, "setVersion", config->version);
  reply.append(writable, view.isWritable()).append("secondary", view.state() == MemberState::kSecondary);
  if (const NodeName primary = view.primary(); !primary.empty()) reply.append("primary", primary);
  const NodeName& self = view.topology.document.self.empty() ? membership.self() : view.topology.document.self;
  if (const MemberConfig* member = config->member(self)) appendSelf(reply, *member);
  reply.append("me", self);
  if (view.isWritable()) reply.append("electionId", electionIdOf(view.topology.memory.term));
  appendLastWrite(reply, times, dates);
}

bson::Document shownConfig(const ReplicaSetConfig& config) {
  bson::Builder shown;
  const bson::Document written = machines::toBson(config);
  for (const bson::Element& field : written.view()) {
    const bool counts = field.name() == "version" || field.name() == "term";
    if (counts) appendSmall(shown, field.name(), field.toInt64());
    else shown.append(field);
  }
  return shown.finish();
}

void appendStatus(bson::Builder& reply, const Membership& membership, const ReplicaView& view,
                  const ReplicationProgress::Times& times, const EntryDates& dates, WallTime now, int64_t uptimeSecs,
                  const LinkErrors& linkErrors) {
  const auto& memory = view.topology.memory;
  const ReplicaSetConfig& config = *view.config();
  reply.append("set", membership.setName()).append("date", bson::Date{millis(now)});
  reply.append("myState", static_cast<int32_t>(view.state())).append("term", memory.term);
  const NodeName source = membership.syncSource();
  appendSource(reply, config, source);
  reply.append("heartbeatIntervalMillis", config.heartbeatInterval().count());
  reply.append("majorityVoteCount", config.majority()).append("writeMajorityCount", config.writeMajority());
  reply.append("votingMembersCount", config.voters());
  reply.append("writableVotingMembersCount",
               static_cast<int32_t>(std::count_if(config.members.begin(), config.members.end(),
                                                  [](const auto& m) { return m.isVoter() && !m.arbiterOnly; })));
  appendOptimes(reply, times, dates);
  if (view.state() == MemberState::kPrimary) {
    reply.openDocument("electionCandidateMetrics").append("lastElectionReason", view.figures.lastReason());
    reply.append("lastElectionDate", memory.electedAt).append("electionTerm", memory.term);
    view.figures.appendCandidacy(reply, memory.term);
    reply.close();
  } else {
    view.figures.appendLastVote(reply);
  }
  appendMembers(reply, view, source, now, uptimeSecs, dates, linkErrors);
}

}  // namespace troupe::replication
