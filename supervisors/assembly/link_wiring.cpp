#include "supervisors/assembly/link_wiring.hpp"

#include "actors/kernel/node.hpp"
#include "actors/transport/connector.hpp"

namespace troupe::supervisors {

StatusWith<std::shared_ptr<link::Links>> makeLinks(Node& node, transport::Network& network,
                                                   const AssemblyOptions& options, log::Log& log,
                                                   std::shared_ptr<server::ClusterClock> clock) {
  const LinkOptions& wanted = *options.links;
  link::LinkSettings settings;
  settings.key = wanted.key;
  settings.anonymous = wanted.anonymous;
  settings.times = wanted.times;
  settings.random = options.secrets;
  settings.log = &log;
  settings.clock = std::move(clock);
  if (settings.key.empty() && settings.anonymous == link::Anonymous::kNobody) {
    settings.connect = link::refusingConnector({ErrorCode::kIllegalOperation,
                                                "this node has no key for links: give all nodes the same --keyFile "
                                                "(or, on one machine without --auth, each its "
                                                "--nodeName)"});
  } else {
    const bool loopbackOnly = settings.key.empty() && settings.anonymous == link::Anonymous::kLoopback;
    TROUPE_ASSIGN(settings.connect, network.connector(node, options.listener.tls, loopbackOnly));
  }
  auto links = std::make_shared<link::Links>(node, std::move(settings));
  for (const std::string& peer : wanted.peers) links->know(peer, link::Links::Since::kAsked);
  return links;
}

}  // namespace troupe::supervisors
