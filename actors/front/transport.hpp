#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "actors/kernel/future.hpp"
#include "messaging/errors/status.hpp"

namespace boost::asio::ssl {
class context;
}

namespace troupe::front {

/// The bytes of one connection, plain or under TLS. Used by its connection actor alone; completions come from the pool
/// and continue the actor. An idle plain connection holds no buffer.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Waits until bytes can be read (plain: without a buffer).
  virtual Future<Status> readable() = 0;
  /// Reads what is there without waiting; 0 when nothing is. Errors: HostUnreachable when the peer has closed.
  virtual StatusWith<size_t> readNow(std::span<char> room) = 0;
  /// Writes without waiting as far as the socket takes it. Errors: HostUnreachable.
  virtual StatusWith<size_t> writeNow(std::string_view bytes) = 0;
  /// Writes the rest that `writeNow` left.
  virtual Future<Status> write(std::shared_ptr<const std::string> bytes, size_t from) = 0;
  virtual bool encrypted() const { return false; }
  /// Ends both directions; waiting calls complete with HostUnreachable. Any thread.
  virtual void close() = 0;
};

}  // namespace troupe::front
