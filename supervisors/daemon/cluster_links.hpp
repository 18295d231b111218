#pragma once
#include "supervisors/assembly/assembly_options.hpp"
#include "supervisors/daemon/options.hpp"

namespace troupe::supervisors {

/// Links without a key: with `--clusterAuthMode none` anyone; without authorization, nodes of this machine once
/// this one has a `--nodeName`; else nobody.
link::Anonymous anonymousLinks(const Options& options);

/// How the daemon's node is linked to others. Errors: those of the key file.
StatusWith<LinkOptions> linkOptions(const Options& options);

}  // namespace troupe::supervisors
