#pragma once
#include <memory>
#include <set>
#include <string>

#include "actors/kernel/actor.hpp"
#include "actors/server/command.hpp"
#include "actors/server/server_context.hpp"
#include "actors/transport/remote_runs.hpp"
#include "messaging/schemas/command.capnp.h"

namespace troupe::transport {

/// Path of the CommandService on every node; its children are the cursors of other nodes.
inline constexpr const char* kCommandsPath = "/node/front/commands";

/// Runs the commands of other nodes through the dispatch that clients' commands take: as the cluster itself, or with
/// the rights of a user. Commands run on the pool, beside each other. A command ends early when its deadline passes,
/// when its sender gives it up (`schema::KillCommand`), and when the link it came over ends; cursors end likewise.
class CommandService final : public Actor {
 public:
  /// `server` outlives the actor.
  explicit CommandService(server::ServerContext* server) : server_(server) {}
  Behaviour behaviour() override;
  void onStart() override;
  /// Interrupts what runs, and stops once it has ended.
  void onStopRequested() override;
  void onStop(const Status& reason) override;
  bson::Document describe() const override;

 private:
  void run(Received<schema::RunCommand> wanted, Context context);
  void watchLink(const AskOrigin* origin);

  server::ServerContext* server_;
  const std::shared_ptr<RemoteRuns> runs_ = std::make_shared<RemoteRuns>();
  std::set<std::string> links_;  ///< that commands have come over and that have not ended
  bool stopping_ = false;
  int64_t started_ = 0, refused_ = 0;
};

}  // namespace troupe::transport
