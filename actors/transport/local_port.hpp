#pragma once
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "actors/transport/network.hpp"

namespace troupe::transport {

/// Name of every client of a UNIX domain socket; limits per address count all of them as one.
inline constexpr const char* kLocalPeer = "anonymous unix socket";

/// Network::listenLocally on the machine's own sockets.
std::unique_ptr<Port> openLocalPort(boost::asio::io_context& io, const std::string& path, unsigned permissions);

}  // namespace troupe::transport
