#include "actors/commands/set_picture.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/commands/set_members.hpp"
#include "actors/kernel/node.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/transport/links.hpp"

namespace troupe::commands {

namespace {

using replication::MemberConfig;
using replication::MemberState;
using replication::ReplicaView;

/// How long a member may take to show an end of its log.
constexpr Duration kLogPatience = std::chrono::seconds(1);

/// Seconds between the oldest and the newest entry of each member's log that could be read.
using LogWindows = std::map<std::string, int64_t>;

bson::Document endOfLog(int32_t direction) {
  return bson::doc("find", "oplog.rs", "sort", bson::doc("$natural", direction), "limit", int32_t{1}, "projection",
                   bson::doc("ts", 1), "singleBatch", true);
}

/// The time of the entry that a member found; nothing: it has none, or cannot be asked.
Task<std::optional<int64_t>> secondsFound(MemberQuestion& question, size_t member) {
  const auto found = co_await question.next(member);
  if (!found.isOK() || found->empty()) co_return std::nullopt;
  const bson::Element time = found->front()["ts"];
  if (!time.is(bson::Type::kTimestamp)) co_return std::nullopt;
  co_return static_cast<int64_t>(time.asTimestamp().seconds);
}

/// All of the members at once, this node among them: it answers without a link.
Task<LogWindows> askLogWindows(Node& node, std::vector<std::string> members) {
  MemberQuestion oldest(node, members, "local", endOfLog(1), kLogPatience);
  MemberQuestion newest(node, members, "local", endOfLog(-1), kLogPatience);
  LogWindows windows;
  for (size_t i = 0; i < members.size(); ++i) {
    const auto from = co_await secondsFound(oldest, i);
    const auto to = co_await secondsFound(newest, i);
    // The log may have been cut between the two answers.
    if (from && to) windows[members[i]] = std::max<int64_t>(*to - *from, 0);
  }
  co_return windows;
}

/// The state of a member: this node's own, or the newest that another one has told.
struct Known {
  MemberState state = MemberState::kUnknown;
  bool isUp = false;
  OpTime applied;
  std::string source, message;
  std::optional<double> pingMillis;
};

Known knownOfSelf(const server::ServerContext& server, const ReplicaView& view) {
  return {.state = view.state(),
          .isUp = true,
          .applied = server.progress->applied(),
          .source = server.membership->syncSource()};
}

Known knownOfOther(const server::ServerContext& server, const std::string& host, const ReplicaView& view,
                   const replication::Positions& positions) {
  const auto& others = view.topology.memory.members;
  const auto other = std::find_if(others.begin(), others.end(), [&](const auto& one) { return one.host == host; });
  if (other == others.end()) return {};
  const auto linkErrors = [&server](const std::string& peer) { return link::linkError(server.node, peer); };
  Known known{.state = other->isAlive() ? other->state : MemberState::kDown,
              .isUp = other->isUp(),
              .applied = other->applied,
              .source = other->isUp() ? other->source : std::string(),
              .message = replication::messageFor(*other, linkErrors)};
  // The primary hears of positions sooner than heartbeats tell them.
  if (const auto at = positions.find(host); at != positions.end())
    known.applied = std::max(known.applied, at->second.applied);
  const auto contact = view.contacts.find(host);
  if (contact != view.contacts.end() && contact->second.upSince != WallTime{}) {
    const auto roundTrip = std::chrono::duration_cast<std::chrono::microseconds>(contact->second.roundTrip);
    known.pingMillis = static_cast<double>(roundTrip.count()) / 1000;
  }
  return known;
}

/// What the others lag behind: what the primary has applied, or the newest that is known while nobody leads.
OpTime headOf(const std::map<std::string, Known>& known, const std::string& primary) {
  const auto leader = known.find(primary);
  if (leader != known.end()) return leader->second.applied;
  OpTime newest;
  for (const auto& [name, member] : known) newest = std::max(newest, member.applied);
  return newest;
}

double lagOf(const Known& member, const OpTime& head, const EntryDates& dates) {
  if (member.applied == OpTime()) return 0;  // an arbiter, or one that nothing was heard of
  return std::max(0.0, dates.secondsOf(head) - dates.secondsOf(member.applied));
}

bson::Document timeOf(const OpTime& at) {
  return bson::doc("seconds", static_cast<int64_t>(at.timestamp.seconds), "increment",
                   static_cast<int64_t>(at.timestamp.increment));
}

void appendMember(bson::Builder& out, const MemberConfig& config, const Known& known, bool isSelf, const OpTime& head,
                  const LogWindows& windows, const EntryDates& dates) {
  out.append("name", config.host).append("id", config.id).append("self", isSelf);
  out.append("state", machines::EnumNames<MemberState>::name(known.state)).append("health", known.isUp ? 1 : 0);
  out.append("votes", config.votes).append("priority", config.priority).append("hidden", config.hidden);
  out.append("arbiter", config.arbiterOnly).append("delaySeconds", config.secondaryDelaySecs);
  out.append("syncSource", known.source).append("applied", timeOf(known.applied));
  out.append("lagSeconds", lagOf(known, head, dates));
  const auto window = windows.find(config.host);
  if (window != windows.end()) out.append("logWindowSeconds", window->second);
  else out.append("logWindowSeconds", bson::Null());
  if (known.pingMillis) out.append("pingMillis", *known.pingMillis);
  else out.append("pingMillis", bson::Null());
  out.append("message", known.message);
}

}  // namespace

Task<bson::Document> pictureOfSet(server::ServerContext& server) {
  bson::Builder out;
  const std::string self = ownName(server);
  if (!server.membership) {
    out.append("set", "").append("self", self).openArray("members").close();
    co_return out.finish();
  }
  std::vector<std::string> withLogs;
  if (const auto before = server.membership->view(); before->config()) {
    for (const MemberConfig& member : before->config()->members)
      if (!member.arbiterOnly) withLogs.push_back(member.host);
  }
  const LogWindows windows = co_await askLogWindows(server.node, std::move(withLogs));
  const auto view = server.membership->view();  // as it is when all have answered
  const auto positions = server.progress->positions();
  const OpTime committed = server.progress->commitPoint();
  out.append("set", server.membership->setName()).append("term", view->topology.memory.term).append("self", self);
  bson::Builder commitPoint;
  commitPoint.appendAll(timeOf(committed)).append("term", committed.term);
  out.append("commitPoint", commitPoint.finish()).openArray("members");
  if (const auto& config = view->config()) {
    std::map<std::string, Known> known;
    for (const MemberConfig& member : config->members)
      known[member.host] =
          member.host == self ? knownOfSelf(server, *view) : knownOfOther(server, member.host, *view, positions);
    const OpTime head = headOf(known, view->primary());
    if (head > server.progress->applied())
      server.progress->dates().noteHeard(head.timestamp, {server::wallMillis(server)});
    for (const MemberConfig& member : config->members) {
      out.pushDocument();
      appendMember(out, member, known[member.host], member.host == self, head, windows, server.progress->dates());
      out.close();
    }
  }
  co_return out.close().finish();
}

}  // namespace troupe::commands
