// A server that writes as its own services do when a test asks for it: {runAsService: 1, database, command, seconds}
// carries out a retryable command once on the primary of the set, whichever member is asked.
#include <chrono>
#include <string>

#include "actors/server/command.hpp"
#include "actors/server/request.hpp"
#include "actors/server/retryable_runs.hpp"
#include "actors/server/server_context.hpp"
#include "messaging/errors/co_status.hpp"
#include "supervisors/daemon/daemon.hpp"

namespace {

using namespace troupe;
using namespace troupe::server;

Task<Status> runAsService(Request& request) {
  const ServerContext& server = request.server();
  const std::string database(request.text("database"));
  const bson::Document command(request.document("command"));
  const TimePoint until = server.node.environment().now() + std::chrono::seconds(request.number("seconds", 60));
  TROUPE_CO_ASSIGN(const bson::Document reply, co_await server.serviceWrites->run(database, command, until));
  request.reply().append("reply", reply);
  co_return Status::OK();
}

constexpr Argument kArguments[] = {stringArg("database").required(), documentArg("command").required(),
                                   numberArg("seconds")};
constexpr Command kCommands[] = {{.name = "runAsService",
                                  .summary = "carries out a write as a service of this node",
                                  .requirement = {Requirement::Target::kAuthenticated},
                                  .adminOnly = true,
                                  .arguments = kArguments,
                                  .run = runAsService}};

}  // namespace

int main(int argc, char** argv) { return troupe::supervisors::runDaemon(argc, argv, {.commands = kCommands}); }
