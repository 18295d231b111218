// Commands of operators and tools to a member of a replica set. A standalone node refuses them.
#include <algorithm>
#include <limits>

#include "actors/commands/ddl_support.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/write_support.hpp"
#include "actors/kernel/node.hpp"
#include "actors/replication/oplog_fetcher.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/replication/replication_progress.hpp"
#include "actors/server/default_concerns.hpp"
#include "actors/server/role_check.hpp"
#include "actors/server/server_context.hpp"
#include "actors/server/write_concern.hpp"
#include "actors/storage/collection_writer.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "actors/transport/links.hpp"
#include "messaging/errors/co_status.hpp"
#include "state_machines/replication/topology_messages.hpp"
#include "storage/oplog/oplog_collection.hpp"

namespace troupe::commands {
using namespace server;

namespace {

using machines::Millis;
using replication::Membership;
using replication::ReplicaSetConfig;

/// How long a command waits for the topology beyond what it allows itself.
constexpr Duration kPatience = std::chrono::seconds(30);
/// How much longer the command waits than the topology: its answer tells how the change ended.
constexpr Duration kForAnswer = std::chrono::seconds(5);

Status notReplicated() { return {ErrorCode::kNoReplicationEnabled, "not running with --replSet"}; }
Status notInitiated() { return {ErrorCode::kNotYetInitialized, "no replset config has been received"}; }
/// Of a set that does not name it, a node knows nothing that is still true. It may have been given another name.
Status notMember(const Membership& membership, const ReplicaSetConfig& config) {
  using replication::MemberState;
  std::string text = "Our replica set config is invalid or we are not a member of it: this node is called " +
                     membership.self() + " (--nodeName), and the config names ";
  for (size_t i = 0; i < config.members.size(); ++i) text += (i > 0 ? ", " : "") + config.members[i].host;
  return {ErrorCode::kInvalidReplicaSetConfig, std::move(text),
          bson::doc("state", static_cast<int32_t>(MemberState::kRemoved), "stateStr",
                    machines::EnumNames<MemberState>::name(MemberState::kRemoved))};
}

/// Asks the topology actor; it answers when the command is over.
template <class Command>
Task<Status> askTopology(Request& request, Command command, Duration patience = kPatience) {
  ServerContext& server = request.server();
  if (!server.membership) co_return notReplicated();
  const Address topology = server.node.address(replication::kTopologyPath);
  auto asked = server.node.ask(topology, local(std::move(command)), patience);
  const Answer answer = co_await awaitAnswer(server.node, request.operation(), std::move(asked));
  co_return answer.status();
}

Task<Answer> askFetcher(Request& request, Payload question) {
  Node& node = request.server().node;
  auto asked = node.ask(node.address(replication::kFetcherPath), std::move(question), kPatience);
  co_return co_await awaitAnswer(node, request.operation(), std::move(asked));
}

Task<Status> getStatus(Request& request) {
  const ServerContext& server = request.server();
  if (!server.membership) co_return notReplicated();
  const auto view = server.membership->view();
  if (!view->config()) co_return notInitiated();
  if (view->state() == replication::MemberState::kRemoved) co_return notMember(*server.membership, *view->config());
  const Environment& environment = server.node.environment();
  const auto uptime = std::chrono::duration_cast<std::chrono::seconds>(environment.now() - server.startedAt).count();
  const auto linkErrors = [&server](const replication::NodeName& host) { return link::linkError(server.node, host); };
  replication::appendStatus(request.reply(), *server.membership, *view, server.progress->times(),
                            server.progress->dates(), environment.wallNow(), uptime, linkErrors);
  request.reply().append("lastStableRecoveryTimestamp", server.engine.lastCheckpointTimestamp());
  if (view->state() == replication::MemberState::kStartup2 || request.flag("initialSync"))
    if (auto sync = server.membership->syncStatus()->toBson({wallMillis(server)}); !sync.empty())
      request.reply().append("initialSyncStatus", sync);
  co_return Status::OK();
}

Task<Status> getConfig(Request& request) {
  const Membership* membership = request.server().membership;
  if (!membership) co_return notReplicated();
  const auto view = membership->view();
  if (!view->config()) co_return notInitiated();
  request.reply().append("config", replication::shownConfig(*view->config()));
  co_return Status::OK();
}

/// The config of a set of which this node is the only member, as `rs.initiate()` without arguments asks for.
ReplicaSetConfig configOfOne(const Membership& membership) {
  ReplicaSetConfig config;
  config.id = membership.setName();
  config.members.push_back({.id = 0, .host = membership.self(), .tags = {}});
  return config;
}

StatusWith<ReplicaSetConfig> configToInitiate(const Membership& membership, bson::View given) {
  if (given.empty()) return configOfOne(membership);
  TROUPE_ASSIGN(auto config, ReplicaSetConfig::parse(given));
  if (config.id != membership.setName())
    return Status(ErrorCode::kInvalidReplicaSetConfig, "Attempting to initiate a replica set with name " + config.id +
                                                           ", but command line reports " + membership.setName() +
                                                           "; rejecting");
  if (!config.has(membership.self()))
    return Status(ErrorCode::kInvalidReplicaSetConfig,
                  "No host described in new configuration maps to this node: it is called " + membership.self() +
                      "; use that name, or start it with another --nodeName");
  return config;
}

int64_t arbitersOf(const ReplicaSetConfig& config) {
  return std::ranges::count_if(config.members, [](const auto& member) { return member.arbiterOnly; });
}

/// Arbiters elect, and hold nothing: several of them make a majority of the votes where hardly anybody has the data. A
/// set that has several already is not kept from any other change.
Status checkArbiterCount(const ServerContext& server, int64_t present, const ReplicaSetConfig& next) {
  const int64_t wanted = arbitersOf(next);
  if (wanted <= std::max<int64_t>(1, present)) return Status::OK();
  if (server.parameters.get("allowMultipleArbiters").element().truthy()) return Status::OK();
  return {ErrorCode::kInvalidReplicaSetConfig,
          "A set may have one arbiter, and the config has " + std::to_string(wanted) +
              ": use members with data instead (with votes: 1, priority: 0, hidden: true, if nobody shall read from "
              "them), or start the members with --setParameter allowMultipleArbiters=true"};
}

Task<Status> initiate(Request& request) {
  ServerContext& server = request.server();
  if (!server.membership)
    co_return Status(ErrorCode::kNoReplicationEnabled, "This node was not started with replication enabled.");
  const bson::Element given = request.body().first();
  TROUPE_CO_ASSIGN(auto config, configToInitiate(*server.membership,
                                                 given.is(bson::Type::kDocument) ? given.asDocument() : bson::View()));
  TROUPE_CO_TRY(checkArbiterCount(server, 0, config));
  replication::Initiate command{std::move(config), server.membership->self(), newObjectId(server)};
  co_return co_await askTopology(request, std::move(command));
}

/// Periods from commands, bounded: more would overflow in nanoseconds.
std::chrono::seconds boundedSeconds(int64_t secs) {
  return std::chrono::seconds(std::min<int64_t>(secs, std::numeric_limits<int32_t>::max()));
}

/// How long a change of the config may take: the time that new members have to answer, and kPatience for the rest, but
/// less than is left of maxTimeMS, so that the command can tell how the change ended.
Duration timeToReconfigure(Request& request, const ReplicaSetConfig& next) {
  const Duration longest = boundedSeconds(next.settings.heartbeatTimeoutSecs) + kPatience;
  const auto deadline = request.operation().deadline();
  if (!deadline) return longest;
  const Duration left = *deadline - request.server().node.environment().now();
  return std::clamp<Duration>(left - std::min<Duration>(left / 10, std::chrono::seconds(1)), Millis(1), longest);
}

/// Without what it needs, every write that names no concern would fail. A default that the present config cannot
/// satisfy either loses nothing: members that it needs may have to come back one by one.
Status checkSatisfies(const storage::WriteConcern& byDefault, const ReplicaSetConfig& present,
                      const ReplicaSetConfig& next) {
  const auto wanted = acknowledgementOf(byDefault);
  const Status lacks = replication::checkSatisfiable(next, wanted);
  if (lacks.isOK() || !replication::checkSatisfiable(present, wanted).isOK()) return Status::OK();
  return {ErrorCode::kNewReplicaSetConfigurationIncompatible,
          "The new config cannot satisfy the default write concern (" + lacks.reason() +
              "): every write that names none would fail. Change the default first with the setDefaultRWConcern "
              "command, or reconfigure with force: true"};
}

/// An arbiter more may make the writes of all who name no concern less safe than before. That is for an operator to
/// say, not to happen beside.
Status checkKeepsWriteDefault(const ServerContext& server, const ReplicaSetConfig& present,
                              const ReplicaSetConfig& next) {
  TROUPE_ASSIGN(const auto defaults, server.defaultConcerns->get());
  if (defaults->set.write) return checkSatisfies(*defaults->set.write, present, next);
  if (implicitWriteConcern(present).majority == implicitWriteConcern(next).majority) return Status::OK();
  return {ErrorCode::kNewReplicaSetConfigurationIncompatible,
          "Reconfig attempted to install a config that would change the implicit default write concern. Use the "
          "setDefaultRWConcern command to set a cluster-wide write concern and try the reconfig again."};
}

Task<Status> reconfigure(Request& request) {
  const bson::Element given = request.body().first();
  if (!given.is(bson::Type::kDocument)) co_return Status(ErrorCode::kBadValue, "no configuration specified");
  if (!request.server().membership) co_return notReplicated();
  const bool force = request.flag("force");
  auto parsed = ReplicaSetConfig::parseSuccessor(given.asDocument());
  const auto view = request.server().membership->view();
  // Tools that meet another member than the primary look for the primary, whatever they have brought.
  if (!parsed.isOK() && !force && view->config() && !view->isWritable())
    co_return Status(ErrorCode::kNotWritablePrimary, "replSetReconfig without force needs the primary");
  TROUPE_CO_ASSIGN(auto config, std::move(parsed));
  const int64_t arbiters = view->config() ? arbitersOf(*view->config()) : 0;
  if (force || view->isWritable()) TROUPE_CO_TRY(checkArbiterCount(request.server(), arbiters, config));
  Status keepsDefault = Status::OK();
  if (view->config()) keepsDefault = checkKeepsWriteDefault(request.server(), *view->config(), config);
  if (!force && view->isWritable()) TROUPE_CO_TRY(keepsDefault);  // another node than the primary says so
  const auto jump = static_cast<int64_t>(10'000 + request.server().node.environment().random() % 90'000);
  const Duration patience = timeToReconfigure(request, config);
  replication::Reconfig command{std::move(config), force, jump, request.server().membership->self(),
                                std::chrono::ceil<Millis>(patience)};
  const Status installed = co_await askTopology(request, std::move(command), patience + kForAnswer);
  if (force && installed.isOK() && !keepsDefault.isOK())
    request.server().log.warning(log::Component::kReplication, 21287, "replSetReconfig",
                                 "A config that was forced does not suit the default write concern",
                                 bson::doc("error", keepsDefault.toString()));
  co_return installed;
}

Task<Status> stepDown(Request& request) {
  replication::StepDown command;
  command.force = request.flag("force");
  const int64_t period = request.body().first().toInt64(60);
  if (period < 0) co_return Status(ErrorCode::kBadValue, "stepdown period must be a positive integer");
  const int64_t catchUp = request.arg("secondaryCatchUpPeriodSecs").toInt64(command.force ? 0 : 10);
  if (catchUp < 0)
    co_return Status(ErrorCode::kBadValue, "secondaryCatchUpPeriodSecs period must be a positive or absent");
  if (period > 0 && period < catchUp)
    co_return Status(ErrorCode::kBadValue, "stepdown period must be longer than secondaryCatchUpPeriodSecs");
  command.stepDownPeriod = boundedSeconds(period == 0 ? 60 : period);
  command.catchUpPeriod = boundedSeconds(catchUp);
  command.handoff = request.server().parameters.enableElectionHandoff;
  co_return co_await askTopology(request, command, boundedSeconds(catchUp) + kPatience);
}

Task<Status> stepUp(Request& request) {
  co_return co_await askTopology(request, replication::StepUp{request.flag("skipDryRun")});
}

Task<Status> freeze(Request& request) {
  const int64_t secs = request.body().first().toInt64(-1);
  if (secs < 0)
    co_return Status(ErrorCode::kBadValue, "replSetFreeze: give the seconds for which this node will not stand");
  co_return co_await askTopology(request, replication::Freeze{boundedSeconds(secs)});
}

Task<Status> maintenance(Request& request) {
  co_return co_await askTopology(request, replication::Maintenance{.on = request.body().first().truthy()});
}

/// A note in the log, for tools and for nodes that wait for a time (OPL-017).
Task<Status> appendNote(Request& request) {
  ServerContext& server = request.server();
  if (!server.membership) co_return notReplicated();
  TROUPE_CO_TRY(checkRoleForWriting(request, "admin"));
  const bson::Element until = request.arg("maxClusterTime");
  if (until.is(bson::Type::kTimestamp) && server.progress->lastApplied() > until.asTimestamp())
    co_return Status(ErrorCode::kStaleClusterTime,
                     "Requested maxClusterTime is less than the time of the newest entry");
  CollectionWriter writer(server.writes, request.operation());
  co_return co_await writer.note(bson::Document(request.document("data")));
}

constexpr int64_t kSmallestOplogMB = 990, kLargestOplogMB = int64_t{1} << 30;
constexpr double kMillisInHour = 3'600'000;

/// The size of the log as its row of the catalog keeps it for the next start. Readers of the log go on: what they read
/// is the store, which stays the same (CAT-015).
Task<Status> keepSizeOfLog(Request& request, int64_t bytes) {
  auto lock =
      co_await lockCollection(request.server().node, request.operation(), storage::oplogName(), storage::LockMode::kX);
  if (!lock.isOK()) co_return lock.status();
  auto change = [&](storage::RecoveryUnit& unit) {
    return storage::resizeShownOplog(request.server().catalog.unguarded(), unit, bytes);
  };
  co_return co_await changeCatalog(request, change);
}

/// Size and age of the log, at once; the trimmer takes away what is too much (OPL-011, TRN-007). The size outlives the
/// process, the age does not: MongoDB's administrators know it so.
Task<Status> resizeOplog(Request& request) {
  const ServerContext& server = request.server();
  if (!server.oplog) co_return notReplicated();
  const bson::Element size = request.arg("size"), hours = request.arg("minRetentionHours");
  if (!size && !hours) co_return Status(ErrorCode::kInvalidOptions, "'size' or 'minRetentionHours' must be given");
  const double megabytes = size.toDouble();
  if (size && !(megabytes >= kSmallestOplogMB && megabytes <= kLargestOplogMB))
    co_return Status(ErrorCode::kBadValue, "the size of the oplog must be from 990 MB to 1 PB, given in MB, and is " +
                                               std::to_string(megabytes));
  if (hours && !(hours.toDouble() >= 0 && hours.toDouble() < 1e9))
    co_return Status(ErrorCode::kBadValue, "minRetentionHours must be a number of hours from 0 on");
  const auto bytes = size ? static_cast<int64_t>(megabytes * 1024 * 1024) : int64_t{0};
  if (size) TROUPE_CO_TRY(co_await keepSizeOfLog(request, bytes));
  storage::OplogLimits limits =
      server.oplog->markers().limits();  // not before: another command may change them meanwhile
  if (size) limits.maxBytes = bytes;
  if (hours) limits.minRetentionMillis = static_cast<int64_t>(hours.toDouble() * kMillisInHour);
  server.oplog->markers().setLimits(limits);
  co_return Status::OK();
}

/// The member's next source (REP-003); the choice after it is free again.
Task<Status> syncFrom(Request& request) {
  const ServerContext& server = request.server();
  if (!server.membership) co_return notReplicated();
  replication::SyncFrom wanted{std::string(request.body().first().toStringOr())};
  const std::string host = wanted.host;
  const Answer answer = co_await askFetcher(request, local(std::move(wanted)));
  if (!answer.isOK()) co_return answer.status();
  request.reply().append("syncFromRequested", host);
  if (const auto& previous = answer->local<replication::PreviousSource>().host; !previous.empty())
    request.reply().append("prevSyncTarget", previous);
  co_return Status::OK();
}

/// A member that is too stale copies all data anew; its own stay what they are until the copy begins (ISY-020).
Task<Status> resync(Request& request) {
  const ServerContext& server = request.server();
  if (!server.membership) co_return notReplicated();
  const Answer answer = co_await askFetcher(request, local(replication::Resync{}));
  co_return answer.isOK() ? Status::OK() : answer.status();
}

/// RBK-005: who reads this member's log twice compares them.
Task<Status> getRollbackId(Request& request) {
  const ServerContext& server = request.server();
  if (!server.membership) co_return notReplicated();
  request.reply().append("rbid", static_cast<int32_t>(server.membership->rollbackId()));
  co_return Status::OK();
}

constexpr Argument kNoteArguments[] = {documentArg("data").required(), timestampArg("maxClusterTime")};
constexpr Argument kResizeArguments[] = {numberArg("size"), numberArg("minRetentionHours")};
constexpr Argument kReconfigArguments[] = {flagArg("force"), numberArg("maxTimeMS")};
constexpr Argument kStepDownArguments[] = {flagArg("force"), numberArg("secondaryCatchUpPeriodSecs")};
constexpr Argument kStepUpArguments[] = {flagArg("skipDryRun")};

constexpr Command kReplicationCommands[] = {
    {.name = "replSetGetStatus",
     .summary = "the state of the replica set as this member sees it",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetGetStatus},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = getStatus},
    {.name = "replSetGetConfig",
     .summary = "the configuration of the replica set",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetGetConfig},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = getConfig},
    {.name = "replSetInitiate",
     .summary = "makes a replica set of the members in its configuration; without one, of this node alone",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetConfigure},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = initiate},
    {.name = "replSetReconfig",
     .summary = "gives the replica set another configuration",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetConfigure},
     .adminOnly = true,
     .arguments = kReconfigArguments,
     .run = reconfigure},
    {.name = "replSetStepDown",
     .summary = "has the primary step down once a majority has what it has",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetStateChange},
     .adminOnly = true,
     .arguments = kStepDownArguments,
     .run = stepDown},
    {.name = "replSetStepUp",
     .summary = "has a secondary stand for election at once",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetStateChange},
     .adminOnly = true,
     .arguments = kStepUpArguments,
     .run = stepUp},
    {.name = "replSetFreeze",
     .summary = "keeps a member from standing for election for some seconds; 0 ends that",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetStateChange},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = freeze},
    {.name = "appendOplogNote",
     .summary = "adds a note to the log of a replica set",
     .requirement = {Requirement::Target::kCluster, auth::Action::kAppendOplogNote},
     .adminOnly = true,
     .mayWrite = true,
     .arguments = kNoteArguments,
     .run = appendNote},
    {.name = "replSetSyncFrom",
     .summary = "has a member fetch from another one next",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetStateChange},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = syncFrom},
    {.name = "resync",
     .summary = "has a member that is too stale to catch up copy all data of another one",
     .requirement = {Requirement::Target::kCluster, auth::Action::kResync},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = resync},
    {.name = "replSetResizeOplog",
     .summary = "changes the size of this member's log, and how long its entries are kept",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetConfigure},
     .adminOnly = true,
     .arguments = kResizeArguments,
     .run = resizeOplog},
    {.name = "replSetMaintenance",
     .summary = "takes a secondary out of service, or back",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetStateChange},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = maintenance},
    {.name = "replSetGetRBID",
     .summary = "moves when this member has rolled back or was killed; others compare it around reads of its log",
     .requirement = {Requirement::Target::kCluster, auth::Action::kReplSetGetStatus},
     .adminOnly = true,
     .arguments = kNamedFreely,
     .run = getRollbackId},
};

}  // namespace

std::span<const Command> replicationCommands() { return kReplicationCommands; }

}  // namespace troupe::commands
