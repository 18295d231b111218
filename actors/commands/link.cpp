// linkPing, linkRun: what operators do with the cluster's links.
#include "actors/commands/families.hpp"
#include "actors/commands/set_members.hpp"
#include "actors/kernel/node.hpp"
#include "actors/server/server_context.hpp"
#include "actors/storage/interruptible_wait.hpp"
#include "actors/transport/links.hpp"
#include "actors/transport/run_command.hpp"
#include "messaging/errors/co_status.hpp"
#include "messaging/link/node_name.hpp"

namespace troupe::commands {
using namespace server;

namespace {

constexpr Argument kLinkPingArguments[] = {numberArg("bytes")};
constexpr int64_t kMostPingBytes = 16 * 1024 * 1024;
constexpr auto kPingTime = std::chrono::seconds(10);

/// The round trip to that node, over a link that is opened for it if there is none.
Task<StatusWith<Duration>> ping(Request& request, std::string peer, size_t bytes) {
  Node& node = request.server().node;
  Payload question = local(link::PingPeer{std::move(peer), bytes, kPingTime});
  Future<Answer> due = node.ask(node.address(link::kLinksPath), std::move(question));
  const Answer answer = co_await awaitAnswer(node, request.operation(), std::move(due));
  if (!answer.isOK()) co_return answer.status();
  co_return answer->local<link::PeerPinged>().roundTrip;
}

Task<Status> linkPing(Request& request) {
  const std::string peer(request.text("linkPing"));
  TROUPE_CO_TRY(link::splitNodeName(peer).status());
  const int64_t bytes = request.number("bytes");
  if (bytes < 0 || bytes > kMostPingBytes)
    co_return Status(ErrorCode::kBadValue, "bytes must be between 0 and " + std::to_string(kMostPingBytes));
  Node& node = request.server().node;
  TROUPE_CO_ASSIGN(const Duration roundTrip, co_await ping(request, peer, static_cast<size_t>(bytes)));
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(roundTrip).count();
  request.reply().append("node", node.name()).append("peer", peer);
  request.reply().append("roundTripMicros", static_cast<int64_t>(micros));
  co_return Status::OK();
}

constexpr Argument kLinkRunArguments[] = {documentArg("command").required(), stringArg("database")};
/// Bytes of documents in one answer; further documents are left out.
constexpr size_t kMostRunBytes = 12 * 1024 * 1024;

bool givesCursor(std::string_view command) {
  return command == "find" || command == "aggregate" || command == "listCollections" || command == "listIndexes";
}

/// Reads a remote cursor into the reply, as far as it fits.
Task<Status> replyWithDocuments(Request& request, std::unique_ptr<transport::RemoteCursor> cursor) {
  request.reply().openArray("documents");
  bool isWhole = true;
  while (isWhole) {
    TROUPE_CO_TRY(request.checkForInterrupt());
    TROUPE_CO_ASSIGN(const auto batch, co_await cursor->next());
    if (batch.empty()) break;
    for (const bson::View document : batch) {
      isWhole = isWhole && request.reply().size() + document.size() <= kMostRunBytes;
      if (isWhole) request.reply().push(document);
    }
  }
  request.reply().close().append("truncated", !isWhole);
  co_return Status::OK();
}

/// The right to `linkRun` says nothing of which user is to run the command: another may hold what that needs.
Status checkOneUser(const Request& request) {
  if (!request.checksPrivileges() || request.client().users.size() <= 1) return Status::OK();
  return {ErrorCode::kIllegalOperation,
          "the command would have the rights of one user, but several are logged in: log out of the others"};
}

Task<Status> linkRun(Request& request) {
  TROUPE_CO_TRY(checkOneUser(request));
  Node& node = request.server().node;
  TROUPE_CO_ASSIGN(const std::string peer, node.postOffice().resolve(std::string(request.text("linkRun"))));
  TROUPE_CO_TRY(link::splitNodeName(peer).status());
  if (peer != node.name()) TROUPE_CO_TRY((co_await ping(request, peer, 0)).status());
  const bson::Document command(request.document("command"));
  const std::string database(request.text("database", "admin"));
  transport::CursorOptions options;
  options.command.as = identityOf(request);
  options.command.operation = &request.operation();
  if (const auto deadline = request.operation().deadline())
    options.command.timeout = *deadline - node.environment().now();
  request.reply().append("node", peer);
  if (givesCursor(command.view().first().name())) {
    TROUPE_CO_ASSIGN(auto cursor, co_await transport::RemoteCursor::open(node, peer, database, command, options));
    co_return co_await replyWithDocuments(request, std::move(cursor));
  }
  TROUPE_CO_ASSIGN(const auto reply, co_await transport::runCommand(node, peer, database, command, options.command));
  request.reply().append("reply", reply.document());
  co_return Status::OK();
}

constexpr Command kLinkCommands[] = {
    {.name = "linkPing",
     .summary = "asks another node, by its name, for a sign of life over a cluster link",
     .requirement = {Requirement::Target::kCluster, auth::Action::kManageActors},
     .access = Access::kAdmin,
     .adminOnly = true,
     .arguments = kLinkPingArguments,
     .run = linkPing},
    {.name = "linkRun",
     .summary = "runs a command on another node, over a cluster link, with the rights that the user has there",
     .requirement = {Requirement::Target::kCluster, auth::Action::kManageActors},
     .access = Access::kAdmin,
     .adminOnly = true,
     .arguments = kLinkRunArguments,
     .run = linkRun},
};

}  // namespace

std::span<const Command> linkCommands() { return kLinkCommands; }

}  // namespace troupe::commands
