#include "supervisors/admin/admin_endpoint.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "actors/commands/inspection.hpp"
#include "actors/commands/lock_inspection.hpp"
#include "actors/commands/session_choice.hpp"
#include "actors/commands/session_inspection.hpp"
#include "actors/commands/set_picture.hpp"
#include "actors/server/hello_state.hpp"
#include "actors/server/user_store.hpp"
#include "actors/transport/run_command.hpp"
#include "messaging/log/line_limit.hpp"
#include "supervisors/admin/readiness.hpp"
#include "supervisors/metrics/link_metrics.hpp"
#include "supervisors/metrics/node_metrics.hpp"
#include "supervisors/metrics/replica_metrics.hpp"
#include "supervisors/metrics/replication_metrics.hpp"

namespace troupe::supervisors {

namespace {

/// Limits of one page about all members. Its JSON takes some seven times the bytes of the rows.
constexpr auto kCommandTime = std::chrono::seconds(20);
constexpr size_t kMostBytes = 16 * 1024 * 1024;

/// "name@database" as an identity; the name may have an @ of its own.
transport::ActAs identityOf(const server::ServerContext& server, const std::string& user) {
  if (!server.identity.authentication) return transport::ActAs::cluster();
  const size_t at = user.rfind('@');
  if (at == std::string::npos) return transport::ActAs::nobody();
  return transport::ActAs::theUser(user.substr(0, at), user.substr(at + 1));
}

Task<AdminSources::Reply> runHere(server::ServerContext* server, std::string user, bson::Document command) {
  transport::CommandOptions options;
  options.as = identityOf(*server, user);
  options.timeout = kCommandTime;
  Node& node = server->node;
  std::string self = node.name(), database = "admin";
  const auto reply = co_await transport::runCommand(node, std::move(self), std::move(database), std::move(command),
                                                    std::move(options));
  if (!reply.isOK()) co_return reply.status();
  co_return bson::Document(reply->document());
}

Task<AdminSources::Rows> rowsHere(server::ServerContext* server, std::string user, bson::Document command) {
  transport::CursorOptions options;
  options.command.as = identityOf(*server, user);
  options.command.timeout = kCommandTime;
  Node& node = server->node;
  std::string self = node.name(), database = "admin";
  auto opened = co_await transport::RemoteCursor::open(node, std::move(self), std::move(database), std::move(command),
                                                       std::move(options));
  if (!opened.isOK()) co_return opened.status();
  const std::unique_ptr<transport::RemoteCursor> cursor = std::move(*opened);
  std::vector<bson::Document> rows;
  for (size_t bytes = 0;;) {
    const auto batch = co_await cursor->next();
    if (!batch.isOK()) co_return batch.status();
    if (batch->empty()) co_return rows;
    for (const bson::View row : *batch) {
      bytes += static_cast<size_t>(row.size());
      if (bytes > kMostBytes)
        co_return Status(ErrorCode::kExceededMemoryLimit, "too many rows for a page: ask for fewer, or by the command");
      rows.emplace_back(row);
    }
  }
}

AdminSources sourcesOf(server::ServerContext* server, std::shared_ptr<const link::Links> links) {
  AdminSources sources;
  sources.metrics = [server, links = std::move(links)] {
    MetricSet metrics;
    addServerMetrics(metrics, *server);
    if (server->membership) {
      addReplicaMetrics(metrics, *server->membership);
      addReplicationMetrics(metrics, *server);
    }
    addActorMetrics(metrics, server->node);
    if (links) addLinkMetrics(metrics, *links);
    addProcessMetrics(metrics);
    return metrics.text();
  };
  sources.status = [server] { return commands::serverStatus(*server); };
  sources.locks = [server] { return commands::lockRows(*server); };
  sources.sessions = [server](size_t most) {
    const auto page = server->sessions.recent({}, most);  // the first one is always found
    return commands::sessionRows(*server, page->rows);
  };
  sources.sessionCount = [server] { return server->sessions.size(); };
  sources.killSession = [server](std::string_view id) { commands::killSessionsOfId(*server, id); };
  sources.ready = [server] { return readinessOf(server->node, server->membership); };
  sources.run = [server](std::string user, bson::Document command) {
    return runHere(server, std::move(user), std::move(command));
  };
  sources.rows = [server](std::string user, bson::Document command) {
    return rowsHere(server, std::move(user), std::move(command));
  };
  sources.set = [server] { return commands::pictureOfSet(*server); };
  sources.audit = [server](const std::string& user, const std::string& what, const Status& outcome) {
    server->log.info(log::Component::kAdmin, 7001001, "admin", "An operator acted on an actor or a session",
                     bson::doc("user", user, "action", what, "outcome", outcome.isOK() ? "OK" : outcome.toString()));
  };
  return sources;
}

std::shared_ptr<Access> accessOf(server::ServerContext* server) {
  if (!server->identity.authentication) return std::make_shared<OpenAccess>();
  UserAccess::Options options;
  options.find = [users = &server->users](std::string_view user, std::string_view database) {
    return users->find(user, database);
  };
  options.privilegesOf = [users = &server->users](bson::View user) -> StatusWith<auth::PrivilegeSet> {
    TROUPE_ASSIGN(auto resolved, users->rolesOf(user));
    return std::move(resolved.privileges);
  };
  options.version = [users = &server->users] { return users->version(); };
  options.onFailure = [lines = std::make_shared<log::LineLimit>(), server](const Status& why) {
    if (const auto leftOut = lines->admit(server->node.environment().now()))
      server->log.error(log::Component::kAdmin, 7001007, "admin", "Users and roles cannot be read",
                        bson::doc("reason", why.toString(), "failedSinceLastLine", *leftOut));
  };
  options.blocking = &server->blocking;
  options.environment = &server->node.environment();
  options.random = server->secrets;
  options.secret = server->loginSecret;
  return std::make_shared<UserAccess>(std::move(options));
}

}  // namespace

void AdminEndpoint::onStart() {
  const bool loopback =
      isLoopbackHost(options_.address.find(':') == std::string::npos ? options_.address : "[" + options_.address + "]");
  auto api = std::make_shared<AdminApi>(node(), sourcesOf(server_, links_), accessOf(server_), loopback);
  options_.maxConnectionsPerAddress = &server_->parameters.adminMaxConnectionsPerAddress;
  options_.requestsPerSecondPerAddress = &server_->parameters.adminRequestsPerSecondPerAddress;
  options_.onRefused = [lines = std::make_shared<log::LineLimit>(), server = server_](const std::string& remote,
                                                                                      std::string_view why) {
    if (const auto leftOut = lines->admit(server->node.environment().now()))
      server->log.warning(log::Component::kAdmin, 7001005, "admin", "A client of the admin endpoint was refused",
                          bson::doc("remote", remote, "reason", why, "refusedSinceLastLine", *leftOut));
  };
  http_ = std::make_unique<HttpServer>(std::move(api), options_);
  if (!loopback && !server_->identity.authentication) {
    server_->log.warning(log::Component::kAdmin, 7001002, "admin",
                         "The admin endpoint is open to other machines without authorization",
                         bson::doc("address", options_.address));
  }
  const bool encrypted = options_.tls.mode != tls::TlsMode::kDisabled;
  if (!loopback && !encrypted && server_->identity.authentication) {
    server_->log.warning(log::Component::kAdmin, 7001004, "admin",
                         "The admin endpoint is open to other machines without TLS: passwords can be read on the way",
                         bson::doc("address", options_.address));
  }
  server_->log.info(log::Component::kAdmin, 7001003, "admin", "The admin page is served",
                    bson::doc("url", (encrypted ? "https://" : "http://") + options_.address + ":" +
                                         std::to_string(http_->port()) + "/"));
  setPhase("serving", "answers operators over HTTP");
}

void AdminEndpoint::onStop(const Status&) {
  if (http_) http_->stop();
}

bson::Document AdminEndpoint::describe() const { return http_ ? http_->describe() : bson::Document(); }

}  // namespace troupe::supervisors
