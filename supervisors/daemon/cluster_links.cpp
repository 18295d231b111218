#include "supervisors/daemon/cluster_links.hpp"

#include "messaging/auth/keyfile.hpp"

namespace troupe::supervisors {

link::Anonymous anonymousLinks(const Options& options) {
  if (!options.keyFile.empty()) return link::Anonymous::kNobody;
  if (options.clusterAuthMode == "none") return link::Anonymous::kAnyone;
  if (options.auth || options.nodeName.empty()) return link::Anonymous::kNobody;
  return link::Anonymous::kLoopback;
}

StatusWith<LinkOptions> linkOptions(const Options& options) {
  LinkOptions made;
  if (!options.keyFile.empty()) {
    TROUPE_ASSIGN(made.key, auth::readKeyFile(options.keyFile));
  }
  made.anonymous = anonymousLinks(options);
  return made;
}

}  // namespace troupe::supervisors
