#pragma once
#include <memory>
#include <span>
#include <string_view>

#include "messaging/client/uri.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::client {

/// A connected byte stream, plain or TLS. Blocking; not thread-safe. After a failure it is closed.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Resolves, connects and shakes hands. Errors: HostUnreachable, NetworkTimeout, InvalidSSLConfiguration.
  static StatusWith<std::unique_ptr<Stream>> connect(const Target& target);

  /// Sends all of it. Errors: HostUnreachable, NetworkTimeout.
  virtual Status write(std::string_view bytes) = 0;
  /// Waits for at least one byte and gives how many came. Errors: HostUnreachable (also when the peer closed),
  /// NetworkTimeout.
  virtual StatusWith<size_t> read(std::span<char> room) = 0;
};

}  // namespace troupe::client
