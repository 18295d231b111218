#pragma once
#include "supervisors/assembly/assembly_options.hpp"
#include "supervisors/daemon/options.hpp"

namespace troupe::supervisors {

/// Hosts that may link without a key: all with `--clusterAuthMode none`; this machine only, without authorization, once
/// this node has a `--nodeName`; otherwise none.
link::Anonymous anonymousLinks(const Options& options);

/// How the daemon's node is linked to others. Errors: those of the key file.
StatusWith<LinkOptions> linkOptions(const Options& options);

}  // namespace troupe::supervisors
