#pragma once
#include <memory>

#include "actors/transport/links.hpp"
#include "supervisors/daemon/options.hpp"

namespace troupe::supervisors {

/// Who may link without a key: with `--clusterAuthMode none` anyone; without authorization, nodes of this machine once
/// this one has a `--nodeName`; else nobody.
link::Anonymous anonymousLinks(const Options& options);

/// The links of the daemon's node; with neither key nor leave to do without, ones that refuse. Errors: those of the key
/// file and of the TLS files.
StatusWith<std::shared_ptr<link::Links>> makeLinks(Node& node, const Options& options, log::Log& log);

}  // namespace troupe::supervisors
