#pragma once
#include "messaging/bson/types.hpp"

namespace troupe::server {

/// The node's cluster clock as its links see it (CLK-005): every message tells the other node the newest time that
/// this one knows, and each node learns from what it hears. Thread-safe.
class ClusterClock {
 public:
  virtual ~ClusterClock() = default;
  /// The newest time that this node knows; zero: none.
  virtual bson::Timestamp newest() const = 0;
  /// Another node knows that time. `authenticated`: it has proven that it has the cluster's key. False if it is not
  /// believed: then nothing has changed.
  virtual bool learn(bson::Timestamp time, bool authenticated) = 0;
};

}  // namespace troupe::server
