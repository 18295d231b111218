#pragma once
#include "messaging/bson/types.hpp"

namespace troupe::server {

/// Whose news a tailable cursor awaits.
struct NewsSource {
  bson::Uuid collection;
  bool committed = false;  ///< the cursor sees a write once a majority has it: moves of the commit point are its news
  bool ofLog = false;      ///< the log of operations as it is written, which members follow
};

}  // namespace troupe::server
