#pragma once
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <string>

#include "test/unit/messaging/tls/pem_file.hpp"

/// Clients of tests that listen on a port of this machine.
namespace troupe::transport::test {

using boost::asio::ip::tcp;

inline tcp::endpoint loopback(uint16_t port) { return {boost::asio::ip::address_v4::loopback(), port}; }

/// A port on which nobody listens.
inline uint16_t freePort() {
  boost::asio::io_context io;
  return tcp::acceptor(io, loopback(0)).local_endpoint().port();
}

/// What a client reads that awaits the end of its connection; `timed_out` after five seconds.
inline boost::system::error_code readFrom(tcp::socket& client) {
  const timeval patience{5, 0};
  ::setsockopt(client.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char byte = 0;
  const ssize_t n = ::recv(client.native_handle(), &byte, 1, 0);
  if (n == 0) return boost::asio::error::eof;
  if (n < 0 && errno == ECONNRESET) return boost::asio::error::connection_reset;
  return n < 0 ? boost::asio::error::timed_out : boost::system::error_code();
}

/// May be called while another thread reads.
inline void sendTo(tcp::socket& client, const std::string& bytes) {
  (void)::send(client.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
}

/// A file with a certificate and its key, as long as the object lives.
class PemFile {
 public:
  PemFile() { tls::writePem(path_); }
  ~PemFile() { std::filesystem::remove(path_); }
  PemFile(const PemFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  static std::string newName() {
    static std::atomic<int> count{0};
    return "troupe-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + ".pem";
  }
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / newName();
};

}  // namespace troupe::transport::test
