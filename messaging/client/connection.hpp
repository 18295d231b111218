#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/client/uri.hpp"
#include "messaging/errors/status.hpp"
#include "messaging/wire/op_msg.hpp"

namespace troupe::client {

/// One blocking connection to a server, for tools, tests and loaders: a request goes out, its answer comes back. Not
/// thread-safe; one per thread.
class Connection {
 public:
  /// Connects, says hello and logs in when the target names a user. Errors: HostUnreachable, NetworkTimeout,
  /// InvalidSSLConfiguration, AuthenticationFailed; the reason names the address.
  static StatusWith<Connection> open(const Target& target);
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  /// Sends a command to a database and gives the whole answer. Errors: what the server answered (`ok: 0`), or
  /// HostUnreachable and NetworkTimeout, after which the connection is closed and says so again.
  StatusWith<bson::Document> run(std::string_view database, bson::View command,
                                 std::span<const wire::DocumentSequence> sequences = {});
  /// As `run`, but the answer is borrowed: it lives until the next call.
  StatusWith<bson::View> runBorrowed(std::string_view database, bson::View command,
                                     std::span<const wire::DocumentSequence> sequences = {});

  /// The server's reply to hello.
  const bson::Document& hello() const;
  const Target& target() const;
  bool isOpen() const;

 private:
  class Impl;
  explicit Connection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe::client
