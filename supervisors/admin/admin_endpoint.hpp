#pragma once
#include <memory>

#include "actors/commands/server_context.hpp"
#include "actors/kernel/actor.hpp"
#include "supervisors/admin/http_server.hpp"

namespace troupe::supervisors {

/// Where operators look: the tree, metrics, health and the web page over HTTP. With authorization on, over the
/// database's users: clusterMonitor to look, clusterManager to act. A restart opens the port again; pages reconnect by
/// themselves.
class AdminEndpoint final : public Actor {
 public:
  /// `server` outlives the node's actors.
  AdminEndpoint(HttpServerOptions options, commands::ServerContext* server)
      : options_(std::move(options)), server_(server) {}
  Behaviour behaviour() override { return {}; }
  /// Throws when the port cannot be opened: the supervisor decides.
  void onStart() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  HttpServerOptions options_;
  commands::ServerContext* server_;
  std::unique_ptr<HttpServer> http_;
};

}  // namespace troupe::supervisors
