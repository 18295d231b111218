#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <memory>

#include "actors/transport/transport.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::transport {

/// The Status for an error of a socket.
inline Status lost(const boost::system::error_code& error) { return {ErrorCode::kHostUnreachable, error.message()}; }

/// Transport::limitBacklog of a socket: the kernel's buffers, which otherwise grow to megabytes.
void limitSocketBacklog(boost::asio::ip::tcp::socket& socket, size_t bytes);
/// Whether the peer has closed its side, also while bytes of it are unread.
bool hasHungUp(boost::asio::ip::tcp::socket& socket);

/// A TCP connection without encryption; the socket is made non-blocking.
std::shared_ptr<Transport> makePlainTransport(boost::asio::ip::tcp::socket socket);

/// A TCP connection under TLS that another side has opened. The handshake runs with the first `readable()`.
std::shared_ptr<Transport> makeTlsTransport(boost::asio::ip::tcp::socket socket,
                                            std::shared_ptr<boost::asio::ssl::context> context);

/// One that this side has opened to `host`, whose certificate has to bear that name if `checkName`.
std::shared_ptr<Transport> makeTlsClientTransport(boost::asio::ip::tcp::socket socket,
                                                  std::shared_ptr<boost::asio::ssl::context> context,
                                                  const std::string& host, bool checkName);

}  // namespace troupe::transport
