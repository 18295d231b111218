#pragma once
#include <string>
#include <string_view>

namespace troupe::bench {

/// A plain blocking connection to 127.0.0.1 that sends ready-made frames: measures a server without a driver's cost.
/// Throws BenchError when the peer refuses or is gone.
class RawClient {
 public:
  explicit RawClient(int port);
  RawClient(const RawClient&) = delete;
  ~RawClient();
  /// Sends the frame and waits for a whole one in return; borrowed until the next call.
  std::string_view roundTrip(std::string_view frame);

 private:
  int socket_;
  std::string buffer_;
};

/// A bare Asio server that answers every frame with `reply`: what the sockets alone allow. Runs in a process of its own
/// on as many threads as a server has; ended with this object.
class EchoServer {
 public:
  EchoServer(std::string reply, unsigned threads);
  EchoServer(const EchoServer&) = delete;
  ~EchoServer();
  int port() const { return port_; }
  int pid() const { return pid_; }

 private:
  int port_ = 0;
  int pid_ = 0;
};

}  // namespace troupe::bench
