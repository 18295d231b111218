#pragma once
#include <memory>

#include "messaging/errors/status.hpp"
#include "messaging/tls/options.hpp"

namespace boost::asio::ssl {
class context;
}

namespace troupe::tls {

/// A context for incoming connections. Errors: InvalidSSLConfiguration with the file and OpenSSL's reason; those of
/// `checkOptions`. With mode `disabled` that is an error too: ask first.
StatusWith<std::shared_ptr<boost::asio::ssl::context>> makeServerContext(const TlsOptions& options);

/// A context for outgoing connections; the certificate is optional. Without caFile the system's authorities are
/// trusted. Checking the host's name is the caller's (boost::asio::ssl::host_name_verification).
StatusWith<std::shared_ptr<boost::asio::ssl::context>> makeClientContext(const TlsOptions& options);

}  // namespace troupe::tls
