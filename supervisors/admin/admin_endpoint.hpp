#pragma once
#include <memory>

#include "actors/kernel/actor.hpp"
#include "actors/server/server_context.hpp"
#include "actors/transport/links.hpp"
#include "supervisors/admin/http_server.hpp"

namespace troupe::supervisors {

/// HTTP endpoint for operators: the tree, metrics, health and the web page. With authorization on, over the
/// database's users: clusterMonitor to look, clusterManager to act. A restart opens the port again; pages reconnect by
/// themselves.
class AdminEndpoint final : public Actor {
 public:
  /// `server` outlives the node's actors. `links` may be null.
  AdminEndpoint(HttpServerOptions options, server::ServerContext* server, std::shared_ptr<link::Links> links)
      : options_(std::move(options)), server_(server), links_(std::move(links)) {}
  Behaviour behaviour() override { return {}; }
  /// Throws when the port cannot be opened: the supervisor decides.
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  HttpServerOptions options_;
  server::ServerContext* server_;
  std::shared_ptr<link::Links> links_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace troupe::supervisors
