#include "actors/commands/set_members.hpp"

#include <algorithm>
#include <utility>

#include "actors/kernel/node.hpp"
#include "actors/replication/replica_view.hpp"
#include "actors/server/command.hpp"
#include "messaging/errors/co_status.hpp"

namespace troupe::commands {

namespace {

/// What one member may send before it is read: all of them together wait here uncounted.
constexpr size_t kCredit = 512 * 1024;
constexpr size_t kBatchBytes = 256 * 1024;
/// For what is carried out on one member: its supervisor may have to wait for the actor.
constexpr Duration kPatienceForOne = std::chrono::seconds(10);

/// As long as the request itself may still run, at most.
Duration patienceOf(const Request& request, Duration most) {
  const auto deadline = request.operation().deadline();
  if (!deadline) return most;
  const Duration left = *deadline - request.server().node.environment().now();
  return std::clamp<Duration>(left, std::chrono::milliseconds(1), most);
}

/// Fields that every reply has, and this node's own one will have.
bool isOfEveryReply(std::string_view field) {
  return field == "ok" || field == "operationTime" || field == "$clusterTime";
}

}  // namespace

std::string ownName(const ServerContext& server) {
  if (!server.membership) return server.node.name();
  const auto& self = server.membership->view()->topology.document.self;
  return self.empty() ? server.membership->self() : self;
}

std::vector<std::string> otherMembers(const ServerContext& server) {
  std::vector<std::string> names;
  if (!server.membership) return names;
  const std::string self = ownName(server);
  const auto view = server.membership->view();
  if (!view->config()) return names;
  for (const auto& member : view->config()->members)
    if (member.host != self) names.push_back(member.host);
  return names;
}

MemberQuestion::MemberQuestion(Node& node, const std::vector<std::string>& members, const std::string& database,
                               const bson::Document& command, Duration patience)
    : node_(node), end_(node.environment().now() + 2 * patience) {
  transport::CursorOptions options;
  options.command.timeout = patience;
  options.credit = kCredit;
  options.batchBytes = kBatchBytes;
  for (const std::string& member : members)
    asked_.push_back({member, transport::RemoteCursor::begin(node, member, database, command, options)});
}

Task<StatusWith<std::vector<bson::View>>> MemberQuestion::next(size_t i) {
  Asked& asked = asked_[i];
  if (!asked.cursor) {
    auto opened = co_await asked.opening;
    if (!opened.isOK()) co_return opened.status();
    asked.cursor = std::move(*opened);
  }
  // Each batch may take as long as the first one: a member that is slow at each of many must not hold up the others.
  if (node_.environment().now() >= end_)
    co_return Status(ErrorCode::kMaxTimeMSExpired, asked.member + " did not send all of its answer in time");
  co_return co_await asked.cursor->next();
}

bson::Document rowOfMember(bson::View row, std::string_view node) {
  bson::Builder named;
  named.append("node", node);
  for (const bson::Element& field : row)
    if (field.name() != "node") named.append(field);
  return named.finish();
}

Task<StatusWith<size_t>> addRowsOfOthers(Request& request, bson::Document command, ListedRows& rows) {
  const ServerContext& server = request.server();
  size_t unreachable = 0;
  MemberQuestion question(server.node, otherMembers(server), "admin", command, patienceOf(request, kMemberPatience));
  for (size_t i = 0; i < question.size(); ++i) {
    const size_t before = rows.size();
    Status outcome;
    for (;;) {
      const auto batch = co_await question.next(i);
      TROUPE_CO_TRY(request.checkForInterrupt());
      outcome = batch.status();
      if (!batch.isOK() || batch->empty()) break;
      for (const bson::View row : *batch) TROUPE_CO_TRY(rows.add(rowOfMember(row, question.member(i))));
    }
    if (outcome.isOK()) continue;
    ++unreachable;
    rows.shrinkTo(before);  // half of a member's rows would pass for all of them
    TROUPE_CO_TRY(rows.add(bson::doc("node", question.member(i), "path", "/node", "unreachable", outcome.toString())));
  }
  co_return unreachable;
}

transport::ActAs identityOf(const Request& request) {
  if (!request.server().identity.authentication || request.client().isInternal()) return transport::ActAs::cluster();
  const auto& users = request.client().users;
  const auto mayRunIt = [&](const AuthenticatedUser& user) {
    return user.privileges.allows(request.command->requirement.action, auth::Resource::cluster());
  };
  const auto one = std::find_if(users.begin(), users.end(), mayRunIt);
  return one == users.end() ? transport::ActAs::nobody() : transport::ActAs::theUser(one->name, one->database);
}

StatusWith<std::optional<std::string>> otherMemberOf(const Request& request) {
  std::string wanted(request.text("node"));
  if (wanted.empty() || wanted == ownName(request.server())) return std::optional<std::string>();
  const auto others = otherMembers(request.server());
  if (std::find(others.begin(), others.end(), wanted) == others.end())
    return Status(ErrorCode::kBadValue, "'" + wanted + "' is no member of this node's replica set");
  return std::optional<std::string>(std::move(wanted));
}

Task<Status> runOnMember(Request& request, std::string member, bson::Document command) {
  transport::CommandOptions options;
  options.as = identityOf(request);
  options.timeout = patienceOf(request, kPatienceForOne);
  options.operation = &request.operation();
  std::string database = "admin";
  TROUPE_CO_ASSIGN(const auto reply,
                   co_await transport::runCommand(request.server().node, std::move(member), std::move(database),
                                                  std::move(command), std::move(options)));
  for (const bson::Element& field : reply.document())
    if (!isOfEveryReply(field.name())) request.reply().append(field);
  co_return Status::OK();
}

}  // namespace troupe::commands
