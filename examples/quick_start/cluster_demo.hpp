#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "supervisors/cli/local_cluster.hpp"

namespace troupe::demo {

struct ClusterDemoOptions {
  bool once = false;
  std::string folder;  ///< empty: ./troupe-cluster, or a temporary one with `once`
  int64_t members = 3;
  std::optional<uint16_t> port = std::nullopt;  ///< of the first member
};

/// A replica set on real data: reads from a secondary, kills the primary while clients write, shows what became of the
/// acknowledged writes, and brings the killed member back. Gives the exit code: a failure also if a write was lost.
int runClusterDemo(const ClusterDemoOptions& options);

}  // namespace troupe::demo
