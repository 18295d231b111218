#include "supervisors/daemon/cluster_links.hpp"

#include "actors/transport/connector.hpp"
#include "messaging/auth/keyfile.hpp"
#include "supervisors/daemon/settings.hpp"

namespace troupe::supervisors {

link::Anonymous anonymousLinks(const Options& options) {
  if (!options.keyFile.empty()) return link::Anonymous::kNobody;
  if (options.clusterAuthMode == "none") return link::Anonymous::kAnyone;
  if (options.auth || options.nodeName.empty()) return link::Anonymous::kNobody;
  return link::Anonymous::kLoopback;
}

StatusWith<std::shared_ptr<link::Links>> makeLinks(Node& node, const Options& options, log::Log& log) {
  link::LinkSettings settings;
  if (!options.keyFile.empty()) {
    TROUPE_ASSIGN(settings.key, auth::readKeyFile(options.keyFile));
  }
  settings.anonymous = anonymousLinks(options);
  settings.random = auth::secureRandom();
  settings.log = &log;
  if (settings.key.empty() && settings.anonymous == link::Anonymous::kNobody) {
    settings.connect = link::refusingConnector({ErrorCode::kIllegalOperation,
                                                "this node has no key for links: give all nodes the same --keyFile "
                                                "(or, on one machine without --auth, each its "
                                                "--nodeName)"});
  } else {
    TROUPE_ASSIGN(const auto tls, tlsOptions(options));
    const bool loopbackOnly = settings.key.empty() && settings.anonymous == link::Anonymous::kLoopback;
    TROUPE_ASSIGN(settings.connect, link::makeConnector(node.io(), tls, loopbackOnly));
  }
  return std::make_shared<link::Links>(node, std::move(settings));
}

}  // namespace troupe::supervisors
