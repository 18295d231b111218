#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "messaging/bson/document.hpp"
#include "messaging/tls/options.hpp"
#include "supervisors/admin/admin_api.hpp"

namespace troupe::supervisors {

struct HttpServerOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;            ///< 0: any free one
  tls::TlsOptions tls;          ///< allowTLS and preferTLS take plain HTTP as well
  size_t maxConnections = 128;  ///< one more takes the place of one that awaits a request, or is told so and closed
  /// Limits of one address, which may change at any time and outlive the server; 0 or null: none.
  const std::atomic<int64_t>* maxConnectionsPerAddress = nullptr;
  const std::atomic<int64_t>* requestsPerSecondPerAddress = nullptr;
  /// Hears of connections and requests that were refused for lack of room or for their number. Any thread; may be null.
  std::function<void(const std::string& remote, std::string_view why)> onRefused = {};
  size_t maxEventStreams = 32;
  size_t maxHeaderBytes = 16 * 1024;
  size_t maxBodyBytes = 64 * 1024;
  size_t eventQueueLength = 1024;
  std::chrono::milliseconds firstByteTime{5'000};  ///< from the connection or its TLS handshake to its first request
  std::chrono::milliseconds requestTime{10'000};   ///< from the first byte of a request to its last
  std::chrono::milliseconds idleTime{60'000};      ///< between two requests of a connection
  std::chrono::milliseconds writeTime{20'000};     ///< for a client to take a response
  std::chrono::milliseconds heartbeat{15'000};     ///< of a quiet event stream
};

/// Serves an AdminApi on the node's pool. Every function from any thread.
class HttpServer {
 public:
  /// Opens the port. Throws std::runtime_error when it cannot, or when the certificate cannot be used.
  HttpServer(std::shared_ptr<AdminApi> api, HttpServerOptions options);
  /// Stops.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  /// Closes the port, idle connections and event streams; a response that is under way is still sent.
  void stop();
  /// Counts for the actor's state document.
  bson::Document describe() const;

 private:
  struct Shared;
  class Session;
  std::shared_ptr<Shared> shared_;
};

}  // namespace troupe::supervisors
