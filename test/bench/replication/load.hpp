#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "test/bench/support/measure.hpp"

namespace troupe::bench {

/// What clients saw of a server for a while.
struct Load {
  double perSecond = 0;
  double cpuMicros = 0;                                    ///< of the observed processes for each operation
  double medianMs = 0, highestMs = 0, percentile99Ms = 0;  ///< of one operation
};

/// An operation on a connection of its own; `number` is another one each time.
using Operation = std::function<void(uint64_t number)>;
/// Makes the connection of a thread.
using Connect = std::function<Operation(int thread)>;

/// Each of so many threads repeats its operation for a while: as fast as it can, or so that all of them together do
/// `rate` operations a second (0: no limit). `pids`: the processes whose processor time is counted.
Load runLoad(int threads, double seconds, double rate, const std::vector<int>& pids, const Connect& connect);

/// Puts a value under a key on an etcd server, which answers when a majority has it on disk. Used by one thread.
Operation etcdPut(int port, size_t valueBytes);

}  // namespace troupe::bench
