#pragma once
#include <cstddef>

namespace troupe::bench {

/// Frames of a fixed size that go from one thread to another over loopback and back, in frames per second: a bare Asio
/// echo with `window` frames on the way. `gather`: it writes back all it has read with one call, instead of each
/// frame as it is complete.
double bareRound(size_t frame, int window, bool gather, double seconds);

}  // namespace troupe::bench
