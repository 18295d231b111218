#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "messaging/errors/status.hpp"

namespace troupe::client {

inline constexpr uint16_t kDefaultPort = 27017;

/// Address and credentials of a client's connection.
struct Target {
  std::string host = "127.0.0.1";
  uint16_t port = kDefaultPort;
  std::string database;  ///< the one the URI names, or empty
  std::string user;      ///< empty: no log-in
  std::string password;
  std::string authSource;  ///< where the user lives; empty: `database`, else admin
  std::string mechanism;   ///< SCRAM-SHA-256 or SCRAM-SHA-1; empty: the best the server offers
  bool tls = false;
  std::string tlsCAFile;
  std::string tlsCertificateKeyFile;
  bool tlsAllowInvalidCertificates = false;
  bool tlsAllowInvalidHostnames = false;
  int64_t connectTimeoutMs = 10'000;
  int64_t socketTimeoutMs = 0;  ///< longest wait for one answer; 0: no limit
  std::string appName;
  std::string readPreference;  ///< sent with every command; empty: none, and secondaries refuse to read

  /// "host:port", for messages.
  std::string address() const;
  /// The database to log in at.
  std::string authDatabase() const;
};

/// Reads "host", "host:port", "[::1]:port" or `mongodb://[user:password@]host[:port][/database][?option=value&...]`
/// with the options authSource, authMechanism, tls (ssl), tlsCAFile, tlsCertificateKeyFile, tlsInsecure,
/// tlsAllowInvalidCertificates, tlsAllowInvalidHostnames, connectTimeoutMS, socketTimeoutMS, readPreference and
/// appName; others that drivers know are accepted and have no effect. Of several hosts the first is used. Errors:
/// FailedToParse with what is wrong; the password is never shown.
StatusWith<Target> parseTarget(std::string_view text);

}  // namespace troupe::client
