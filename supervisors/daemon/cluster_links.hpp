#pragma once
#include <memory>

#include "actors/link/links.hpp"
#include "messaging/tls/options.hpp"
#include "supervisors/daemon/options.hpp"

namespace troupe::supervisors {

/// The TLS options of the daemon, for clients and links alike. Errors: BadValue.
StatusWith<tls::TlsOptions> tlsOptions(const Options& options);

/// Those of the admin endpoint: with the same certificate, but no authority for clients, for people log in by password.
/// Errors: BadValue.
StatusWith<tls::TlsOptions> adminTlsOptions(const Options& options);

/// Who may link without a key: with `--clusterAuthMode none` anyone; without authorization, nodes of this machine once this
/// one has a `--nodeName`; else nobody.
link::Anonymous anonymousLinks(const Options& options);

/// The links of the daemon's node; with neither key nor leave to do without, ones that refuse. Errors: those of the key
/// file and of the TLS files.
StatusWith<std::shared_ptr<link::Links>> makeLinks(Node& node, const Options& options, log::Log& log);

}  // namespace troupe::supervisors
