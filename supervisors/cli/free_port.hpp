#pragma once
#include <cstdint>

namespace troupe::supervisors {

/// Whether nothing listens on a port of the loopback address.
bool isFreePort(uint16_t port);
/// The first of `count` ports from `port` on that is free; 0 when all are taken.
uint16_t freePort(uint16_t port, int count = 50);

}  // namespace troupe::supervisors
