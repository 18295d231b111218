#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "messaging/errors/status.hpp"

namespace troupe::tls {

/// Use of TLS: none; incoming connections of both kinds (outgoing plain); of both kinds (outgoing TLS); TLS only.
enum class TlsMode { kDisabled, kAllow, kPrefer, kRequire };

/// "disabled", "allowTLS", "preferTLS", "requireTLS". Errors: BadValue.
StatusWith<TlsMode> tlsModeByName(std::string_view name);
std::string_view tlsModeName(TlsMode mode);

/// The net.tls options of the configuration.
struct TlsOptions {
  TlsMode mode = TlsMode::kDisabled;
  std::string certificateKeyFile;  ///< PEM: certificate chain and private key
  std::string certificateKeyFilePassword;
  std::string caFile;   ///< PEM: certificate authorities that peers' certificates are checked against
  std::string crlFile;  ///< PEM: revoked certificates
  bool allowConnectionsWithoutCertificates = false;  ///< with a caFile: clients need not show a certificate
  bool allowInvalidCertificates = false;
  std::vector<std::string> disabledProtocols;  ///< "TLS1_0" ... "TLS1_3"; 1.0 and 1.1 are always off
};

/// Checks that the options fit together, without touching files. Errors: InvalidOptions, BadValue.
Status checkOptions(const TlsOptions& options);

}  // namespace troupe::tls
