#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "messaging/errors/status.hpp"

namespace troupe::link {

/// The name of a node, "host:port" or "[::1]:port", as host and port. Errors: BadValue.
StatusWith<std::pair<std::string, std::string>> splitNodeName(std::string_view name);

}  // namespace troupe::link
