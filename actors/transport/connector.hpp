#pragma once
#include "actors/transport/settings.hpp"
#include "messaging/tls/options.hpp"

namespace boost::asio {
class io_context;
}

namespace troupe::link {

/// Opens TCP connections to nodes named "host:port" ("[::1]:27017" for IPv6 addresses): resolved anew for every try
/// (`NameResolver`), each address tried in turn and beside those that have not answered soon, under TLS when the
/// options say that outgoing connections are. `loopbackOnly`: addresses of other machines are refused. `io` outlives
/// every connection. Errors: those of the TLS files.
StatusWith<Connector> makeConnector(boost::asio::io_context& io, const tls::TlsOptions& tls, bool loopbackOnly);

/// A connector that refuses every try with this reason.
Connector refusingConnector(Status why);

}  // namespace troupe::link
