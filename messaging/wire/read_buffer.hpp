#pragma once
#include <cstddef>
#include <span>

namespace troupe::wire {

/// Receive buffer of a connection.
class ReadBuffer {
 public:
  virtual ~ReadBuffer() = default;
  /// Room to read into, never empty.
  virtual std::span<char> prepare() = 0;
  /// `size` bytes of the room were filled.
  virtual void commit(size_t size) = 0;
};

}  // namespace troupe::wire
