#pragma once
#include <algorithm>

#include "actors/environment/environment.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::machines {

/// How long to wait before the next attempt: doubled each time, with a random half, so that many do not come together.
class RetryPause {
 public:
  explicit RetryPause(Duration first = std::chrono::milliseconds(50), Duration longest = std::chrono::seconds(5))
      : next_(first), longest_(longest) {}
  Duration next(Environment& environment) {
    const Duration pause =
        next_ / 2 +
        Duration(static_cast<Duration::rep>(environment.randomShare() * static_cast<double>((next_ / 2).count())));
    next_ = std::min(next_ * 2, longest_);
    return pause;
  }

 private:
  Duration next_, longest_;
};

/// Whether trying again may help: the state of the node or of the network, not of what was asked.
bool isWorthRetrying(const Status& status);

}  // namespace troupe::machines
