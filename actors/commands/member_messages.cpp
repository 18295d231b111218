// replSetRequestVotes and replSetHeartbeat: what members tell each other over links, as commands that the same machine
// answers. They speak as a member, whose term and state are believed: no operator's role allows them.
#include "actors/commands/families.hpp"
#include "actors/kernel/node.hpp"
#include "actors/machines/message_binding.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/clock/shown_op_time.hpp"
#include "messaging/description/bson_archive.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {
using namespace server;

namespace {

using replication::ConfigVersion;
using replication::HeartbeatReply;
using replication::HeartbeatRequest;
using replication::VoteReply;
using replication::VoteRequest;
using troupe::OpTime;

constexpr Duration kPatience = std::chrono::seconds(30);

/// The answer of the topology to what a member would have told it.
template <class Reply, class Message>
Task<StatusWith<Reply>> askTopology(ServerContext& server, Message message) {
  if (!server.membership) co_return Status(ErrorCode::kNoReplicationEnabled, "not running with --replSet");
  if (!server.membership->view()->config())
    co_return Status(ErrorCode::kNotYetInitialized, "no replset config has been received");
  const Address topology = server.node.address(replication::kTopologyPath);
  TROUPE_CO_ASSIGN(auto answer, co_await server.node.ask(topology, machines::toMessage(message), kPatience));
  co_return answer.template local<Reply>();
}

OpTime opTimeOf(const bson::Element& given) {
  if (!given.is(bson::Type::kDocument)) return {};
  const bson::View at = given.asDocument();
  return {at["t"].toInt64(), at["ts"].is(bson::Type::kTimestamp) ? at["ts"].asTimestamp() : bson::Timestamp{}};
}

ConfigVersion configOf(const Request& request) {
  return {request.arg("configVersion").toInt64(0), request.arg("configTerm").toInt64(ConfigVersion::kNoTerm)};
}

Task<Status> requestVotes(Request& request) {
  VoteRequest vote;
  vote.setName = request.arg("setName").toStringOr();
  vote.term = request.arg("term").toInt64();
  vote.dryRun = request.flag("dryRun");
  vote.config = configOf(request);
  vote.applied = opTimeOf(request.arg("lastAppliedOpTime"));
  if (const auto* membership = request.server().membership; membership && membership->view()->config()) {
    const auto& members = membership->view()->config()->members;
    const int64_t index = request.arg("candidateIndex").toInt64(-1);
    if (index < 0 || index >= static_cast<int64_t>(members.size()))
      co_return Status(ErrorCode::kBadValue, "'candidateIndex' must be the place of a member in the configuration");
    vote.from = members[static_cast<size_t>(index)].host;
  }
  TROUPE_CO_ASSIGN(const auto answer, co_await askTopology<VoteReply>(request.server(), std::move(vote)));
  request.reply().append("term", answer.term).append("voteGranted", answer.granted).append("reason", answer.reason);
  co_return Status::OK();
}

void appendHeartbeat(bson::Builder& out, const HeartbeatReply& heartbeat) {
  const auto& sender = heartbeat.sender;
  out.append("set", heartbeat.setName).append("term", sender.term).append("state", static_cast<int32_t>(sender.state));
  out.append("v", sender.config.version).append("configTerm", sender.config.term);
  out.append("opTime", shownOpTime(sender.applied))
      .append("durableOpTime", shownOpTime(sender.durable))
      .append("primary", sender.primary)
      .append("syncingTo", sender.source);
  if (sender.electedAt != bson::Date{}) out.append("electionTime", replication::electionTimeOf(sender.electedAt));
  out.openArray("others");
  for (const auto& other : sender.others) out.push(bson::doc("host", other.host, "distance", other.distance));
  out.close();
  if (heartbeat.newer) out.append("config", machines::toBson(*heartbeat.newer));
}

Task<Status> heartbeat(Request& request) {
  HeartbeatRequest message;
  message.setName = request.body().first().toStringOr();
  message.sender.from = request.arg("from").toStringOr();
  message.sender.term = request.arg("term").toInt64();
  message.sender.config = configOf(request);
  if (const auto* membership = request.server().membership) message.to = membership->self();
  TROUPE_CO_ASSIGN(const auto answer, co_await askTopology<HeartbeatReply>(request.server(), std::move(message)));
  if (!answer.refusal.isOK()) co_return answer.refusal;
  appendHeartbeat(request.reply(), answer);
  co_return Status::OK();
}

constexpr Argument kVoteArguments[] = {
    stringArg("setName").required(),       numberArg("term").required(), numberArg("candidateIndex").required(),
    numberArg("configVersion").required(), numberArg("configTerm"),      flagArg("dryRun"),
    documentArg("lastAppliedOpTime")};
constexpr Argument kHeartbeatArguments[] = {numberArg("configVersion").required(), numberArg("configTerm"),
                                            stringArg("from"), numberArg("term").required()};

constexpr Command kMemberMessagesCommands[] = {
    {.name = "replSetRequestVotes",
     .summary = "asks a member for its vote, as a candidate does",
     .requirement = {Requirement::Target::kCluster, auth::Action::kInternal},
     .adminOnly = true,
     .arguments = kVoteArguments,
     .run = requestVotes},
    {.name = "replSetHeartbeat",
     .summary = "tells a member what another one is, and is told what it is itself",
     .requirement = {Requirement::Target::kCluster, auth::Action::kInternal},
     .adminOnly = true,
     .arguments = kHeartbeatArguments,
     .run = heartbeat},
};

}  // namespace

std::span<const Command> memberMessageCommands() { return kMemberMessagesCommands; }

}  // namespace troupe::commands
