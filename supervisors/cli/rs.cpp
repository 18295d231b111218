// troupe rs: the members of a replica set and their roles, as one of them sees them.
#include <unistd.h>

#include <iostream>

#include "supervisors/cli/command_line.hpp"
#include "supervisors/cli/replica_rows.hpp"

namespace troupe::supervisors {
namespace {

struct ReplicaOptions {
  ServerOption server;
  bool json = false;
};

int showReplicaSet(const ReplicaOptions& options) {
  const auto connection = connectOrExplain(options.server);
  if (!connection) return kExitUnreachable;
  const auto status = connection->run("admin", bson::doc("replSetGetStatus", 1));
  if (!status.isOK()) return complain(status.status());
  if (options.json) return printJson(*status);
  const bool terminal = isTerminal(STDOUT_FILENO);
  std::cout << renderReplicaSet(*status, terminal ? terminalSize().columns : 200, Paint(terminal));
  return kExitDone;
}

}  // namespace

void addRs(ArgumentParser& program) {
  auto options = std::make_shared<ReplicaOptions>();
  auto& command = program.command("rs", "show a replica set: its members, their roles, its term, who lags",
                                  [options] { return showReplicaSet(*options); });
  addServerOption(command, options->server);
  addJsonOption(command, options->json);
}

}  // namespace troupe::supervisors
