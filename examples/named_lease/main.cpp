#include "actors/storage/interruptible_wait.hpp"
#include "audit.hpp"
#include "moves.hpp"

using namespace named_lease;
using namespace troupe::server;
troupe::Task<troupe::Status> moveLease(Request& request) {
  const Move wanted{std::string(request.text("moveLease")), std::string(request.text("to"))};
  troupe::Node& node = request.server().node;
  request.endWithClient();
  auto asked = node.ask(node.address("/node/services/leases"), toMessage(wanted));
  const troupe::Answer answer = co_await awaitAnswer(node, request.operation(), std::move(asked));
  node.tell(node.address("/node/services/audit"), troupe::local(caf::make_message(wanted.id)));
  if (!answer.isOK()) co_return answer.status();
  co_return co_await countMove(request, wanted.id);
}
constexpr Argument kTo[] = {stringArg("to").required()};
constexpr Command kCommands[] = {{.name = "moveLease", .summary = "gives a lease to a node",
    .requirement = {Requirement::Target::kAuthenticated}, .adminOnly = true, .arguments = kTo, .run = moveLease}};
int main(int argc, char** argv) {
  using namespace troupe::supervisors;
  return runDaemon(argc, argv, {{primaryOnly<Lease>("leases", "config.leases"),
                                 primaryOnly<Holder>("holders", "config.holders"),
                                 service<troupe::HostedCafActor>("audit", troupe::spawning(audit))}, kCommands});
}
