#pragma once
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <memory>
#include <utility>

#include "actors/transport/transport.hpp"
#include "messaging/errors/status.hpp"

namespace troupe::transport {

/// The Status for an error of a socket.
inline Status lost(const boost::system::error_code& error) { return {ErrorCode::kHostUnreachable, error.message()}; }

/// Small messages are sent at once, and a peer that has vanished without a word is noticed after some minutes: its
/// connection would keep its place for ever.
void prepareSocket(boost::asio::ip::tcp::socket& socket);
/// Bytes that wait in the kernel for the peer's machine to take them. `descriptor`: of a socket, as for the next two.
int64_t unsentBytes(int descriptor);
/// Transport::limitBacklog of a socket: the kernel's buffers, which otherwise grow to megabytes.
void limitSocketBacklog(int descriptor, size_t bytes);
/// Whether the peer has closed its side, also while bytes of it are unread.
bool hasHungUp(int descriptor);

/// The completion condition of a write of all bytes that counts them while it goes on.
inline auto countInto(std::atomic<int64_t>& written) {
  return [&written, before = size_t{0}](const boost::system::error_code& error, size_t now) mutable -> size_t {
    written.fetch_add(static_cast<int64_t>(now - std::exchange(before, now)), std::memory_order_relaxed);
    constexpr size_t kPieceBytes = 64 * 1024;
    return error ? 0 : kPieceBytes;
  };
}

/// A TCP connection without encryption; the socket is made non-blocking.
std::shared_ptr<Transport> makePlainTransport(boost::asio::ip::tcp::socket socket);

/// The same for a client of a UNIX domain socket.
std::shared_ptr<Transport> makeLocalTransport(boost::asio::local::stream_protocol::socket socket);

/// A TCP connection under TLS that another side has opened. The handshake runs with the first `readable()`.
std::shared_ptr<Transport> makeTlsTransport(boost::asio::ip::tcp::socket socket,
                                            std::shared_ptr<boost::asio::ssl::context> context);

/// One that this side has opened to `host`, whose certificate has to bear that name if `checkName`.
std::shared_ptr<Transport> makeTlsClientTransport(boost::asio::ip::tcp::socket socket,
                                                  std::shared_ptr<boost::asio::ssl::context> context,
                                                  const std::string& host, bool checkName);

}  // namespace troupe::transport
