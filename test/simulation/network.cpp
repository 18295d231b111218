#include "test/simulation/network.hpp"

#include "actors/environment/virtual_environment.hpp"

namespace troupe::sim {

TimePoint simulationStart() {
  static const TimePoint start = VirtualEnvironment().now();
  return start;
}

Duration between(Random& random, Duration least, Duration most) {
  return least + Duration(static_cast<Duration::rep>(share(random) * static_cast<double>((most - least).count())));
}

}  // namespace troupe::sim
