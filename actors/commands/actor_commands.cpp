// actorDetails, transitionLog, controlActor: what operators see of one actor and do to it.
#include "actors/commands/ddl_support.hpp"
#include "actors/commands/families.hpp"
#include "actors/commands/set_members.hpp"
#include "actors/kernel/node.hpp"
#include "messaging/description/bson_archive.hpp"
#include "state_machines/core/diagram.hpp"

namespace troupe::commands {

namespace {

/// How long an actor may take to tell about itself before its row is shown alone.
constexpr auto kInspectTime = std::chrono::milliseconds(1000);
constexpr int64_t kMostTransitions = 16'384;

bson::Date dateOf(WallTime time) {
  return bson::Date{std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count()};
}

/// [{message, at, peer, peerNode}], newest first.
void appendMessages(bson::Builder& out, std::string_view name, const std::vector<MessageTrace>& traces) {
  out.openArray(name);
  for (auto trace = traces.rbegin(); trace != traces.rend(); ++trace) {
    bson::Builder one;
    one.append("message", trace->name).append("at", dateOf(trace->at));
    if (trace->peer) one.append("peer", trace->peer.path()).append("peerNode", trace->peer.node());
    out.push(one.finish());
  }
  out.close();
}

/// The phases and the table of a machine; `from` is null for any phase, and null among `to` is the end.
bson::Document documentOf(const machines::MachineOutline& machine) {
  const auto nameOrNull = [](const char* phase) { return phase ? bson::Value(phase) : bson::Value(bson::Null()); };
  bson::Builder out;
  out.append("name", machine.name).openArray("phases");
  for (const auto& phase : machine.phases) out.push(bson::doc("name", phase.name, "meaning", phase.meaning));
  out.close().openArray("transitions");
  for (const auto& row : machine.rows) {
    bson::Builder one;
    one.append("from", nameOrNull(row.from)).append("event", row.event).openArray("to");
    for (const char* target : row.targets) one.push(nameOrNull(target));
    out.push(one.close().finish());
  }
  return out.close().finish();
}

/// The value of the command's own field.
StatusWith<std::string> pathOf(const Request& request) {
  const bson::Element path = request.body().first();
  if (path.is(bson::Type::kString)) return std::string(path.asString());
  return Status(ErrorCode::kTypeMismatch,
                "'" + std::string(request.commandName()) + "' must be the path of an actor such as \"/node/storage\"");
}

constexpr Argument kActorDetailsArguments[] = {stringArg("node")};

Task<Status> actorDetails(Request& request) {
  TROUPE_CO_ASSIGN(const std::string path, pathOf(request));
  TROUPE_CO_ASSIGN(const auto elsewhere, otherMemberOf(request));
  if (elsewhere) {
    bson::Document there = bson::doc("actorDetails", path);
    co_return co_await runOnMember(request, *elsewhere, std::move(there));
  }
  const auto details = co_await request.server().node.inspect(path, kInspectTime);
  if (!details) co_return Status(ErrorCode::kNoSuchKey, "there is no actor " + path + "; `actorTree` lists them");
  bson::Builder& reply = request.reply();
  reply.append("row", details->row.toBson()).append("state", details->state);
  if (details->machine) reply.append("machine", documentOf(*details->machine));
  appendMessages(reply, "received", details->received);
  appendMessages(reply, "sent", details->sent);
  co_return Status::OK();
}

/// The same question for another member.
bson::Document questionOf(const TransitionFilter& filter) {
  return bson::doc("transitionLog", 1, "path", filter.under, "machine", filter.machine, "instance", filter.instance,
                   "moves", filter.movesOnly, "limit", static_cast<int64_t>(filter.limit));
}

/// Newest first; members that could not be asked, whose rows have no time, before all.
bool isBefore(bson::View a, bson::View b) {
  const bson::Element one = a["at"], other = b["at"];
  if (!one.is(bson::Type::kDate) || !other.is(bson::Type::kDate)) return !one.ok() && other.ok();
  return one.asDate() > other.asDate();
}

/// Adds the steps of the other members, and keeps the newest of all. What could not be asked counts for nothing.
Task<Status> addStepsOfOthers(Request& request, TransitionFilter filter, ListedRows& rows) {
  bson::Document question = questionOf(filter);
  TROUPE_CO_ASSIGN(const size_t unreachable, co_await addRowsOfOthers(request, std::move(question), rows));
  rows.sort(isBefore);
  rows.shrinkTo(unreachable + filter.limit);
  co_return Status::OK();
}

/// A limit of 0 is none, as of `find`.
Task<Status> transitionLog(Request& request) {
  TransitionFilter filter;
  filter.under = std::string(request.text("path"));
  filter.machine = std::string(request.text("machine"));
  filter.instance = std::string(request.text("instance"));
  filter.movesOnly = request.flag("moves");
  const int64_t limit = request.number("limit", 100);
  if (limit < 0) co_return Status(ErrorCode::kBadValue, "'limit' must be 0 (no limit) or more");
  filter.limit = static_cast<size_t>(limit == 0 ? kMostTransitions : std::min(limit, kMostTransitions));
  ListedRows rows(request.operation().memory());
  const bool ofAll = request.flag("members");
  const std::string self = ownName(request.server());
  for (const TransitionRecord& record : request.server().node.transitions().find(filter)) {
    bson::Document row = machines::toBson(record);
    TROUPE_CO_TRY(rows.add(ofAll ? rowOfMember(row, self) : std::move(row)));
  }
  if (ofAll) TROUPE_CO_TRY(co_await addStepsOfOthers(request, filter, rows));
  co_return co_await replyWithRows(request, "admin.$cmd.transitionLog", std::move(rows),
                                   request.document("cursor")["batchSize"]);
}

constexpr Argument kTransitionLogArguments[] = {stringArg("path"),    stringArg("machine"), stringArg("instance"),
                                                flagArg("moves"),     numberArg("limit"),   flagArg("members"),
                                                documentArg("cursor")};

/// On another member it is carried out, and logged, there: with the rights that the user has there.
Task<Status> controlElsewhere(Request& request, std::string member) {
  bson::Builder there;
  there.append(request.body().first()).append("action", request.text("action"));
  const std::string why(request.text("reason")), way = "through " + ownName(request.server());
  there.append("reason", why.empty() ? way : why + " (" + way + ")");
  bson::Document command = there.finish();
  co_return co_await runOnMember(request, std::move(member), std::move(command));
}

Task<Status> controlActor(Request& request) {
  TROUPE_CO_ASSIGN(const std::string path, pathOf(request));
  TROUPE_CO_ASSIGN(const auto elsewhere, otherMemberOf(request));
  if (elsewhere) co_return co_await controlElsewhere(request, *elsewhere);
  const std::string action(request.text("action"));
  const auto users = request.users();
  // The cluster itself acts for an operator who need not log in.
  const std::string user = users.empty() || request.client().isInternal() ? "an operator" : users.front().text();
  std::string reason = "asked for by " + user;
  if (const auto why = request.text("reason"); !why.empty()) reason += ": " + std::string(why);
  ServerContext& server = request.server();
  Status outcome = co_await server.controlActor(path, action, reason);
  server.log.info(log::Component::kAdmin, 7001006, "admin", "An actor was acted on by a command",
                  bson::doc("client", request.client().description(), "action", action, "path", path, "reason", reason,
                            "outcome", outcome.isOK() ? "OK" : outcome.toString()));
  co_return outcome;
}

constexpr Argument kControlActorArguments[] = {stringArg("action").required(), stringArg("reason"), stringArg("node")};

constexpr Command kActorCommands[] = {
    {.name = "actorDetails",
     .summary = "an actor's row, its state, its recent messages, and the machine it carries out; of any member",
     .requirement = {Requirement::Target::kCluster, auth::Action::kViewActors},
     .adminOnly = true,
     .arguments = kActorDetailsArguments,
     .run = actorDetails},
    {.name = "transitionLog",
     .summary = "the steps that machines took here or on all members, newest first, also of those that have ended",
     .requirement = {Requirement::Target::kCluster, auth::Action::kViewActors},
     .adminOnly = true,
     .arguments = kTransitionLogArguments,
     .run = transitionLog},
    {.name = "controlActor",
     .summary = "restarts, parks or resumes an actor of any member through its supervisor, or traces its messages",
     .requirement = {Requirement::Target::kCluster, auth::Action::kManageActors},
     .access = Access::kAdmin,
     .adminOnly = true,
     .arguments = kControlActorArguments,
     .run = controlActor},
};

}  // namespace

std::span<const Command> actorCommands() { return kActorCommands; }

}  // namespace troupe::commands
