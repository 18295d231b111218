#pragma once
#include <memory>

#include "actors/transport/links.hpp"
#include "actors/transport/network.hpp"
#include "supervisors/assembly/assembly_options.hpp"

namespace troupe::supervisors {

/// The links of a node as `options.links` wants them; with neither key nor leave to do without, ones that refuse.
/// `clock`: the times that messages carry.
/// Errors: those of the TLS files.
StatusWith<std::shared_ptr<link::Links>> makeLinks(Node& node, transport::Network& network,
                                                   const AssemblyOptions& options, log::Log& log,
                                                   std::shared_ptr<server::ClusterClock> clock);

}  // namespace troupe::supervisors
